//! The syntax of fixtures, the problems of invalid ones, and the changes that blessing makes.

use std::fs;

use backchat::json::{self, Value};
use backchat::parser::Policies;
use backchat_core::diagnostic::{Format, Sources, render};
use backchat_workbench::check::fixture::{self, Actual, Broken, Case, FixtureFile, Shared};

fn read(name: &str, text: &str) -> FixtureFile {
    fixture::read_text(name, text.to_owned(), &Shared::default())
}

fn case(text: &str) -> Case {
    read("folder/a.fixture", text).cases.swap_remove(0).unwrap()
}

fn object(text: &str) -> json::Object {
    json::read(text).unwrap().as_object().unwrap().clone()
}

#[test]
fn one_case() {
    let case = case(
        "# A greeting.\ntemplate: ../t.json\nchat-template: c.jinja\nstop: <end>\nstop: \"\\n\"\nset: think=false\n\
         round-trip: without id, reasoning\n=== prefix\n<bot>\n\n=== output\nHi\n=== message\n{\"content\": \"Hi\"}\n",
    );
    assert_eq!((case.name.as_str(), case.id.as_str()), ("a", "folder/a.fixture"));
    assert_eq!(case.template, fixture::TemplateSource::File("t.json".into()));
    assert_eq!(case.chat_template, Some("folder/c.jinja".into()));
    assert_eq!(case.stop, ["<end>", "\n"]);
    assert_eq!(case.variables, object(r#"{"think": false}"#));
    assert_eq!(case.round_trip, fixture::RoundTrip::Without(vec!["id".to_owned(), "reasoning".to_owned()]));
    assert_eq!((case.prefix.as_str(), case.output.as_str()), ("<bot>\n", "Hi"));
    assert_eq!(case.expected.message.unwrap().value, object(r#"{"content": "Hi"}"#));
}

#[test]
fn several_cases_share_the_sections_above_them() {
    let text = "template: t.json\n=== prefix none\n=== tools\n[]\n=== case one\nstop: x\n=== output\n1\n\
                === case two words\n=== prefix\np\n=== output json\n\"2 \"\n=== error\nmalformed a: b\n\nmissing c\n";
    let file = read("a.fixture", text);
    let [one, two] = file.cases.try_into().unwrap();
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!((one.id.as_str(), two.id.as_str()), ("a.fixture#one", "a.fixture#two words"));
    assert_eq!((one.prefix.as_str(), one.output.as_str(), one.stop.len()), ("", "1", 1));
    assert_eq!((two.prefix.as_str(), two.output.as_str(), two.stop.len()), ("p", "2 ", 0));
    assert_eq!((one.tools, two.tools), (Some(Value::List(vec![])), Some(Value::List(vec![]))));
    assert_eq!(two.expected.error.unwrap().value, ["malformed a: b", "missing c"]);
}

#[test]
fn a_case_may_ask_for_policies_and_list_problems() {
    let case = case(
        "template: t.json\nrecover: all, missing-reasoning-opener\nvalidate: yes\n=== prefix none\n=== output\n<c>{,}\n\
         === problems\nmalformed c call 0 recovered json-commas\n",
    );
    assert_eq!((case.recover, case.validate), (Policies::every(), true));
    assert_eq!(case.expected.problems.unwrap().value, ["malformed c call 0 recovered json-commas"]);
    let row = |more: &str| {
        let text = format!("{{\"template\": \"t.json\", \"prefix\": \"\", \"text\": \"\"{more}}}\n");
        read("log.jsonl", &text).cases.swap_remove(0)
    };
    let named = row(r#", "recover": ["json-keys"], "problems": []"#).unwrap();
    assert_eq!((named.recover, named.is_log), (Policies::parse("json-keys").unwrap(), false));
    let recorded = row(r#", "problems": [{"kind": "malformed"}]"#).unwrap();
    assert_eq!((recorded.expected.problems, recorded.is_log), (None, true));
    let broken = row(r#", "recover": ["json-key"]"#).unwrap_err();
    assert!(broken.diagnostics[0].message.starts_with("`recover`: there is no policy `json-key`"));
}

#[test]
fn rows_are_cases() {
    let text = "{\"id\": 7, \"template\": {\"a\": 1}, \"prefix\": \"\", \"text\": \"Hi\", \"model\": \"x\"}\n\n\
                {\"template\": \"t.json\", \"prefix\": \"p\", \"output\": \"\", \"message\": {}, \"stop\": [\"e\"]}\n";
    let file = read("log.jsonl", text);
    let [one, two] = file.cases.try_into().unwrap();
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!((one.id.as_str(), one.is_log), ("log.jsonl#7", true));
    assert_eq!(one.template, fixture::TemplateSource::Inline(json::read("{\"a\": 1}").unwrap()));
    assert_eq!((two.id.as_str(), two.is_log, two.stop), ("log.jsonl#3", false, vec!["e".to_owned()]));
}

#[test]
fn problems_are_reported_at_their_place() {
    let head = "template: t.json\n=== prefix none\n";
    let files = [
        ("incomplete.fixture", "=== message\n{}\n".to_owned()),
        ("header.fixture", format!("temlpate: x\nno key\nstop:\nround-trip: maybe\nset: a\n{head}=== output\n")),
        ("sections.fixture", format!("{head}=== ouptut\nx\n=== output\na\n=== output\nb\n=== prefix maybe\n")),
        (
            "json.fixture",
            format!("{head}=== output\n=== message\n{{\"a\": 1,}}\n=== tools\nnone\n=== messages\n{{}}\n"),
        ),
        ("cases.fixture", format!("{head}=== output\n=== case a\n=== output\n1\n=== case a\n=== output\n2\n")),
        ("tools.fixture", format!("{head}=== tools\n{{\"name\": \"f\"}}\n=== output\nHi\n")),
        ("mark.fixture", format!("\u{feff}{head}=== output\nHi\n")),
        ("lines.fixture", "template: t.json\r\n=== prefix none\r\n=== output\r\nHi\r\n".to_owned()),
        (
            "rows.jsonl",
            "[]\n{\"text\": 1}\n{\"id\": \"a\"\n{\"id\": 1, \"template\": {}, \"prefix\": null, \"text\": \"\"}\n\
             {\"id\": \"t\", \"template\": {}, \"prefix\": \"\", \"text\": \"\", \"tools\": {\"name\": \"f\"}}\n"
                .to_owned(),
        ),
    ];
    let mut shown = String::new();
    for (name, text) in files {
        let file = read(name, &text);
        let sources = Sources::none().with(name, text.clone());
        for case in &file.cases {
            let Err(Broken { id, diagnostics }) = case else { continue };
            shown += &format!("── {id}\n{}", render(diagnostics, Format::Full, &sources, false));
        }
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn one_broken_case_leaves_the_others_alone() {
    let text = "template: t.json\n=== prefix none\n=== case a\n=== case b\n=== output\nx\n=== case a\n=== output\n";
    let cases = read("a.fixture", text).cases;
    assert_eq!(cases.iter().map(Result::is_ok).collect::<Vec<_>>(), [false, true, false]);
}

#[test]
fn a_folder_shares_its_defaults() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    fs::write(folder.path().join("defaults.fixture"), "template: t.json\nset: a=1\n=== prefix\nouter\n").unwrap();
    fs::write(inner.join("defaults.fixture"), "set: b=2\n=== prefix\ninner\n").unwrap();
    fs::write(inner.join("x.fixture"), "=== output\nHi\n").unwrap();
    fs::write(folder.path().join("y.fixture"), "=== output\nHi\n").unwrap();
    let (x, _) = fixture::find(inner.join("x.fixture").to_str().unwrap()).unwrap();
    assert_eq!((x.prefix.as_str(), x.variables), ("inner", object(r#"{"a": 1, "b": 2}"#)));
    assert_eq!(x.template, fixture::TemplateSource::File(folder.path().join("t.json")));
    let (y, _) = fixture::find(folder.path().join("y.fixture").to_str().unwrap()).unwrap();
    assert_eq!((y.prefix.as_str(), y.variables), ("outer", object(r#"{"a": 1}"#)));
}

#[test]
fn a_case_is_found_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a#b.fixture");
    fs::write(&file, "template: t.json\n=== prefix none\n=== case c#d\n=== output\nx\n=== case e\n=== output\ny\n")
        .unwrap();
    let name = file.display();
    assert_eq!(fixture::find(&format!("{name}#c#d")).unwrap().0.output, "x");
    assert_eq!(fixture::find(&format!("{name}#f")).unwrap_err()[0].message, "the file has no case `f`");
    assert_eq!(fixture::find(&format!("{name}")).unwrap_err()[0].message, "the file does not hold exactly one case");
}

#[test]
fn a_file_that_is_not_a_fixture_is_one_problem() {
    let file = read("notes.fixture", "Notes\n\nfirst: one\nsecond: two\nand\nso\non\n");
    let problems = &file.cases[0].as_ref().unwrap_err().diagnostics;
    let said: Vec<(&str, bool)> =
        problems.iter().map(|problem| (problem.message.as_str(), problem.help.is_some())).collect();
    assert_eq!(
        said,
        [
            ("the file has no section `=== NAME`: it is not a fixture", true),
            ("`Notes` is not `key: value`", true),
            ("unknown key `first`", false),
            ("unknown key `second`", true),
        ]
    );
    assert_eq!(problems[3].help.as_deref(), Some("3 more lines before the first section cannot be read either"));
}

/// A text after blessing each of its cases with the message `{"b": 2}`.
fn blessed(name: &str, text: &str, error: &[&str], events: &str) -> String {
    let file = read(name, text);
    let bless = |case| {
        let events = json::read(events).unwrap().as_list().unwrap().to_vec();
        let error = error.iter().map(|line| (*line).to_owned()).collect();
        (case, Actual { message: Some(object(r#"{"b": 2}"#)), error, events, ..Actual::default() })
    };
    let pairs: Vec<_> = file.cases.iter().flatten().map(bless).collect();
    let text = fixture::rewrite(&file, &pairs, &[]);
    let again = read(name, &text);
    for (before, after) in file.cases.iter().flatten().zip(again.cases.iter().flatten()) {
        assert_eq!((&before.prefix, &before.output), (&after.prefix, &after.output));
        assert_eq!(after.expected.message.as_ref().unwrap().value, object(r#"{"b": 2}"#));
    }
    assert_eq!(fixture::rewrite(&again, &again.cases.iter().flatten().map(bless).collect::<Vec<_>>(), &[]), text);
    text
}

#[test]
fn blessing_changes_only_the_expectation() {
    let head = "# c\ntemplate: t.json\n=== prefix none\n";
    let message = "=== message\n{\n  \"b\": 2\n}\n";
    for (text, after) in [
        (format!("{head}=== output\nx\n"), format!("{head}=== output\nx\n{message}")),
        (format!("{head}=== output\nx"), format!("{head}=== output\nx\n{message}")),
        (format!("{head}=== output\nx\n\n"), format!("{head}=== output\nx\n\n{message}")),
        (format!("{head}=== output"), format!("{head}=== output\n{message}")),
        (format!("{head}=== message\n{{\"a\": 1}}\n\n=== output\nx"), format!("{head}{message}\n=== output\nx")),
        (format!("{head}=== output\nx\n=== message"), format!("{head}=== output\nx\n{message}")),
        (
            format!("{head}=== output\nx\n=== tools\n[]\n\n\n"),
            format!("{head}=== output\nx\n=== tools\n[]\n{message}\n\n"),
        ),
        (
            format!("{head}=== case a\n=== output\nx\n=== case b\n=== output\n\n"),
            format!("{head}=== case a\n=== output\nx\n{message}=== case b\n=== output\n\n{message}"),
        ),
    ] {
        assert_eq!(blessed("a.fixture", &text, &[], "[]"), after, "{text}");
    }
    let text = format!("{head}=== output\nx\n=== events\n=== error\nmalformed b: old\n");
    assert_eq!(
        blessed("a.fixture", &text, &["malformed a: new"], r#"[{"c": 3}]"#),
        format!("{head}=== output\nx\n=== events\n{{\"c\": 3}}\n=== error\nmalformed a: new\n{message}")
    );
    assert_eq!(blessed("a.fixture", &text, &[], "[]"), format!("{head}=== output\nx\n=== events\n{message}"));
}

#[test]
fn blessing_a_row_changes_only_its_expectation() {
    let row = r#"{"template": {}, "prefix": "", "text": "x""#;
    for (before, after) in [
        (format!("{row}}}\n"), format!("{row}, \"message\": {{\"b\": 2}}}}\n")),
        (
            format!("{row}, \"message\": {{}}, \"z\": 1.50 }}"),
            format!("{row}, \"message\": {{\"b\": 2}}, \"z\": 1.50 }}"),
        ),
        (format!("{row}, \"message\": null}}"), format!("{row}, \"message\": {{\"b\": 2}}}}")),
    ] {
        assert_eq!(blessed("a.jsonl", &before, &[], "[]"), after);
    }
}
