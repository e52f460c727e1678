//! The `backchat audit` command: ranked causes, gates, fixtures and the page.

use std::fs;

use backchat::json::{self, Value};

use crate::support::{backchat_in, folder_of, integer, outcome, outcome_in, path_text};

const TEMPLATE: &str = r#"{"start_anchor": "<bot>", "fields": {
    "tool_calls": {"open": "<call>", "close": "</call>", "repeats": true, "content": "json",
        "transform": {"type": "function", "function": {"name": "{content.name}", "arguments": "{content.arguments}"}}},
    "content": {"close": "<end>"}}}"#;

/// Outputs of two models: one writes stray commas, the other is cut off.
const LOG: &str = r#"{"id": 1, "text": "Hi<end>", "model": "m"}
{"id": 2, "text": "<call>{\"name\": \"f\", \"arguments\": {\"a\": 1,}}</call><end>", "model": "m"}
{"id": 3, "text": "<call>{\"name\": \"f\", \"arguments\": {},}</call>", "model": "m", "server": "s"}
{"id": 4, "text": "<call>{\"name\": ", "model": "n", "finish_reason": "length"}
{"id": 5, "message": "no text"}
"#;

fn audit(arguments: &[&str]) -> (i32, String, String) {
    let folder = folder_of(&[("t.json", TEMPLATE), ("log.jsonl", LOG)]);
    outcome_in(folder.path(), &[&["audit", "log.jsonl", "--template", "t.json"], arguments].concat())
}

#[test]
fn causes_are_ranked_with_their_smallest_outputs() {
    let (code, out, err) = audit(&[]);
    insta::assert_snapshot!(format!("{code}\n{out}{err}"), @r#"
    0
    3 of 4 outputs have problems (75.00%).

    OUTPUTS   SHARE  m  n  PROBLEM (POLICIES)
          2  50.00%  2  0  malformed (json-commas)
            line 3: "<call>{\"name\": \"f\", \"arguments\": {},}</call>"
          1  25.00%  0  1  malformed
            line 4: "<call>{\"name\": "
    note: 1 of 5 rows were not read; the first is line 5: the row has no `text`
    "#);
}

#[test]
fn the_data_is_json() {
    let (code, out, _) = audit(&["--format", "json", "--by", "server", "-q"]);
    let value = json::read(&out).unwrap();
    let number = |key: &str| integer(value.get(key).unwrap());
    assert_eq!((code, number("outputs"), number("not_read"), number("with_problems")), (0, 4, 1, 3));
    let causes = value.get("causes").and_then(Value::as_list).unwrap();
    let first = &causes[0];
    assert_eq!(first.get("recoverable").unwrap().to_string(), r#"["json-commas"]"#);
    assert_eq!(first.get("groups").unwrap().to_string(), r#"{"": 1, "s": 1}"#);
    assert_eq!(first.get("example").and_then(|example| example.get("id")).unwrap().to_string(), "3");
    assert_eq!(integer(causes[1].get("cut").unwrap()), 1);
}

#[test]
fn gates_decide_the_exit_code() {
    for (gates, code, says) in [
        (&["--max", "malformed=3", "--max", "any=75%"][..], 0, ""),
        (&["--max", "malformed=2"], 1, "malformed: 3 of 4 outputs (75.00%), at most 2"),
        (&["--max", "any=74.9%"], 1, "any: 3 of 4 outputs (75.00%), at most 74.9%"),
        (&["--max", "unclosed=0"], 0, ""),
        (&["--max", "malformd=0"], 2, "there is no problem `malformd`"),
    ] {
        let (found, _, err) = audit(gates);
        assert_eq!(found, code, "{gates:?}: {err}");
        assert!(err.contains(says), "{gates:?}: {err}");
    }
}

#[test]
fn findings_become_fixtures() {
    let folder = folder_of(&[("t.json", TEMPLATE), ("log.jsonl", LOG)]);
    let write = || outcome_in(folder.path(), &["audit", "log.jsonl", "--template", "t.json", "--fixtures", "found"]);
    let (_, _, err) = write();
    assert!(err.contains("wrote 2 fixtures into found"), "{err}");
    let text = fs::read_to_string(folder.path().join("found/malformed-json-commas.fixture")).unwrap();
    assert!(text.contains("template: ../t.json") && text.ends_with("=== problems\nmalformed tool_calls\n"), "{text}");
    let (code, out, err) = outcome_in(folder.path(), &["check", "found"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(write().2.contains("wrote 0 fixtures into found, kept 2 that exist"));
}

#[test]
fn the_page_shows_hostile_outputs_escaped() {
    let row = r#"{"text": "<call><script>x</script>\u001b[2J", "model": "<b>"}"#;
    let folder = folder_of(&[("t.json", TEMPLATE), ("log.jsonl", &format!("{row}\n{LOG}"))]);
    let (code, out, err) =
        outcome_in(folder.path(), &["audit", "log.jsonl", "--template", "t.json", "--report", "page.html"]);
    assert_eq!(code, 0, "{err}");
    assert!(!out.contains('\u{1b}') && !err.contains('\u{1b}'));
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.contains("&lt;script&gt;x") && !page.contains("<script>x") && page.contains("&lt;b&gt;"));
}

#[test]
fn rows_carry_their_templates() {
    let template = json::read(TEMPLATE).unwrap();
    let row = format!("{{\"text\": \"<call>{{,}}\", \"template\": {template}}}\n");
    let folder = folder_of(&[]);
    let arguments = ["audit", "-", "--fixtures", path_text(folder.path()), "-q"];
    let (code, out, err) = outcome(&backchat_in(folder.path(), &arguments, row));
    assert_eq!(code, 0, "{err}");
    assert!(out.starts_with("1 of 1 outputs have problems (100.00%)."), "{out}");
    let (code, out, err) = outcome_in(folder.path(), &["check", "."]);
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn a_log_that_cannot_be_read_is_an_error() {
    let folder = folder_of(&[("log.jsonl", "{\"text\": \"Hi\"}\n")]);
    let (code, _, err) = outcome_in(folder.path(), &["audit", "log.jsonl"]);
    assert!(code == 2 && err.contains("no row can be read; line 1: the row has no `template`"), "{err}");
}
