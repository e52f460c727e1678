//! The pages of `--report`: their contents, their size, and the escaping of hostile text.
#![cfg(feature = "tui")]

use std::fs;

use super::pages::{self, Piece, backchat, folder, outline, page, pieces, replayed, root, shown};
use sha2::{Digest, Sha256};

const OUTPUT: &str = "<think>Is 1 < 2?</think>Yes.<call>{\"name\": \"add\"}</call><stop>";

/// A small chat template with a proved draft.
const CHAT: &str = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
                    {% if add_generation_prompt %}<assistant>{% endif %}";

#[test]
fn a_replay_shows_the_text_the_events_and_the_message() {
    let folder = folder("replay");
    insta::assert_snapshot!("replay", outline(&replayed(&folder, OUTPUT)));
}

#[test]
fn a_replay_shows_unexpected_events_and_the_cut_that_changes_the_answer() {
    let examples = root().join("examples/broken");
    let folder = folder("broken");
    for name in ["blank_line.fixture", "blank_line.json", "end_of_text.json", "end_of_text.txt", "prompt.txt"] {
        fs::copy(examples.join(name), folder.join(name)).unwrap();
    }
    insta::assert_snapshot!("expected", outline(&page(&folder, &["replay", "blank_line.fixture"])));
    let arguments = ["replay", "end_of_text.json", "end_of_text.txt", "--prefix", "prompt.txt"];
    let page = outline(&page(&folder, &arguments));
    let cut = page.find("h2         The cut that changes transformers' answer").unwrap();
    insta::assert_snapshot!("cut", &page[cut..]);
}

#[test]
fn outputs_that_two_templates_read_differently_are_grouped_by_cause() {
    let folder = folder("compared");
    let template = fs::read_to_string(folder.join("template.json")).unwrap();
    fs::write(folder.join("other.json"), template.replace("</think>", "</thinking>")).unwrap();
    let row = |n: usize| {
        let text = if n.is_multiple_of(3) {
            "Yes.<stop>".to_owned()
        } else {
            format!("<think>Hm{}</think>Yes.<stop>", ".".repeat(n))
        };
        format!("{{\"id\": \"o{n}\", \"prefix\": \"<bot>\", \"output\": \"{text}\"}}\n")
    };
    fs::write(folder.join("outputs.jsonl"), (0..9).map(row).collect::<String>()).unwrap();
    let page = outline(&page(&folder, &["replay", "template.json", "outputs.jsonl", "--with", "other.json"]));
    assert!(page.contains("6 of 9 outputs differ with other.json instead of template.json"), "{page}");
    let titles: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("summary    ")).collect();
    assert!(titles[0].starts_with("! 6 the text from </think> on is read as "), "{titles:?}");
    assert!(titles[2].starts_with("outputs.jsonl#o1 "), "the smallest first: {titles:?}");
}

#[test]
fn outputs_with_problems_come_first() {
    let folder = folder("many");
    let row = |n: usize| {
        let text = if n == 59 { "<think>Hm." } else { "Yes.<stop>" };
        format!("{{\"id\": \"o{n}\", \"prefix\": \"<bot>\", \"output\": \"{text}\"}}\n")
    };
    fs::write(folder.join("outputs.jsonl"), (0..60).map(row).collect::<String>()).unwrap();
    let page = outline(&page(&folder, &["replay", "template.json", "outputs.jsonl"]));
    let titles: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("summary    ")).collect();
    assert!(titles[0].starts_with("! 1 ") && titles[1].starts_with("✓ 59 "), "{titles:?}");
    assert!(titles[2].starts_with("outputs.jsonl#o59 "), "{titles:?}");
    assert_eq!(titles.len(), 2 + 40, "two groups, and what can be stepped through: {titles:?}");
    assert!(page.contains("outputs.jsonl#o58"), "every output is listed");
    assert!(page.contains("59 of 60 outputs are in order"), "{page}");
}

#[test]
fn two_templates_are_shown_side_by_side() {
    let folder = folder("sides");
    fs::write(folder.join("other.json"), pages::TEMPLATE.replace("</think>", "</thought>")).unwrap();
    fs::write(folder.join("output.txt"), OUTPUT).unwrap();
    let arguments = ["replay", "template.json", "output.txt", "--prefix", "prompt.txt", "--with", "other.json"];
    let page = outline(&page(&folder, &arguments));
    assert!(page.contains("figcaption template.json\n") && page.contains("figcaption other.json\n"), "{page}");
    assert_eq!(page.matches("≠ first difference").count(), 2, "{page}");
    assert!(page.contains("the two ways to read the output give different messages"), "{page}");
}

#[test]
fn a_derivation_shows_its_evidence_and_its_proof() {
    let folder = folder("derive");
    fs::write(folder.join("chat.jinja"), CHAT).unwrap();
    let page = outline(&page(&folder, &["derive", "chat.jinja"]));
    insta::assert_snapshot!("derive", one_conversation(&page));
}

#[test]
fn a_failed_proof_shows_the_parts_and_how_they_were_parsed() {
    let folder = folder("prove");
    fs::write(folder.join("chat.jinja"), CHAT).unwrap();
    let template = r#"{"start_anchor": "<assistant>", "fields": {"content": {"close": "e"}}}"#;
    fs::write(folder.join("wrong.json"), template).unwrap();
    let page = outline(&page(&folder, &["prove", "wrong.json", "--chat-template", "chat.jinja"]));
    insta::assert_snapshot!("prove", one_conversation(&page));
}

/// An outline with only the first conversation, because all are alike.
fn one_conversation(outline: &str) -> String {
    let first = outline.find("h2         Conversations").unwrap();
    let second = first + outline[first..].match_indices("summary").nth(1).unwrap().0;
    let after = outline[second..].find("h2 ").map_or(outline.len(), |at| second + at);
    format!("{}…\n{}", &outline[..second], &outline[after..])
}

#[test]
fn a_derivation_without_a_draft_has_a_page_too() {
    let folder = folder("failed");
    fs::write(folder.join("chat.jinja"), "{{ raise_exception('no') }}").unwrap();
    let page = outline(&page(&folder, &["derive", "chat.jinja"]));
    assert!(page.contains("failed no draft") && page.contains("the chat template refused every"), "{page}");
}

#[test]
fn a_check_page_shows_the_failures() {
    let folder = folder("check");
    let fixture = "template: template.json\n\n=== case right\n=== prefix\n<bot>\n=== output\nHi.<stop>\n=== message\n\
                   {\"role\": \"assistant\", \"content\": \"Hi.\"}\n\n=== case wrong\n=== prefix\n<bot>\n=== output\nHi.<stop>\n\
                   === message\n{\"role\": \"assistant\", \"content\": \"Ho.\"}\n";
    fs::write(folder.join("cases.fixture"), fixture).unwrap();
    insta::assert_snapshot!("check", outline(&page(&folder, &["check", "cases.fixture"])));
    // The row of a case has all its findings.
    let fixture =
        "template: template.json\n=== prefix\n<bot>\n=== output\nHi.<stop>\n=== message\n{}\n=== error\nmalformed a\n";
    fs::write(folder.join("two.fixture"), fixture).unwrap();
    let two = outline(&page(&folder, &["check", "two.fixture"]));
    let row = &two[..two.find("h2         Failures").unwrap()];
    for said in ["content: expected nothing, found \"Hi.\"", "malformed a is expected"] {
        assert!(row.contains(said), "{said} in {row}");
    }
    // An answer that depends on the cut is shown with both messages.
    let template = r#"{"start_anchor": "<bot>", "fields": {"content": {"close_pattern": "<stop>|$"}}}"#;
    fs::write(folder.join("template.json"), template).unwrap();
    let page = outline(&page(&folder, &["check", "cases.fixture"]));
    assert!(page.contains("figcaption transformers, read whole\n"), "{page}");
    assert!(page.contains("figcaption transformers, cut after character"), "{page}");
}

/// Cases that fail for the same reason with different texts, and some that pass.
fn many_cases(failing: usize, holding: usize) -> String {
    let case = |name: String, text: &str, message: &str| {
        format!(
            "=== case {name}\n=== prefix\n<bot>\n=== output\n{text}<stop>\n=== message\n\
             {{\"role\": \"assistant\", \"content\": \"{message}\"}}\n"
        )
    };
    let wrong = (0..failing).map(|at| case(format!("wrong {at}"), &format!("Text {at}."), &format!("Other {at}.")));
    let right = (0..holding).map(|at| case(format!("right {at}"), "Hi.", "Hi."));
    format!("template: template.json\n{}{}", wrong.collect::<String>(), right.collect::<String>())
}

#[test]
fn cases_with_the_same_cause_are_grouped() {
    let folder = folder("causes");
    fs::write(folder.join("many.fixture"), many_cases(30, 9)).unwrap();
    let page = outline(&page(&folder, &["check", "many.fixture"]));
    let said = |text: &str| page.matches(text).count();
    assert_eq!((said("✗ 30 failed"), said("✓ 9 passed")), (1, 1), "{page}");
    assert_eq!(said("content is another text"), 2, "a cause is said in the table and above its cases: {page}");
    assert!(said("wrong 29") >= 2, "{page}");
}

#[test]
fn an_atlas_opens_the_page_of_each_draft() {
    let folder = folder("atlas");
    let chats = folder.join("chats");
    fs::create_dir_all(chats.join("of two")).unwrap();
    fs::write(chats.join("one.jinja"), CHAT).unwrap();
    fs::write(chats.join("of two/no <draft>.jinja"), "{{ raise_exception('no') }}").unwrap();
    let page = page(&folder, &["derive", "chats"]);
    let links = attributes_of(&page, "href");
    let links: Vec<&String> = links.iter().filter(|link| link.ends_with(".html")).collect();
    assert_eq!(links, ["page/of%20two/no%20%3Cdraft%3E.html", "page/one.html"]);
    let one = fs::read_to_string(folder.join("page/one.html")).unwrap();
    assert!(outline(&one).contains("Response template for"), "{one}");
    let other = fs::read_to_string(folder.join("page/of two/no <draft>.html")).unwrap();
    assert!(outline(&other).contains("failed no draft"), "{other}");
    let timed = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let shown = outline(&page);
    let words: Vec<&str> = shown.split(' ').collect();
    let shown = words.iter().enumerate().map(|(at, word)| {
        let is_time = timed(word) && words.get(at + 1).is_some_and(|next| next.trim_end().starts_with("ms"));
        if is_time { "N" } else { word }
    });
    let shown: Vec<&str> = shown.collect();
    insta::assert_snapshot!("atlas", shown.join(" "));
    // Every link leads somewhere.
    for link in attributes_of(&page, "href").iter().filter(|link| link.starts_with("page/one")) {
        let id = link.split_once('#').map(|(_, id)| id.to_owned());
        assert!(id.is_none_or(|id| attributes_of(&one, "id").contains(&id)), "{link}");
    }
    // A file that is not a page is not overwritten.
    fs::write(folder.join("page/one.html"), "mine").unwrap();
    let refused = super::pages::backchat(&folder, &["derive", "chats", "--report", "page.html"]);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(fs::read_to_string(folder.join("page/one.html")).unwrap(), "mine");
}

#[test]
fn an_examination_shows_its_facts_with_the_renders() {
    let folder = folder("doctor");
    fs::write(folder.join("chat.jinja"), CHAT).unwrap();
    let page = page(&folder, &["doctor", "chat.jinja"]);
    let outline = outline(&page);
    let renders = outline.find("h2         Renders").unwrap();
    insta::assert_snapshot!("doctor", &outline[..renders]);
    assert!(!page.contains("&quot;role&quot;"), "a conversation is not shown as JSON");
    // Every link leads somewhere.
    let ids: Vec<String> = attributes_of(&page, "id");
    for link in attributes_of(&page, "href") {
        assert!(ids.iter().any(|id| Some(id.as_str()) == link.strip_prefix('#')), "{link}");
    }
}

/// The values of an attribute, in order.
fn attributes_of(page: &str, name: &str) -> Vec<String> {
    let starts = pieces(page).into_iter().filter_map(|piece| match piece {
        Piece::Start { attributes, .. } => Some(attributes),
        _ => None,
    });
    starts.flatten().filter(|(known, _)| known == name).map(|(_, value)| value).collect()
}

#[test]
fn report_does_not_change_the_output_of_a_command() {
    let folder = folder("same");
    fs::write(folder.join("chat.jinja"), CHAT).unwrap();
    fs::write(folder.join("output.txt"), OUTPUT).unwrap();
    fs::write(folder.join("cases.fixture"), "template: template.json\n=== output\nHi.<stop>\n").unwrap();
    for arguments in [
        &["derive", "chat.jinja"][..],
        &["derive", "chat.jinja", "--format", "json"],
        &["derive", "chat.jinja", "--explain"],
        &["prove", "template.json", "--chat-template", "chat.jinja"],
        &["replay", "template.json", "output.txt", "--prefix", "prompt.txt"],
        &["check", "cases.fixture", "--format", "json"],
        &["doctor", "chat.jinja", "--require", "tools"],
    ] {
        let plain = backchat(&folder, arguments);
        let reported = backchat(&folder, &[arguments, &["--report", "page.html"]].concat());
        assert_eq!((plain.status, &plain.stdout), (reported.status, &reported.stdout), "{arguments:?}");
        let said = |stderr: &[u8]| {
            let text = String::from_utf8(stderr.to_vec()).unwrap();
            let lines = text.lines().filter(|line| *line != "Wrote the report page.html." && !line.contains(" s)"));
            (lines.map(str::to_owned).collect::<Vec<_>>(), text.contains("Wrote the report page.html."))
        };
        assert_eq!((said(&plain.stderr).0, true), said(&reported.stderr), "{arguments:?}");

        let nowhere = backchat(&folder, &[arguments, &["--report", "none/page.html"]].concat());
        assert_eq!((nowhere.status.code(), nowhere.stdout.as_slice()), (Some(2), &b""[..]), "{arguments:?}");
        assert!(String::from_utf8(nowhere.stderr).unwrap().contains("cannot write the file"), "{arguments:?}");
        let quiet = backchat(&folder, &[arguments, &["--quiet", "--report", "page.html"]].concat());
        assert!(!String::from_utf8(quiet.stderr).unwrap().contains("Wrote the report"), "{arguments:?}");
    }
}

#[test]
fn the_policy_has_the_hashes_of_the_page() {
    let page = replayed(&folder("policy"), OUTPUT);
    let policy = attributes_of(&page, "content").into_iter().find(|content| content.contains("default-src")).unwrap();
    let hash = |names: &[&str]| {
        let read =
            |name: &&str| fs::read_to_string(root().join("crates/backchat-workbench/src/report").join(name)).unwrap();
        let content = names.iter().map(read).collect::<Vec<_>>().join("\n");
        assert!(page.contains(&content), "the page holds {names:?}");
        format!("'sha256-{}'", base64(&Sha256::digest(&content)))
    };
    let wanted = format!(
        "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
        hash(&["report.css"]),
        hash(&["stepper.js", "report.js"])
    );
    assert_eq!(policy, wanted, "write this policy into crates/backchat-workbench/src/report/page.rs");
}

fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let groups = bytes.chunks(3).map(|group| {
        let bits = group.iter().chain([&0, &0]).take(3).fold(0, |bits, byte| bits << 8 | usize::from(*byte));
        let sign = |at: usize| if at <= group.len() { char::from(SIGNS[bits >> (18 - 6 * at) & 63]) } else { '=' };
        (0..4).map(sign).collect::<String>()
    });
    groups.collect()
}

/// Texts that try to become markup.
const HOSTILE: [&str; 9] = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]><img src=x onerror=alert(1)>",
    "\" onload=\"alert(1)",
    "' autofocus onfocus='alert(1)",
    "\u{202e}evil\u{202c}\u{2066}x\u{2069}",
    "a\0b\u{1b}[31m\r\u{7f}\u{85}",
    "\u{2028}\u{2029}\u{feff}\u{e0041}",
    "&lt;b&gt;&amp;&#x3c;javascript:alert(1)",
];

/// Asserts that a page is well formed, runs only its own script, and has no control characters.
fn assert_inert(page: &str, what: &str) {
    let pieces = pieces(page);
    let mut scripts = 0;
    for piece in &pieces {
        let Piece::Start { tag, attributes } = piece else { continue };
        let data = attributes.iter().any(|(name, value)| name == "type" && value == "application/json");
        scripts += usize::from(tag == "script" && !data);
        for (name, value) in attributes {
            assert!(!name.starts_with("on") && !["style", "src", "srcdoc"].contains(&name.as_str()), "{what}: {name}");
            assert!(name != "href" || value.starts_with('#'), "{what}: {value}");
        }
        assert!(!["img", "iframe", "object", "embed", "form", "base", "link"].contains(&tag.as_str()), "{what}: {tag}");
    }
    assert_eq!(scripts, 1, "{what}");
    let escapes = |c: char| !c.is_ascii() && backchat_core::diagnostic::escape(&c.to_string()).len() > 4;
    assert_eq!(page.chars().find(|c| *c != '\n' && (c.is_control() || escapes(*c))), None, "{what}");
}

#[test]
fn hostile_text_is_escaped() {
    let folder = folder("hostile");
    for (index, hostile) in HOSTILE.into_iter().enumerate() {
        let visible = backchat_core::diagnostic::escape(hostile);
        let replay = replayed(&folder, &format!("<think>{hostile}</think>{hostile}<call>{hostile}</call><stop>"));
        assert_inert(&replay, hostile);
        assert!(shown(&replay).matches(&*visible).count() >= 3, "{hostile:?} is shown");

        let name = backchat::Value::from(hostile).to_string();
        let template =
            format!(r#"{{"start_anchor": "<bot>", "fields": {{{name}: {{"open": {name}, "close": "<x>"}}}}}}"#);
        fs::write(folder.join("names.json"), template).unwrap();
        fs::write(folder.join("output.txt"), format!("{hostile}{hostile}<x>")).unwrap();
        let named = page(&folder, &["replay", "names.json", "output.txt", "--prefix", "prompt.txt"]);
        assert_inert(&named, hostile);
        assert!(shown(&named).contains(&*visible), "{hostile:?} is shown as a name");

        let chat = CHAT.replace("<end>", &format!("{{{{ {name} }}}}"));
        fs::write(folder.join("chat.jinja"), chat).unwrap();
        assert_inert(&page(&folder, &["derive", "chat.jinja"]), hostile);
        assert_inert(&page(&folder, &["doctor", "chat.jinja"]), hostile);

        let row = format!(r#"{{"id": {name}, "output": {name}, "prefix": "<bot>", "message": {{{name}: {name}}}}}"#);
        fs::write(folder.join("cases.jsonl"), format!("{{\"template\": \"template.json\"}}\n{row}\n")).unwrap();
        let checked = page(&folder, &["check", "cases.jsonl"]);
        assert_inert(&checked, hostile);
        assert!(index > 0 || shown(&checked).contains("failed"), "{}", shown(&checked));
    }
}

#[test]
fn a_large_output_makes_no_large_page() {
    let folder = folder("large");
    let calls = "<call>{\"name\": \"f\"}</call>".repeat(40_000);
    let prose = format!("<think>{}</think>", "Is 1 < 2, and 3 > 2? ".repeat(50_000));
    let nothing = "\0\u{202e}".repeat(300_000);
    for (what, text) in [("many calls", &calls), ("prose", &prose), ("controls", &nothing)] {
        assert!(text.len() > 1_000_000);
        let page = replayed(&folder, text);
        assert_inert(&page, what);
        let (output, page) = (text.len(), page.len());
        // An escape is longer than the escaped character.
        let most = if what == "controls" { 10_000_000 } else { 5_000_000 };
        assert!(page < most, "{what}: {output} bytes make a page of {page}");
    }
    let cut = "x</script>\u{202e}\0 ".repeat(160_000);
    let page = replayed(&folder, &cut);
    assert_inert(&page, "2.4 MB");
    assert!(shown(&page).contains("bytes omitted"));
}

#[test]
fn the_page_of_a_derivation_is_small() {
    let folder = folder("small");
    for name in ["qwen3", "glm_4_6", "deepseek_v3_1", "gpt_oss", "minimax_m2"] {
        let source = root().join("chat_templates").join(name).with_extension("jinja");
        let page = page(&folder, &["derive", source.to_str().unwrap()]);
        assert_inert(&page, name);
        assert!(page.len() < 300_000, "{name}: {} bytes", page.len());
    }
}
