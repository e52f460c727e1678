//! The `backchat lint` command, and every rule with templates that it reports and templates that it accepts.

use std::fs;
use std::path::Path;

use backchat::Template;
use backchat_derive::targets::Target;
use backchat_parser::template::source;
use backchat_workbench::lint::{Subject, lint, rules};

use crate::support::{backchat_in, folder_of, outcome, outcome_in};

/// A template with these fields.
fn template(fields: &str) -> String {
    format!("{{\"start_anchor\": \"<|assistant|>\", \"fields\": {{{fields}}}}}")
}

/// The ids of the findings about a template, without the notes on other languages' engines.
fn ids(text: &str) -> Vec<&'static str> {
    let opened = source::from_text("t.json".to_owned(), text.to_owned()).unwrap();
    let mut ids: Vec<_> = lint(&Subject::of_file(&opened, &[])).iter().map(|finding| finding.id).collect();
    // Notes about most templates: other languages' engines, the last region wins, closes in JSON strings.
    ids.retain(|id| !["RT053", "RT004", "RT015"].contains(id));
    ids.dedup();
    ids
}

/// Fields without findings.
const GOOD: &str = r#""reasoning_content": {"open": "<think>", "close_pattern": "</think>\\s*"},
  "tool_calls": {"open_pattern": "<call:(?P<name>\\w+)>", "close_pattern": "</call>\\s*", "repeats": true, "content": "json",
    "transform": {"function": {"name": "{name}", "arguments": "{content}"}}},
  "content": {"close": "<|end|>"}"#;

#[test]
fn a_good_template_has_no_findings() {
    assert_eq!(ids(&template(GOOD)), [""; 0]);
}

#[test]
fn every_rule_reports_its_example() {
    let end = "\"content\": {\"close\": \"<|end|>\"}";
    for (fields, expected) in [
        (r#""content": {"close_pattern": "<\\|end\\|>|$"}"#.to_owned(), "RT001"),
        (r#""content": {"close_pattern": "<\\|end\\|>|\\Z"}"#.to_owned(), "RT001"),
        (format!(r#""a": {{"open_pattern": "<a>(?:<b>)?", "close_pattern": "</a>\\s*"}}, {end}"#), "RT001"),
        (format!(r#""a": {{"open_pattern": "<a.*>", "close_pattern": "</a>\\s*"}}, {end}"#), "RT001"),
        (format!(r#""a": {{"open": "<a>", "close_pattern": "(a+)-\\1"}}, {end}"#), "RT001"),
        (format!(r#""a": {{"open": ["<a>", "<a><b>"], "close_pattern": "</a>\\s*"}}, {end}"#), "RT001"),
        (format!(r#""a": {{"open_pattern": "(?=[\\s\\S]*</a>)", "close_pattern": "</a>\\s*"}}, {end}"#), "RT002"),
        (format!(r#""a": {{"open": "<a>", "close": "</a>"}}, {end}"#), "RT003"),
        (format!(r#""a": {{"open": "<a>", "close_pattern": "</a>\\s*"}}, "b": {{"open": "<a>"}}, {end}"#), "RT010"),
        (format!(r#""a": {{"open": "<a>", "close": ["<x>", "<x>yz"]}}, {end}"#), "RT011"),
        (format!(r#""a": {{"open": "<a>", "close": "}}", "content": "json"}}, {end}"#), "RT012"),
        (format!(r#""a": {{"open": "<a>", "close": "\n\n"}}, {end}"#), "RT012"),
        (r#""content": {}"#.to_owned(), "RT013"),
        (r#""content": {"close_pattern": "(?=<)"}"#.to_owned(), "RT014"),
        (format!(r#""a": {{"open_pattern": "x*", "close_pattern": "y*"}}, {end}"#), "RT014"),
        (
            format!(
                r#""a": {{"open_pattern": "<(?P<n>\\w)>", "close_pattern": "</a>\\s*", "transform": "{{content}}"}}, {end}"#
            ),
            "RT020",
        ),
        (
            format!(
                r#""a": {{"open": "<a>", "close_pattern": "</(?P<n>\\w)>\\s*", "transform": "{{content}}"}}, {end}"#
            ),
            "RT020",
        ),
        (
            format!(
                r#""a": {{"open_pattern": "<(?P<content>\\w)>", "close_pattern": "</a>\\s*", "transform": "{{content}}"}}, {end}"#
            ),
            "RT021",
        ),
        (format!(r#""a": {{"open": "<a>", "close_pattern": "</a>\\s*", "transform": "{{n}}"}}, {end}"#), "RT022"),
        (
            format!(
                r#""a": {{"open": "<a>", "close_pattern": "</a>\\s*", "content": "int", "transform": "{{content.n}}"}}, {end}"#
            ),
            "",
        ),
        (
            format!(
                r#""a": {{"open": "<a>", "close_pattern": "</a>\\s*", "transform": {{"x": "{{ content }}"}}}}, {end}"#
            ),
            "RT024",
        ),
        (
            format!(r#""a": {{"open": "<a>", "close_pattern": "</a>\\s*", "content_args": {{"strop": true}}}}, {end}"#),
            "RT025",
        ),
        (format!(r#"{end}, {end}"#), "RT026"),
        (
            format!(
                r#""a": {{"open": "<a>", "close_pattern": "</a>\\s*", "content": "xml-inline", "content_args":
                {{"tag_pattern": "<(?P<key>k)>(?P<value>.*?)</k>", "value_parser": {{"name": "json"}}}}}}, {end}"#
            ),
            "RT030",
        ),
        (format!(r#""a": {{"open_pattern": "<a(?:\\s*b?)*>", "close_pattern": "</a>\\s*"}}, {end}"#), "RT060"),
    ] {
        let found = ids(&template(&fields));
        let is_expected = if expected.is_empty() { found.is_empty() } else { found.contains(&expected) };
        assert!(is_expected, "{fields}: {found:?}, not {expected:?}");
    }
    // transformers waits for one character.
    let found = ids(&template(&format!(r#""a": {{"open": "<a>", "close": ["<x>yz", "<x>y", "<x>"]}}, {end}"#)));
    assert!(!found.contains(&"RT011"), "{found:?}");
    for (anchor, found) in [
        (r#""start_anchor": "Assistant:""#, true),
        (r#""start_anchor": "\n\nAssistant:""#, true),
        (r#""start_anchor_pattern": "(?i)assistant:?""#, true),
        (r#""start_anchor_pattern": "x?""#, true),
        (r#""start_anchor": "<|im_start|>assistant\n""#, false),
        (r#""start_anchor": ["[/INST]"]"#, false),
    ] {
        let text = format!("{{{anchor}, \"fields\": {{{GOOD}}}}}");
        assert_eq!(ids(&text), if found { vec!["RT040"] } else { vec![] }, "{anchor}");
    }
}

#[test]
fn a_later_region_that_replaces_an_earlier_one_is_a_note() {
    let end = r#""content": {"close": "<|end|>"}"#;
    let transformers = Target::named("transformers").unwrap();
    let portable = Target::named("portable").unwrap();
    let repeated = format!(r#""a": {{"open": "<a>", "close_pattern": "</a>\\s*", "repeats": true}}, {end}"#);
    let single = format!(r#""a": {{"open": "<a>", "close_pattern": "</a>\\s*"}}, {end}"#);
    let joined = r#""a": {"open": "<a>", "close_pattern": "</a>\\s*", "repeats": true, "join": ""}"#.to_owned();
    for (fields, targets, named) in [
        // Servers refuse `join` for content: without it the author can do nothing.
        (&repeated, &[][..], &[][..]),
        (&repeated, &[portable], &[]),
        (&repeated, &[transformers], &["content"]),
        (&single, &[], &["a"]),
        (&single, &[transformers], &["a", "content"]),
        (&joined, &[transformers], &[]),
        (&end.to_owned(), &[transformers], &[]),
    ] {
        let template = Template::load(&template(fields)).unwrap().template;
        let found = lint(&Subject::new(&template, targets));
        let notes: Vec<_> = found.iter().filter(|finding| finding.id == "RT004").collect();
        let is_noted = |name: &&str| notes.iter().any(|note| note.message.contains(&format!("`{name}`")));
        assert!(notes.len() == named.len() && named.iter().all(is_noted), "{fields}: {notes:?}");
        assert!(notes.iter().all(|note| note.severity == backchat::Severity::Note));
    }
}

#[test]
fn text_that_no_field_takes_is_a_warning_unless_content_is_marked() {
    let call = r#""tool_calls": {"open": "<call>", "close_pattern": "</call>\\s*", "repeats": true}"#;
    for (more, expected) in [
        ("", Some(backchat::Severity::Warning)),
        (r#", "content": {"open": "<say>", "close": "</say>"}"#, Some(backchat::Severity::Note)),
        (r#", "content": {"close": "<|end|>"}"#, None),
        (r#", "text": {"close": "<|end|>"}"#, None),
    ] {
        let template = Template::load(&template(&format!("{call}{more}"))).unwrap().template;
        let found = lint(&Subject::new(&template, &[]));
        let found = found.iter().find(|finding| finding.id == "RT005");
        assert_eq!(found.map(|finding| finding.severity), expected, "{more}");
    }
}

#[test]
fn a_close_that_can_occur_in_a_json_string_is_a_note() {
    let end = r#""content": {"close": "<|end|>"}"#;
    let field = |open: &str, close: &str, content: &str| {
        format!(r#""a": {{"open": "{open}", {close}, "content": "{content}"}}, {end}"#)
    };
    for (fields, text) in [
        (field("<a>", r#""close": "</a>""#, "json"), Some(r#"<a>{"text": "</a>"}</a>"#)),
        (field("<a>", r#""close_pattern": "</a>\\s*""#, "json"), Some(r#"<a>{"text": "</a>"}</a>"#)),
        // A text region has no strings, and strings escape quotes and line breaks.
        (field("<a>", r#""close": "</a>""#, "text"), None),
        (field("<a>", r#""close": "\n\n""#, "json"), None),
        // The quote in this marker is escaped and ends nothing; the marker still matches after the backslash.
        (field("<a>", r#""close": "\"</a>""#, "json"), Some(r#"<a>{"text": "\"</a>"}"</a>"#)),
    ] {
        let template = Template::load(&template(&fields)).unwrap().template;
        let found = lint(&Subject::new(&template, &[]));
        let notes: Vec<_> = found.iter().filter(|finding| finding.id == "RT015").collect();
        assert_eq!(notes.len(), usize::from(text.is_some()), "{fields}: {notes:?}");
        assert!(notes.iter().all(|note| note.severity == backchat::Severity::Note));
        if let Some(text) = text {
            assert!(notes[0].message.contains(&backchat::Value::from(text).to_string()), "{notes:?}");
        }
    }
}

#[test]
fn constructs_that_a_proof_needs_are_notes() {
    let end = r#""content": {"close": "<|end|>"}"#;
    let with =
        |anchor: &str, fields: &str| format!("{{\"start_anchor_pattern\": \"{anchor}\", \"fields\": {{{fields}}}}}");
    for (text, id, severity) in [
        // Only the close shows a region without an opening marker.
        (
            with("A", &format!(r#""a": {{"open_pattern": "^(?=.*?</a>)", "close": "</a>"}}, {end}"#)),
            "RT002",
            backchat::Severity::Note,
        ),
        (
            with("A", &format!(r#""a": {{"open_pattern": "(?=.*?</a>)", "close": "</a>"}}, {end}"#)),
            "RT002",
            backchat::Severity::Warning,
        ),
        // The close must not take white space that separates calls.
        (
            with(
                "A",
                &format!(r#""a": {{"open_pattern": "<a>|(?<=</a>) ", "close": "</a>", "repeats": true}}, {end}"#),
            ),
            "RT003",
            backchat::Severity::Note,
        ),
        (
            with("A", &format!(r#""a": {{"open_pattern": "<a>", "close": "</a>", "repeats": true}}, {end}"#)),
            "RT003",
            backchat::Severity::Warning,
        ),
        // No known token could leak.
        (with("A", r#""content": {}"#), "RT013", backchat::Severity::Note),
        // A prompt may end without text of its own.
        (with("<A>|(?<!<B>)\\\\Z", end), "RT040", backchat::Severity::Note),
        (with("A*", end), "RT040", backchat::Severity::Warning),
    ] {
        let template = Template::load(&text).unwrap().template;
        let found = lint(&Subject::new(&template, &[]));
        let levels: Vec<_> = found.iter().filter(|finding| finding.id == id).map(|finding| finding.severity).collect();
        assert_eq!(levels, [severity], "{text}: {found:?}");
    }
}

#[test]
fn proved_drafts_have_no_warnings() {
    let mut seen = 0;
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("derived")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "json") {
            let opened = source::from_text("t.json".to_owned(), fs::read_to_string(&path).unwrap()).unwrap();
            let found = lint(&Subject::of_file(&opened, &[]));
            let bad: Vec<_> = found.iter().filter(|finding| finding.severity > backchat::Severity::Note).collect();
            assert!(bad.is_empty(), "{}: {bad:?}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 30);
}

#[test]
fn values_with_explicit_types_are_not_reported() {
    let field = |value: &str, args: &str| {
        format!(
            r#""a": {{"open": "<a>", "close_pattern": "</a>\\s*", "content": "xml-inline", "content_args":
                {{"tag_pattern": "<(?P<key>k)>(?P<value>{value})</k>", "value_parser": {{"name": "json"{args}}}}}}}, "content": {{"close": "<|end|>"}}"#
        )
    };
    for (value, args, expected) in [
        (".*?", "", true),
        (r#"\"[^\"]*\"|\\d+"#, "", false),
        (".*?", r#", "args": {"string_delims": [["<s>", "</s>"]]}"#, false),
    ] {
        assert_eq!(ids(&template(&field(value, args))).contains(&"RT030"), expected, "{value}");
    }
}

/// The time per field is constant; 600 fields with a finding each once took hours.
#[test]
fn time_grows_linearly_with_the_fields() {
    let fields: Vec<_> = (0..600)
        .map(|i| format!(r#""f{i:03}": {{"open_pattern": "<a{i}>(?:xy)?", "close_pattern": "</a{i}>\\s*"}}"#))
        .collect();
    let text = template(&fields.join(", "));
    let start = std::time::Instant::now();
    let found = ids(&text);
    assert!(found.contains(&"RT001"));
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

#[test]
fn safe_templates_have_no_findings() {
    for close in [
        r"</x>\s*",
        r"</x>\s+",
        r"</x>\n?",
        r"</x{1,3}>",
        r"<[^>]*>",
        r"</x>(?!a)",
        r"\b</x>",
        r"(?i)</x>",
        r"</x>|</y>",
    ] {
        let fields = format!(
            "\"a\": {{\"open\": \"<a>\", \"close_pattern\": {}}}, \"content\": {{\"close\": \"<|end|>\"}}",
            backchat::Value::from(close)
        );
        assert!(!ids(&template(&fields)).contains(&"RT001"), "{close}");
    }
}

#[test]
fn targets_refuse_the_constructs_in_their_row() {
    let fields = r#""reasoning_content": {"open": "<think>", "close_pattern": "</think>(?=\\s)"},
      "content": {"close": "<|end|>", "repeats": true, "join": ""}"#;
    let template = Template::load(&template(fields)).unwrap().template;
    for (target, expected) in [
        ("transformers", &[][..]),
        ("transformers-5.23", &[]),
        ("trl", &[]),
        ("vllm", &["RT050", "RT051", "RT052"]),
        ("vllm-python", &["RT050", "RT051"]),
        // It knows both names of reasoning and joins text.
        ("vllm-rust", &["RT052"]),
        ("sglang", &["RT050", "RT051"]),
        ("smg", &["RT052"]),
        // Two readers refuse the pattern.
        ("portable", &["RT050", "RT051", "RT052", "RT052"]),
    ] {
        let targets = [Target::named(target).unwrap()];
        let found = lint(&Subject::new(&template, &targets));
        let mut ids: Vec<_> =
            found.iter().map(|finding| finding.id).filter(|id| ("RT050".."RT053").contains(id)).collect();
        ids.sort_unstable();
        assert_eq!(ids, expected, "{target}");
    }
}

#[test]
fn ids_and_names_are_stable_and_unique() {
    let table: Vec<_> = rules().map(|rule| format!("{} {} {}", rule.id, rule.name, rule.severity.name())).collect();
    assert!(table.is_sorted());
    insta::assert_snapshot!(table.join("\n"));
}

/// Runs `backchat lint` in a folder.
fn run(folder: &Path, arguments: &[&str], input: Option<&str>) -> (i32, String, String) {
    outcome(&backchat_in(folder, &[&["lint"], arguments].concat(), input.unwrap_or_default()))
}

#[test]
fn a_folder_stands_for_the_templates_in_it() {
    let chat = "{% for m in messages %}{{ m.content }}{% endfor %}";
    let good = template(GOOD);
    let folder = folder_of(&[
        ("all/chat.jinja", chat),
        ("all/response.json", &good),
        ("all/package.json", "{\"name\": \"x\"}"),
        // A vocabulary has every word.
        ("all/tokenizer.json", r#"{"version": "1.0", "model": {"vocab": {"\"fields\"": 0, "fields": 1}}}"#),
        ("all/model/tokenizer_config.json", &format!("{{\"response_template\": {good}}}")),
        ("broken/response.json", "{\"fields\": "),
        ("none/notes.txt", "x"),
    ]);
    let (code, _, err) = run(folder.path(), &["all"], None);
    assert!(code < 2 && err.starts_with("3 templates: "), "{err}");
    let (code, out, _) = run(folder.path(), &["broken", "--format", "concise"], None);
    assert!(code == 2 && out.contains("invalid-json"), "{out}");
    let (code, _, err) = run(folder.path(), &["none"], None);
    assert!(code == 2 && err.starts_with("error[no-templates]"), "{err}");
    let (code, _, err) = run(folder.path(), &["--chat-template", "all/chat.jinja"], None);
    assert!(code < 2 && err.starts_with("1 template: "), "{err}");
}

/// A template with three fixable problems and one that is not fixable.
fn bad() -> String {
    r#"{
  "start_anchor": "Assistant:",
  "fields": {
    "reasoning_content": {"open": "<think>", "close": "</think>"},
    "tool_calls": {"open": "<call>", "close": ["</call>", "</CALL>"], "repeats": true, "content": "json"},
    "content": {"close_pattern": "<\\|end\\|>|$"}
  }
}
"#
    .to_owned()
}

#[test]
fn findings_are_shown_and_fixed() {
    let text = bad();
    let folder = folder_of(&[("t.json", &text), ("good.json", &template(GOOD))]);
    let (code, out, err) = run(folder.path(), &["t.json", "good.json"], None);
    insta::assert_snapshot!(format!("{out}── stderr\n{err}── exit {code}\n"));
    let (code, diff, _) = run(folder.path(), &["--diff", "t.json"], None);
    assert_eq!(code, 0);
    // Showing the fixes does not apply them.
    assert_eq!(run(folder.path(), &["--fix", "--diff", "t.json"], None).1, diff);
    insta::assert_snapshot!("diff", diff);
    assert_eq!(fs::read_to_string(folder.path().join("t.json")).unwrap(), text);
    let (code, out, _) = run(folder.path(), &["--fix", "t.json", "--format", "concise"], None);
    assert!(code == 0 && out.lines().all(|line| line.contains(": note[")), "{out}");
    assert!(out.contains("RT040"), "{out}");
    let (code, diff, _) = run(folder.path(), &["--diff", "t.json"], None);
    assert_eq!((code, diff.as_str()), (0, ""));
    assert_eq!(run(folder.path(), &["good.json"], None).0, 0);
}

#[test]
fn a_config_is_fixed_in_place() {
    let config =
        format!("{{\n  \"eos_token\": \"<eos>\",\n  \"response_template\": {},\n  \"z\": 1.50\n}}\n", bad().trim());
    let folder = folder_of(&[("tokenizer_config.json", &config)]);
    let (_, out, _) = run(folder.path(), &["--fix", ".", "--format", "concise"], None);
    assert!(out.contains("the stop token \"<eos>\" becomes part of `content`"), "{out}");
    assert!(out.contains("response_template.fields.content"), "{out}");
    let fixed = fs::read_to_string(folder.path().join("tokenizer_config.json")).unwrap();
    assert!(fixed.starts_with("{\n  \"eos_token\": \"<eos>\",") && fixed.ends_with("\"z\": 1.50\n}\n"), "{fixed}");
    assert!(fixed.contains(r#""close_pattern": "(?:</call>|</CALL>)\\s*""#), "{fixed}");
}

#[test]
fn every_format() {
    let folder = folder_of(&[("t.json", &bad())]);
    for format in ["concise", "json", "github", "junit", "sarif"] {
        let (code, out, _) = run(folder.path(), &["t.json", "--format", format, "-q"], None);
        assert_eq!(code, 1);
        insta::assert_snapshot!(format!("lint_{format}"), out);
    }
}

#[test]
fn users_set_the_levels() {
    let folder = folder_of(&[("t.json", &bad())]);
    let seen = |arguments: &[&str]| {
        let (code, out, _) = run(folder.path(), &[&["t.json", "--format", "concise", "-q"], arguments].concat(), None);
        let levels: Vec<_> =
            out.lines().map(|line| line.split(": ").nth(1).unwrap().split(']').next().unwrap().to_owned()).collect();
        (code, levels)
    };
    let count = |levels: &[String], start: &str| levels.iter().filter(|level| level.starts_with(start)).count();
    let (_, all) = seen(&[]);
    assert_eq!((count(&all, "warning") + count(&all, "note"), count(&all, "error")), (all.len(), 0));
    let (code, levels) =
        seen(&["--allow=RT040", "--deny=lost-content", "--allow=chunk-dependent", "--allow=RT004", "--allow=RT015"]);
    assert_eq!((code, levels), (1, vec!["error[RT003".to_owned(); 1]));
    let config = "[lint.rules]\nRT003 = \"note\"\nRT004 = \"off\"\nRT015 = \"off\"\nforgeable-anchor = \"off\"\n[[lint.ignore]]\nfile = \"t.json\"\nrules = [\"RT001\"]\n";
    fs::write(folder.path().join("backchat.toml"), config).unwrap();
    assert_eq!(seen(&[]), (0, vec!["note[RT003".to_owned(); 1]));
    assert_eq!(seen(&["--warn", "RT003"]), (1, vec!["warning[RT003".to_owned(); 1]));
    fs::write(folder.path().join("backchat.toml"), "[lint]\ntarget = \"vllm\"\n").unwrap();
    assert_eq!(count(&seen(&[]).1, "error[RT050"), 1);
    fs::write(
        folder.path().join("backchat.toml"),
        "[lint]\ntargets = 3\n[lint.rules]\nRT999 = \"off\"\nRT001 = \"loud\"\n",
    )
    .unwrap();
    let (code, _, err) = run(folder.path(), &["t.json"], None);
    insta::assert_snapshot!("config_problems", format!("{err}── exit {code}\n"));
}

#[test]
fn what_cannot_run() {
    let folder = folder_of(&[("broken.json", "{\"fields\": {}}"), ("t.json", &template(GOOD))]);
    let (code, out, err) = run(folder.path(), &["broken.json", "t.json"], None);
    assert_eq!(code, 2);
    assert!(out.contains("`start_anchor` is missing"), "{out}");
    assert!(err.contains("2 templates: 2 errors"), "{err}");
    for arguments in [
        &["nowhere.json"][..],
        &["--explain", "RT999"],
        &["--target", "nobody", "t.json"],
        &["--deny", "x", "t.json"],
        &["-", "--chat-template", "-"],
        &[],
    ] {
        assert_eq!(run(folder.path(), arguments, None).0, 2, "{arguments:?}");
    }
    let (code, out, _) = run(folder.path(), &["-", "--diff"], Some(&bad()));
    assert_eq!(code, 0);
    assert!(out.starts_with("--- <stdin>"), "{out}");
}

#[test]
fn every_rule_has_a_page() {
    let folder = folder_of(&[]);
    for rule in rules() {
        let (code, by_id, _) = run(folder.path(), &["--explain", rule.id], None);
        assert_eq!(code, 0);
        assert_eq!(by_id, run(folder.path(), &["--explain", rule.name], None).1);
        for part in ["Why it hurts", "Example", "What to do"] {
            assert!(by_id.contains(part), "{}: {part}", rule.id);
        }
    }
    assert_eq!(run(folder.path(), &["--explain"], None).1.lines().count(), rules().count());
    for (name, help) in [("stop-token-leak", "did you mean `stop-token-leaks`?"), ("zzz", "--explain` lists them")] {
        let (code, _, err) = run(folder.path(), &["--explain", name], None);
        assert!(code == 2 && err.contains(help), "{err}");
    }
}

#[test]
fn the_documentation_matches_the_rules() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/lint.md");
    let written = fs::read_to_string(&file).unwrap();
    let (_, pages, _) = run(Path::new("."), &["--explain", "all"], None);
    assert!(written.ends_with(&pages), "write the output of `backchat lint --explain all` to the end of docs/lint.md");
}

#[test]
fn chat_templates_are_linted_alone_and_beside_a_response_template() {
    let loud = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ c | tojson }}{% endfor %}\
                {% endfor %}{{ tools | tojson }}";
    let config = |extra: &str| format!("{{\"chat_template\": {}{extra}}}", backchat::json::Value::from(loud));
    let response = r#", "response_template": {"start_anchor": "<|a|>", "fields": {"content": {"close": "<|e|>"}}}"#;
    let folder = folder_of(&[
        ("loud.jinja", loud),
        ("quiet.jinja", "{% for m in messages %}{{ m.content }}{% endfor %}{{ tools | tojson }}"),
        ("broken.jinja", "{% for"),
    ]);
    for (model, extra) in [("chat", ""), ("both", response)] {
        fs::create_dir(folder.path().join(model)).unwrap();
        fs::write(folder.path().join(model).join("tokenizer_config.json"), config(extra)).unwrap();
    }
    for (source, code, ids) in [
        ("loud.jinja", 1, &["CT002", "CT004"][..]),
        ("quiet.jinja", 0, &[]),
        ("chat", 1, &["CT002", "CT004"]),
        ("both", 1, &["CT002", "CT004"]),
        ("broken.jinja", 2, &["template-failed"]),
    ] {
        let (found, out, err) = run(folder.path(), &[source, "--format", "concise"], None);
        assert_eq!(found, code, "{source}: {out}{err}");
        let both = format!("{out}{err}");
        assert!(ids.iter().all(|id| both.contains(&format!("[{id}]"))), "{source}: {both}");
        assert_eq!(out.lines().count(), if code == 2 { out.lines().count() } else { ids.len() }, "{source}: {out}");
    }
    // transformers renders conversations without tools with `default`, and the others with `tool_use`.
    let quiet = "{% for m in messages %}{{ m.content }}{% endfor %}{{ tools | tojson }}";
    for (default, tool_use) in [(loud, quiet), (quiet, loud)] {
        let named = [("default", default), ("tool_use", tool_use), ("rag", quiet)];
        let named = named.map(|(name, template)| format!("{{\"name\": \"{name}\", \"template\": {:?}}}", template));
        fs::write(folder.path().join("list.json"), format!("{{\"chat_template\": [{}]}}", named.join(", "))).unwrap();
        let (code, out, err) = run(folder.path(), &["list.json", "--format", "concise"], None);
        let name = if default == loud { "default" } else { "tool_use" };
        assert_eq!((code, out.lines().count()), (1, 2), "{out}{err}");
        assert!(out.lines().all(|line| line.contains(&format!("list.json ({name})"))), "{out}");
    }
    // It is another template that has to show the tools.
    let shows = |tools: &str| quiet.replace("{{ tools | tojson }}", tools);
    for (default, tool_use, code) in [("", "{{ tools | tojson }}", 0), ("{{ tools | tojson }}", "", 1)] {
        let named = [("default", shows(default)), ("tool_use", shows(tool_use))];
        let named = named.map(|(name, template)| format!("{{\"name\": \"{name}\", \"template\": {template:?}}}"));
        fs::write(folder.path().join("list.json"), format!("{{\"chat_template\": [{}]}}", named.join(", "))).unwrap();
        let (_, out, err) = run(folder.path(), &["list.json", "--format", "concise"], None);
        assert_eq!(out.matches("[CT005]").count(), code, "{out}{err}");
    }
    let (code, out, _) =
        run(folder.path(), &["loud.jinja", "--allow", "CT002", "--allow", "null-printed-as-none"], None);
    assert_eq!((code, out.as_str()), (0, ""));
}

#[test]
fn misspelt_keys_are_warned_of_at_their_places() {
    let chat = "{% for m in messages %}\n{{ m.reasoning_contnet }}{{ m.content }}\n{% endfor %}{{ tools | tojson }}";
    let own = chat.replace("reasoning_contnet", "tool_plan");
    let response = r#"{"start_anchor": "<|a|>", "fields": {"content": {"close": "<|e|>"}}}"#;
    let folder = folder_of(&[("typo.jinja", chat), ("own.jinja", &own), ("t.json", response)]);
    let warning = "typo.jinja:2:4: warning[CT006] line 2 reads `reasoning_contnet` of a message; did you mean \
                   `reasoning_content`?";
    // A chat template beside a response template is linted as well, also without a target.
    for arguments in
        [&["typo.jinja"][..], &["--chat-template", "typo.jinja"], &["t.json", "--chat-template", "typo.jinja"]]
    {
        let (code, out, err) = run(folder.path(), &[arguments, &["--format", "concise"]].concat(), None);
        assert!(code == 1 && out.contains(warning), "{arguments:?}: {out}{err}");
    }
    let (code, out, _) = run(folder.path(), &["own.jinja", "--format", "concise"], None);
    assert_eq!((code, out.as_str()), (0, ""));
}

#[test]
fn outputs_are_recognized_and_say_what_to_do() {
    let rows = "{\"text\": \"<think>Hm.</think>Hi\"}\n{\"text\": \"Yo\"}\n";
    let folder =
        folder_of(&[("outs.jsonl", rows), ("out.txt", "<think>Hm.</think>Hi"), ("c.json", "{% for m in x %}")]);
    for (file, what, help) in [
        ("outs.jsonl", "this is a JSON Lines file, not a response template", "--samples"),
        ("out.txt", "this is text, such as the output of a model, not a response template", "You only have outputs"),
        ("c.json", "this is a chat template, not a response template", "backchat derive c.json"),
    ] {
        let (code, out, err) = run(folder.path(), &[file], None);
        assert!(code == 2 && out.contains(what) && out.contains(help), "{file}: {out}{err}");
    }
}

#[test]
fn sources_without_a_response_template_pass_if_they_may() {
    let good = template(GOOD);
    // A call's turn has no content, which it prints as `None`: a warning.
    let chat =
        r#"{"chat_template": "{% for m in messages %}{{ m.role }}: {{ m.content }}{{ m.tool_calls }}{% endfor %}"}"#;
    for (file, text, fails_with) in [
        ("tokenizer_config.json", r#"{"eos_token": "<end>"}"#, 2),
        ("tokenizer_config.json", chat, 1),
        ("response_template.json", r#"{"fields": {"content": {"clse": "<end>"}}}"#, 2),
        ("response_template.json", &good, 0),
    ] {
        let folder = folder_of(&[(file, text)]);
        let (code, out, _) = outcome_in(folder.path(), &["lint", file]);
        assert_eq!(code, fails_with, "{out}");
        let (code, out, said) = outcome_in(folder.path(), &["lint", "--no-template", "pass", file]);
        let is_skipped = file == "tokenizer_config.json";
        assert_eq!(said.contains("has no response template: skipped"), is_skipped, "{said}");
        assert_eq!(said.contains("0 templates: "), is_skipped, "{said}");
        assert_eq!(code, if is_skipped { 0 } else { fails_with }, "{out}");
    }
}
