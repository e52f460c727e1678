//! `backchat diff`: templates of our own, hostile templates, revisions, and what git passes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use backchat::{Template, Value};
use backchat_derive::derive::Status;
use backchat_diff::{Chat, ChatDiff, Coverage, Options, Verdict, What, chat_templates, response_templates};
use proptest::prelude::*;

use crate::support::Gguf;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn chat(template: &str) -> Chat {
    Chat { template: template.to_owned(), ..Chat::default() }
}

fn compared(old: &str, new: &str) -> ChatDiff {
    chat_templates(&chat(old), &chat(new), &Options::default()).unwrap()
}

fn example(name: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join("examples/diff").join(name)).unwrap()
}

const PLAIN: &str = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
                     {% if add_generation_prompt %}<assistant>{% endif %}";

#[test]
fn each_edit_has_the_kind_of_conversation_that_it_concerns() {
    for (from, to, what, dims) in [
        ("<end>", "<stop>", What::Text, &[][..]),
        ("<assistant>", "<bot>", What::Text, &["prompt"]),
        ("{{ m.content }}", "{{ m.content | trim }}", What::Text, &["user_spaces"]),
        ("{{ m.content }}", "{{ m.content }}{{ m.name }}", What::Text, &["names"]),
        ("{% for", "{% if tools %}T{% endif %}{% for", What::Text, &["tools"]),
        ("{% for", "{% if brief %}B{% endif %}{% for", What::Text, &["brief=true"]),
        (
            "{% for",
            "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}{% for",
            What::Refusal,
            &["system"],
        ),
        ("{% for", "{% if '/short' in messages[0].content %}S{% endif %}{% for", What::Text, &[]),
        (
            "{% for",
            "{% if messages | length > 15 %}L{% endif %}{% for",
            What::Text,
            &["answer", "later_user", "second_answer", "third_turn"],
        ),
        ("{% for", "{% if strftime_now('%m') == '12' %}W{% endif %}{% for", What::Text, &["clock"]),
        ("{% for", "{% if budget is defined and budget > 4096 %}L{% endif %}{% for", What::Text, &["budget=4097"]),
    ] {
        let diff = compared(PLAIN, &PLAIN.replacen(from, to, 1));
        assert_eq!(diff.verdict, Verdict::Differs, "{to}");
        // A comparison with a number also refuses words, which is a change of its own.
        let change = diff.changes.iter().find(|change| change.what == what);
        let change = change.unwrap_or_else(|| panic!("{to}: {}", diff.text()));
        assert_eq!(change.cases[0].dims, dims, "{to}: {}", diff.text());
        // What is claimed is what the templates render.
        assert_ne!(change.cases[0].outcomes[0], change.cases[0].outcomes[1], "{to}");
    }
}

#[test]
fn what_no_branch_asks_about_is_found_by_what_the_edit_mentions() {
    let trimmed = PLAIN.replace("{{ m.content }}", "{{ m.content | trim }}");
    for (from, to) in [
        // The argument of a filter and of a method, a key that is printed, the end of a slice.
        ("m.content | trim", "m.content | trim | replace('<|', '< |')"),
        ("m.content | trim", "m.content.removeprefix('!') | trim"),
        ("{{ m.content | trim }}", "{{ m.content | trim }}{{ m.flavor }}"),
        ("m.content | trim", "(m.content | trim)[:100]"),
        // A role in a list, and the place of a message.
        ("<{{ m.role }}>", "<{{ 'tool' if m.role in ['tool', 'function'] else m.role }}>"),
        ("<{{ m.role }}>", "<{{ m.role }}>{% if m.role == 'tool' and loop.first %}F{% endif %}"),
    ] {
        let diff = compared(&trimmed, &trimmed.replacen(from, to, 1));
        assert_eq!(diff.verdict, Verdict::Differs, "{to}");
        assert!(!diff.headline().contains("every conversation"), "{}", diff.text());
    }
}

#[test]
fn values_that_an_edited_expression_tells_apart_are_tried() {
    let after = |written: &str| PLAIN.replacen("<end>", &format!("{written}<end>"), 1);
    for (old, new, shown) in [
        ("{% if m.tool_calls is defined %}C{% endif %}", "{% if m.tool_calls %}C{% endif %}", "tool_calls"),
        (
            "{% for c in m.tool_calls | default([]) %}C{% endfor %}",
            "{% for c in m.tool_calls or [] %}C{% endfor %}",
            "(tool_calls=null)",
        ),
        ("{% if m.name %}N{% endif %}", "{% if m.name is defined %}N{% endif %}", "(name="),
        (
            "{% if m.role == 'tool' and m.content == '' %}E{% endif %}",
            "{% if m.role == 'tool' and not m.content %}E{% endif %}",
            "tool null",
        ),
        (
            "{{ m.tool_call_id if m.role == 'tool' }}",
            "{{ m.tool_call_id or '' if m.role == 'tool' }}",
            "(tool_call_id=null)",
        ),
        ("{{ m.content.split('</t>')[-1] }}", "{{ m.content.split('</t>', 1)[-1] }}", "</t>"),
        (
            "{% for p in m.content if m.content is not string and p.type == 'text' %}P{% endfor %}",
            "{% for p in m.content if m.content is not string and 'text' in p.type %}P{% endfor %}",
            "input_text",
        ),
        ("{{ m.content if m.content is not none }}", "{{ m.content or '' }}", "[]"),
        (
            "{% if m.thinking and (keep if keep is defined else false) and not loop.last %}K{% endif %}",
            "{% if m.thinking and (keep == true) and not loop.last %}K{% endif %}",
            "keep=",
        ),
    ] {
        let diff = compared(&after(old), &after(new));
        assert_eq!(diff.verdict, Verdict::Differs, "{new}");
        assert!(diff.text().contains(shown), "{new}: {}", diff.text());
    }
}

#[test]
fn dates_that_are_printed_in_another_way_are_one_change_beside_the_usual_one() {
    let dated = |format: &str| format!("{{{{ strftime_now('{format}') }}}}{PLAIN}");
    let diff = compared(&dated("%d %B %Y"), &dated("%d %b %Y"));
    let dims: Vec<&[String]> = diff.changes.iter().map(|change| change.cases[0].dims.as_slice()).collect();
    assert_eq!(dims, [&[] as &[String], &["clock".to_owned()]], "{}", diff.text());
}

#[test]
fn a_search_that_ends_early_says_so_and_nothing_of_drafts() {
    let new = PLAIN.replace("<assistant>", "<bot>");
    let diff = chat_templates(&chat(PLAIN), &chat(&new), &Options::default().seconds(0.02)).unwrap();
    assert!(diff.text().contains("\nended      early: the seconds for the search "), "{}", diff.text());
    assert!(diff.drafts.is_none());
}

#[test]
fn one_program_is_proved_and_another_that_behaves_alike_is_tested() {
    for (other, proved) in [
        (PLAIN.replace("m.", "m ['").replace("m ['role", "m['role']").replace("m ['content", "m['content']"), true),
        (PLAIN.replace(" m ", " x ").replace("m.", "x."), true),
        (format!("{{# note #}}{PLAIN}"), true),
        (PLAIN.replace("{{ m.content }}", "{{ m['content'] | string if m.content is string else m.content }}"), false),
    ] {
        let diff = compared(PLAIN, &other);
        assert_eq!((diff.verdict, diff.is_proved), (Verdict::Same, proved), "{other}");
    }
}

#[test]
fn a_touched_line_that_never_ran_leaves_it_undecided() {
    let guarded = |mark: &str| {
        format!("{{% if messages | map(attribute='content') | join | length == 77777 %}}\n{mark}{{% endif %}}{PLAIN}")
    };
    let diff = compared(&guarded("a"), &guarded("b"));
    assert_eq!(diff.verdict, Verdict::Undecided, "{}", diff.text());
    assert_eq!(diff.touched, [vec![2], vec![2]]);
    assert!(diff.headline().contains("line 2 (new) and line 2 (old)"), "{}", diff.headline());
    // A dead constant decides it.
    let dead = |mark: &str| format!("{{% set on = false %}}{{% if on %}}{mark}{{% endif %}}{PLAIN}");
    assert_eq!(compared(&dead("a"), &dead("b")).verdict, Verdict::Same);
}

/// The whole of a turn, each of its parts printed as it is.
const WHOLE: &str = "{%- for tool in tools or [] %}{{- tool.function.name ~ ': ' ~ tool.function.description ~ '\\n' }}{%- endfor %}\
    {%- for m in messages %}{{- '<|' ~ m.role ~ '|>' ~ (m.content or '') }}\
    {%- if m.reasoning_content %}{{- '<think>' ~ m.reasoning_content ~ '</think>' }}{%- endif %}\
    {%- for c in m.tool_calls or [] %}{{- '<call>' ~ c.function.name ~ '\\n' ~ c.function.arguments | tojson }}\
    {%- for name, value in c.function.arguments | items %}{{- name ~ '=' ~ value ~ ';' }}{%- endfor %}\
    {{- '</call>' }}{%- endfor %}{%- endfor %}";

#[test]
fn a_filter_of_any_part_has_a_value_that_it_changes() {
    for (from, to) in [
        ("(m.content or '')", "(m.content or '') | lower"),
        ("(m.content or '')", "(m.content or '') | truncate"),
        ("(m.content or '')", "(m.content or '') | replace('  ', ' ')"),
        ("(m.content or '')", "(m.content or '') | replace('\\t', '    ')"),
        ("(m.content or '')", "(m.content or '').lstrip('\\n')"),
        ("~ m.reasoning_content", "~ m.reasoning_content | trim"),
        ("~ m.reasoning_content", "~ m.reasoning_content.strip('\\n')"),
        ("~ m.reasoning_content", "~ m.reasoning_content | replace('\\n', ' ')"),
        ("~ m.reasoning_content", "~ m.reasoning_content | striptags"),
        ("~ m.reasoning_content", "~ m.reasoning_content.split() | join(' ')"),
        ("c.function.name", "c.function.name | lower"),
        ("c.function.name", "c.function.name.replace('.', '_')"),
        ("tojson", "tojson(ensure_ascii=true)"),
        ("tojson", "tojson(sort_keys=true)"),
        ("arguments | items", "arguments | dictsort"),
        ("~ value ~", "~ (value | trim) ~"),
        ("tool.function.description", "tool.function.description | trim"),
        // Two filters that differ for few texts.
        ("(m.content or '').strip()", "(m.content or '').strip(' \\n')"),
        ("(m.content or '').rstrip('\\n')", "(m.content or '').rstrip('\\n\\r')"),
        ("(m.content or '').lower()", "(m.content or '').casefold()"),
        ("(m.content or '').split('\\n')[0]", "(m.content or '').splitlines()[0]"),
    ] {
        let old = WHOLE.replace(if from.starts_with("(m.content or '')") { "(m.content or '')" } else { from }, from);
        let new = old.replace(from, to);
        let diff = compared(&old, &new);
        assert_eq!(diff.verdict, Verdict::Differs, "{to}");
        for case in diff.changes.iter().flat_map(|change| &change.cases) {
            assert_ne!(case.outcomes[0], case.outcomes[1], "{to}");
        }
    }
}

#[test]
fn a_filter_that_has_nothing_to_change_leaves_it_undecided() {
    // No client sends roles with a tab.
    let new = PLAIN.replace("{{ m.role }}", "{{ m.role | replace('\\t', '') }}");
    let diff = compared(PLAIN, &new);
    assert_eq!(diff.verdict, Verdict::Undecided, "{}", diff.text());
    let idle = |side: usize| diff.idle[side].iter().map(|idle| (idle.line, idle.name.as_str())).collect::<Vec<_>>();
    assert_eq!((idle(0), idle(1)), (vec![], vec![(1, "replace")]));
    assert!(diff.headline().contains("but `replace` on line 1 (new) had nothing to change"), "{}", diff.headline());
}

#[test]
fn a_page_of_a_repair_and_one_for_training() {
    insta::assert_snapshot!("diff_repaired", compared(&example("released.jinja"), &example("repaired.jinja")).text());
    insta::assert_snapshot!("diff_training", compared(&example("released.jinja"), &example("training.jinja")).text());
}

#[test]
fn the_text_is_one_screen_of_80_columns_whatever_a_template_holds() {
    let long = "x".repeat(10_000);
    for mark in [
        "\u{1b}[2J\u{7}",
        "\u{202e}abc\u{2066}",
        long.as_str(),
        "\r\n\r\n",
        "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字",
    ] {
        for new in [
            PLAIN.replace("<end>", mark),
            format!("{{% if tools %}}{{{{ raise_exception({}) }}}}{{% endif %}}{PLAIN}", Value::from(mark)),
        ] {
            let diff = compared(PLAIN, &new);
            let text = diff.text();
            assert!(text.lines().count() <= 24, "{text}");
            for line in text.lines() {
                let is_safe = |c: char| {
                    !c.is_control()
                        && !matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
                };
                assert!(line.chars().all(is_safe), "{line:?}");
                assert!(unicode_width(line) <= 80, "{line:?}");
            }
            assert!(diff.markdown().len() < 60_000);
        }
    }
}

/// The columns of a text whose only wide characters are Chinese.
fn unicode_width(line: &str) -> usize {
    line.chars().map(|c| if ('\u{4e00}'..='\u{9fff}').contains(&c) { 2 } else { 1 }).sum()
}

fn parses(content: &str) -> Template {
    let text = format!(
        r#"{{"version": 1, "defaults": {{"role": "assistant"}}, "start_anchor": "<assistant>", "fields": {{"thinking": {{"open": "<think>", "close": "</think>"}}, "content": {content}}}}}"#
    );
    Template::load(&text).unwrap().template
}

#[test]
fn response_templates_differ_by_the_smallest_text() {
    let old = parses(r#"{"close": "<end>"}"#);
    let diff = response_templates(&old, &parses(r#"{"close": ["<end>"]}"#), None, &Options::default());
    assert_eq!((diff.verdict, diff.is_proved), (Verdict::Same, true));
    let diff = response_templates(&old, &parses(r#"{"close": "<stop>"}"#), Some(&chat(PLAIN)), &Options::default());
    assert_eq!(diff.verdict, Verdict::Differs);
    assert_eq!(diff.changes[0].fields, ["content"]);
    assert!(["<end>", "<stop>"].contains(&diff.changes[0].text.as_str()), "{}", diff.changes[0].text);
}

/// A template whose calls have this close and this transform.
fn calls(rest: &str) -> Template {
    let text = format!(
        r#"{{"version": 1, "start_anchor": "<assistant>", "fields": {{"tool_calls": {{"open": "<call>", "repeats": true, {rest}}}, "content": {{"close": "<end>"}}}}}}"#
    );
    Template::load(&text).unwrap().template
}

#[test]
fn calls_are_compared_with_values_that_their_transforms_take() {
    let shaped = |arguments: &str| {
        calls(&format!(
            r#""close": "</call>", "content": "json", "transform": {{"function": {{"name": "{{content.name}}", "arguments": "{arguments}"}}}}"#
        ))
    };
    let diff =
        response_templates(&shaped("{content.arguments}"), &shaped("{content.parameters}"), None, &Options::default());
    assert_eq!((diff.verdict, diff.unfilled.as_slice()), (Verdict::Differs, &[][..]), "{}", diff.text());
    let listed = |key: &str| {
        calls(&format!(
            r#""close": "</call>", "content": "json", "transform": {{"function": {{"name": "{{name}}", "{key}": "{{arguments}}"}}}}, "transform_each": true"#
        ))
    };
    let diff = response_templates(&listed("arguments"), &listed("args"), None, &Options::default());
    assert_eq!(diff.changes[0].fields, ["tool_calls"]);
    // The lines show the place where they differ, however long the messages are.
    assert!(diff.text().contains("\"args\": "), "{}", diff.text());
}

#[test]
fn a_field_that_no_text_fills_leaves_the_comparison_undecided() {
    let numbered = |name: &str| {
        calls(&format!(
            r#""close": "</call>", "content": "int", "transform": {{"function": {{"name": "{name}", "arguments": {{"n": "{{content}}"}}}}}}"#
        ))
    };
    let diff = response_templates(&numbered("f"), &numbered("g"), None, &Options::default());
    assert_eq!((diff.verdict, diff.unfilled.as_slice()), (Verdict::Undecided, &["tool_calls".to_owned()][..]));
    assert!(diff.headline().starts_with("undecided: none of "), "{}", diff.headline());
}

#[test]
fn templates_that_cannot_be_compared_say_why() {
    let refused =
        chat_templates(&chat("{{ raise_exception('a') }}"), &chat("{{ raise_exception('b') }}"), &Options::default());
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("`a`") && message.contains("`b`"), "{message}");
    let broken = chat_templates(&chat(PLAIN), &chat("{% if"), &Options::default()).unwrap_err().to_string();
    assert!(broken.starts_with("the new chat template does not compile: "), "{broken}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn a_template_is_the_same_as_itself(text in "[ -~\n]{0,40}") {
        let template = format!("{{% raw %}}{}{{% endraw %}}{PLAIN}", text.replace("{%", "").replace("%}", ""));
        let diff = compared(&template, &template);
        prop_assert_eq!((diff.verdict, diff.is_proved), (Verdict::Same, true));
    }
}

fn backchat(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_backchat")).args(arguments).current_dir(folder).output().unwrap()
}

/// Writes a pair of sources, compares them, and returns the first word of the answer.
fn verdict_of(sides: [&str; 2], contents: [&str; 2]) -> String {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in sides.iter().zip(contents) {
        fs::write(folder.path().join(name), content).unwrap();
    }
    let output = backchat(&["diff", sides[0], sides[1]], folder.path());
    let text = String::from_utf8_lossy(if output.stdout.is_empty() { &output.stderr } else { &output.stdout });
    text.split([' ', ',', '[']).next().unwrap_or_default().to_owned()
}

#[test]
fn a_side_is_known_by_what_it_holds_and_not_by_its_name() {
    let config = |template: &str| Value::from([("chat_template", template.into())]).to_string();
    let other = PLAIN.replace("<assistant>", "<bot>");
    for (sides, contents, verdict) in [
        (["old_config.json", "new_config.json"], [config(PLAIN), config(&other)], "differs"),
        (["old_config.json", "new.jinja"], [config(PLAIN), PLAIN.to_owned()], "same"),
        (["old.txt", "new"], [PLAIN.to_owned(), other.clone()], "differs"),
        (["old.txt", "new"], [config(PLAIN), config(&other)], "differs"),
        (["a.json", "b.json"], [r#"{"a": 1}"#.to_owned(), r#"{"a": 2}"#.to_owned()], "error"),
    ] {
        assert_eq!(verdict_of(sides, contents.each_ref().map(String::as_str)), verdict, "{sides:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_is_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    fs::write(folder.path().join("old.jinja"), PLAIN).unwrap();
    let writer = std::thread::spawn(move || fs::write(pipe, PLAIN.replace("<assistant>", "<bot>")).unwrap());
    let output = backchat(&["diff", "old.jinja", "pipe"], folder.path());
    writer.join().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("differs in 1 way"), "{output:?}");
}

fn git(arguments: &[&str], folder: &Path) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]).args(arguments);
    let output = git
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn revisions_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let write = |name: &str, text: &str| fs::write(path.join(name), text).unwrap();
    git(&["init", "-q"], path);
    write("a.jinja", PLAIN);
    git(&["add", "."], path);
    git(&["commit", "-qm", "one"], path);
    write("a.jinja", &PLAIN.replace("<end>", "<stop>"));
    let exit = |arguments: &[&str]| {
        let output = backchat(arguments, path);
        let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr);
        (output.status.code().unwrap(), text)
    };
    let (code, text) = exit(&["diff", "--", "a.jinja"]);
    assert!(code == 1 && text.contains("<stop>"), "{text}");
    git(&["commit", "-qam", "two"], path);
    assert_eq!(exit(&["diff", "--", "a.jinja"]).0, 0);
    assert_eq!(exit(&["diff", "HEAD~1", "--", "a.jinja"]).0, 1);
    assert_eq!(exit(&["diff", "HEAD~1", "HEAD", "--fail-on", "mask", "--", "a.jinja"]).0, 0);
    git(&["mv", "a.jinja", "b.jinja"], path);
    git(&["commit", "-qm", "three"], path);
    let (code, text) = exit(&["diff", "HEAD~1", "HEAD", "--", "b.jinja"]);
    assert!(code == 0 && text.starts_with("same, proved"), "{text}");
    write("c.jinja", "new");
    let (code, text) = exit(&["diff", "--", "c.jinja"]);
    assert_eq!((code, text.as_str()), (1, "new: c.jinja is not in HEAD\n"));
    assert_eq!(exit(&["diff", "HEAD~2", "HEAD", "--", "a.jinja"]), (1, "gone: a.jinja is only in HEAD~2\n".to_owned()));
    for revision in ["--output=x", "-x"] {
        // An option of git is no revision, and one of ours is refused by name.
        assert_eq!(exit(&["diff", revision, "--", "b.jinja"]).0, 2);
    }
    let (code, text) = exit(&["diff", "no-such", "--", "b.jinja"]);
    assert!(code == 2 && text.contains("there is no revision `no-such`"), "{text}");
}

#[test]
fn revisions_have_the_special_tokens_of_the_files_beside_them() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model");
    fs::create_dir(&model).unwrap();
    let template = PLAIN.replace("<end>", "{{ eos_token }}");
    let write = |name: &str, text: &str| fs::write(model.join(name), text).unwrap();
    git(&["init", "-q"], folder.path());
    write("chat_template.jinja", &template);
    write("tokenizer_config.json", r#"{"eos_token": "<eos>"}"#);
    write("broken.json", "{");
    git(&["add", "."], folder.path());
    git(&["commit", "-qm", "one"], folder.path());
    write("chat_template.jinja", &template.replace("m.content", "m.content | trim"));
    write("broken.json", "{}");
    let text = |arguments: &[&str], folder: &Path| {
        let output = backchat(arguments, folder);
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr)
    };
    let absolute = model.to_str().unwrap();
    for (path, folder) in [
        ("model/chat_template.jinja", folder.path()),
        ("chat_template.jinja", &model),
        ("../model", &model),
        (".", &model),
        (absolute, &model),
    ] {
        let shown = text(&["diff", "--", path], folder);
        assert!(shown.contains("reads the renders of both") && !shown.contains("note"), "{path}: {shown}");
    }
    let shown = text(&["diff", "--", "model/broken.json"], folder.path());
    assert!(shown.contains("--> HEAD:model/broken.json:1:2"), "{shown}");

    // A template of its own is compared under the tokens of the other.
    fs::write(folder.path().join("loose.jinja"), &template).unwrap();
    let shown = text(&["diff", "loose.jinja", "model"], folder.path());
    let note = "note: loose.jinja has no special tokens beside it; those of the other side are used";
    assert!(shown.contains(note) && shown.contains("<eos>"), "{shown}");
    assert!(!shown.contains("\ntokens "), "{shown}");

    // A model that has no token is one that differs.
    let config = format!("{{\"chat_template\": {}}}", Value::from(template.as_str()));
    fs::write(folder.path().join("tokenizer_config.json"), config).unwrap();
    let shown = text(&["diff", "tokenizer_config.json", "model"], folder.path());
    assert!(!shown.contains("note: ") && shown.contains("eos_token"), "{shown}");

    // git passes two files of its own.
    fs::write(folder.path().join(".gitattributes"), "*.jinja diff=backchat\n").unwrap();
    let driver = format!("'{}' diff --git", env!("CARGO_BIN_EXE_backchat"));
    let shown = git(&["-c", &format!("diff.backchat.command={driver}"), "diff", "--ext-diff"], folder.path());
    assert!(shown.contains("reads the renders of both"), "{shown}");
}

#[test]
fn git_shows_behavior() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    git(&["init", "-q"], path);
    fs::write(path.join(".gitattributes"), "*.jinja diff=backchat\n").unwrap();
    fs::write(path.join("a.jinja"), PLAIN).unwrap();
    git(&["add", "."], path);
    git(&["commit", "-qm", "one"], path);
    git(&["config", "diff.backchat.command", &format!("'{}' diff --git", env!("CARGO_BIN_EXE_backchat"))], path);
    fs::write(path.join("a.jinja"), PLAIN.replace("<end>", "<stop>")).unwrap();
    fs::write(path.join("new.jinja"), PLAIN).unwrap();
    git(&["add", "-N", "new.jinja"], path);
    let shown = git(&["diff", "--ext-diff"], path);
    assert!(shown.contains("a.jinja\ndiffers in 1 way: every conversation"), "{shown}");
    assert!(shown.contains("new: new.jinja"), "{shown}");
}

#[test]
fn rows_and_the_schema_have_the_same_form() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.jinja"), PLAIN).unwrap();
    fs::write(folder.path().join("b.jinja"), PLAIN.replace("<end>", "<stop>")).unwrap();
    fs::write(
        folder.path().join("rows"),
        "{\"id\": 7, \"old\": \"a.jinja\", \"new\": \"b.jinja\"}\n{\"id\": 8, \"old\": \"a.jinja\"}\n",
    )
    .unwrap();
    let output = backchat(&["diff", "--jsonl", "rows"], folder.path());
    let rows: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|row| backchat::json::read(row).unwrap()).collect();
    assert_eq!((rows[0]["id"].as_i64(), rows[0]["verdict"].as_str()), (Some(7), Some("differs")));
    assert!(rows[1]["error"].as_str().unwrap().contains("`new`"));
    let schema = String::from_utf8(backchat(&["schema", "diff"], folder.path()).stdout).unwrap();
    let schema = backchat::json::read(&schema).unwrap();
    let required = schema["$defs"]["chat_templates"]["required"].as_list().unwrap().to_vec();
    for key in required {
        assert!(rows[0].get(key.as_str().unwrap()).is_some(), "{key}");
    }
}

/// The bytes of a GGUF file with a chat template and the end of a turn.
fn gguf(template: &str, eos: &str) -> Vec<u8> {
    let tokens = Gguf::new().texts("tokenizer.ggml.tokens", [eos].into_iter());
    tokens.number("tokenizer.ggml.eos_token_id", 0).text("tokenizer.chat_template", template).finish()
}

#[test]
fn a_converted_model_is_compared_with_its_source_each_with_its_own_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    let template = PLAIN.replace("<end>", "{{ eos_token }}");
    fs::create_dir(folder.path().join("source")).unwrap();
    write("source/tokenizer_config.json", br#"{"eos_token": "</s>"}"#);
    write("source/chat_template.jinja", template.as_bytes());
    write("same.gguf", &gguf(&template, "</s>"));
    write("token.gguf", &gguf(&template, "<end>"));
    write("other.gguf", &gguf(&template.replace("<assistant>", "<bot>"), "</s>"));
    let said = |model: &str| {
        let output = backchat(&["diff", "source", model], folder.path());
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let same = "same, proved: the two differ in names, comments and white space only\n".to_owned();
    assert_eq!(said("same.gguf"), (Some(0), same));
    let (code, text) = said("token.gguf");
    assert!(code == Some(1) && text.contains("\ntokens     eos_token: \"</s>\" → \"<end>\"\n"), "{text}");
    // A difference that only the tokens make is said once.
    assert!(text.starts_with("differs in 1 way: "), "{text}");
    let (code, text) = said("other.gguf");
    assert!(code == Some(1) && text.contains("`<assistant>` → `<bot>`"), "{text}");
}

#[test]
fn a_response_template_that_is_given_reads_the_renders_in_the_place_of_drafts() {
    let content = |close: &str| {
        let text = format!(r#"{{"start_anchor": "<assistant>", "fields": {{"content": {{"close": "{close}"}}}}}}"#);
        Template::load(&text).unwrap().template
    };
    let given = |response: &Template, template: &str| Chat { response: Some(response.clone()), ..chat(template) };
    let stopping = PLAIN.replace("<end>", "<stop>");
    let (end, stop) = (content("<end>"), content("<stop>"));
    for (old, new, words, loses) in [
        (&end, &end, "the response template misreads new renders: `", true),
        (&stop, &stop, "the response template misreads old renders: `", true),
        (&end, &stop, "another one; the old one misreads new renders: `", true),
    ] {
        let options = Options::default();
        let diff = chat_templates(&given(old, PLAIN), &given(new, &stopping), &options).unwrap();
        assert!(diff.text().contains(&format!("\ndraft      {words}")), "{}", diff.text());
        let drafts = diff.drafts.unwrap();
        assert_eq!((drafts.are_given, drafts.loses()), (true, loses));
    }
    // The draft stands in for the side that has none.
    let diff = chat_templates(&given(&end, PLAIN), &chat(&stopping), &Options::default()).unwrap();
    let [[_, old_on_new], [new_on_old, _]] = diff.drafts.unwrap().reads;
    for held in [old_on_new, new_on_old] {
        assert_eq!(held.unwrap().status, Status::Partial);
    }
}

#[test]
fn the_command_takes_a_response_template_and_a_tokenizer() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let config = |end: u32, is_special: bool| {
        format!(
            r#"{{"added_tokens_decoder": {{"7": {{"content": "<assistant>", "special": true}},
                "{end}": {{"content": "<end>", "special": {is_special}}}}}}}"#
        )
    };
    for (model, end, is_special) in [("one", 8, true), ("other", 9, false)] {
        fs::create_dir(folder.path().join(model)).unwrap();
        write(&format!("{model}/chat_template.jinja"), PLAIN);
        write(&format!("{model}/tokenizer_config.json"), &config(end, is_special));
    }
    write("stop.jinja", &PLAIN.replace("<end>", "<stop>"));
    write("r.json", r#"{"start_anchor": "<assistant>", "fields": {"content": {"close": "<end>"}}}"#);
    let said = |arguments: &[&str]| {
        let output = backchat(&[&["diff"], arguments].concat(), folder.path());
        (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    let (code, text) = said(&["one", "other"]);
    assert!(code == Some(0) && text.ends_with("\ntokens     <end>: id 8 → id 9\n"), "{text}");
    let (_, text) = said(&["one", "stop.jinja", "--tokenizer", "one/tokenizer_config.json"]);
    assert!(text.contains("\ntokens     <stop>: id 8 → no single token\n"), "{text}");
    let (code, text) = said(&["one", "stop.jinja", "--response-template", "r.json", "--fail-on", "draft"]);
    assert!(code == Some(1) && text.contains("\ndraft      the response template misreads new renders: `"), "{text}");
    for arguments in [["--response-template", "stop.jinja"], ["--tokenizer", "r.json"]] {
        let (code, text) = said(&[&["one", "other"], arguments.as_slice()].concat());
        assert!(code == Some(2) && text.contains(arguments[1]), "{text}");
    }
}

#[test]
fn what_no_conversation_took_is_named_with_the_reason() {
    let guarded = "{% if messages | map(attribute='content') | join | length == 77777 %}a{% endif %}";
    let diff = compared(&format!("{guarded}{PLAIN}"), &format!("{guarded}\n{}", PLAIN.replace("<end>", "<stop>")));
    let covered = "covered    every branch but for line 1 (new): its test never held; line 1 (old):\n           its test never held\n";
    assert!(diff.text().contains(covered), "{}", diff.text());
    // A filter whose result is taken once is not taken by what records it.
    let joined = "{% set s = messages | map(attribute='content') | join %}{% if s %}S{% endif %}{% for m in messages %}\
                  {{ m.content }}<end>{% endfor %}";
    let diff = compared(joined, &joined.replace("<end>", "<stop>"));
    assert!(diff.coverage[0].not_taken.iter().all(|untaken| untaken.why != "its test never held"), "{}", diff.text());
    // A conversation has a message, and a loop within a test of its list has an item.
    let listed = format!("{{% if tools %}}{{% for tool in tools %}}T{{% endfor %}}{{% endif %}}{PLAIN}");
    assert_eq!(
        compared(PLAIN, &listed).coverage,
        [0, 2].map(|more| Coverage { all: 4 + 2 * more, taken: 4 + 2 * more, not_taken: vec![] })
    );
}

/// What `diff` says of two of our chat templates in a form, and its page.
fn said_of(one: &str, other: &str, form: &str) -> (String, String) {
    let sides = [one, other].map(|name| format!("{ROOT}/chat_templates/{name}.jinja"));
    let page = tempfile::tempdir().unwrap();
    let arguments = ["diff", &sides[0], &sides[1], "--format", form, "--report", "page.html"];
    let said = String::from_utf8(backchat(&arguments, page.path()).stdout).unwrap();
    (said, fs::read_to_string(page.path().join("page.html")).unwrap())
}

#[test]
fn every_form_has_the_same_bytes_twice() {
    for form in ["text", "json", "markdown"] {
        let [first, second] = [(), ()].map(|()| said_of("deepseek_v3", "deepseek_v3_1", form));
        assert_eq!(first, second, "{form}");
    }
}

#[test]
fn the_text_about_two_chat_templates_fits_a_screen() {
    for (one, other) in [("deepseek_v3", "deepseek_v3_1"), ("apriel_1_5", "apriel_1_6"), ("command_r7b", "devstral")] {
        let (text, _) = said_of(one, other, "text");
        assert!(text.lines().count() <= 24, "{text}");
        assert!(text.lines().all(|line| unicode_width(line) <= 80), "{text}");
    }
}

#[test]
fn a_report_is_one_page() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.jinja"), PLAIN).unwrap();
    fs::write(folder.path().join("b.jinja"), PLAIN.replace("<end>", "<b>&\u{1b}")).unwrap();
    let output = backchat(&["diff", "a.jinja", "b.jinja", "--report", "page.html"], folder.path());
    assert_eq!(output.status.code(), Some(1));
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("every conversation"));
    assert!(page.contains("<code class=\"del\">") && page.contains("<code class=\"ins\">"), "{page}");
    assert!(!page.contains('\u{1b}') && !page.contains("<b>&"), "the text of templates is escaped");
}
