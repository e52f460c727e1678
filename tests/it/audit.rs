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
fn the_template_is_the_first_argument_or_an_option() {
    let folder = folder_of(&[("t.json", TEMPLATE), ("log.jsonl", LOG)]);
    let run = |arguments: &[&str]| outcome_in(folder.path(), &[&["audit"], arguments].concat());
    let (code, out, err) = run(&["t.json", "log.jsonl"]);
    assert_eq!((code, &out, &err), (0, &audit(&[]).1, &audit(&[]).2));
    let (code, _, err) = run(&["t.json", "log.jsonl", "--template", "t.json"]);
    assert!(code == 2 && err.contains("cannot be used with"), "{err}");
    let (code, _, err) = run(&["-", "-"]);
    assert!(code == 2 && err.contains("pass one of the inputs as a file"), "{err}");
    // Without a template, each row has one.
    let (code, _, err) = run(&["log.jsonl"]);
    assert!(code == 2 && !err.contains("Usage"), "{err}");
}

#[test]
fn causes_are_ranked_with_their_smallest_outputs() {
    let (code, out, err) = audit(&[]);
    insta::assert_snapshot!(format!("{code}\n{out}{err}"), @r#"
    0
    3 of 4 outputs have problems (75.00%).

    OUTPUTS   SHARE  m  n  CAUSE
          2  50.00%  2  0  malformed-tool_calls-json-commas
            `tool_calls` cannot be parsed; recovered by json-commas
            line 3: "<call>{\"name\": \"f\", \"arguments\": {},}</call>"
          1  25.00%  0  1  malformed-tool_calls-cut
            the output ends inside `tool_calls`, before its value does; 1 at a token limit
            line 4: "<call>{\"name\": "
    note: 1 of 5 rows were not read; the first is line 5: the row has no `text`; `--text-key` names another key
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
    assert_eq!(causes[1].get("name").unwrap().as_str(), Some("malformed-tool_calls-cut"));
    assert_eq!(
        (causes[1].get("field").unwrap().as_str(), causes[1].get("at_end")),
        (Some("tool_calls"), Some(&true.into()))
    );
}

#[test]
fn the_rows_of_a_cause_are_printed_as_they_are() {
    let (code, out, _) = audit(&["--rows", "malformed-tool_calls-json-commas", "-q"]);
    let rows: String = LOG.lines().skip(1).take(2).map(|line| format!("{line}\n")).collect();
    assert_eq!((code, out), (0, rows));
    let (code, out, err) = audit(&["--rows", "malformed"]);
    assert!(code == 2 && out.is_empty(), "{out}{err}");
    assert!(err.contains("no output has the cause `malformed`"), "{err}");
    assert!(err.contains("the causes are: malformed-tool_calls-json-commas, malformed-tool_calls-cut"), "{err}");
}

#[test]
fn markers_that_are_read_as_text_are_a_cause() {
    let log = r#"{"id": 1, "text": "Let me see.<cal>{\"name\": \"f\"}</cal><end>"}
{"id": 2, "text": "<CALL>{}</CALL><end>"}
{"id": 3, "text": "Write `<cal>`, <b>so</b>.<end>"}
{"id": 4, "text": "<CALL>{\"name\": 1}</CALL><end>"}
{"id": 5, "text": "Hi.<|turn|>"}
"#;
    let folder = folder_of(&[("t.json", TEMPLATE), ("log.jsonl", log)]);
    let run = |arguments: &[&str]| outcome_in(folder.path(), &[&["audit", "t.json", "log.jsonl"], arguments].concat());
    let (code, out, err) = run(&[]);
    insta::assert_snapshot!(format!("{code}\n{out}{err}"), @r#"
    0
    4 of 5 outputs have problems (80.00%).

    OUTPUTS   SHARE  CAUSE
          2  40.00%  near-marker-CALL
            `<CALL>` in the content looks like `<call>` of `tool_calls`, and is not
            line 2: "<CALL>{}</CALL><end>"
          1  20.00%  near-marker-cal
            `<cal>` in the content looks like `<call>` of `tool_calls`, and is not
            line 1: "Let me see.<cal>{\"name\": \"f\"}</cal><end>"
          1  20.00%  unknown-marker-turn
            `<|turn|>` in the content looks like a special token, and no field of the template knows it
            line 5: "Hi.<|turn|>"
    "#);
    let (_, rows, _) = run(&["--rows", "near-marker-CALL"]);
    assert_eq!(rows.lines().count(), 2, "{rows}");
    let (code, _, err) = run(&["--max", "near-marker=2"]);
    assert!(code == 1 && err.contains("near-marker: 3 of 5 outputs"), "{err}");
    let (_, json, _) = run(&["--format", "json"]);
    assert!(json.contains(r#""name": "near-marker-CALL""#) && json.contains(r#""field": "tool_calls""#), "{json}");
}

/// A chat template that writes what [`THINKS`] reads, but for its typo.
const CHAT: &str = "{% for m in messages %}[{{ m.role }}]{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>\
    {% endif %}{{ m.content or '' }}<end>{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}";

const THINKS: &str = r#"{"start_anchor": "[assistant]", "fields": {
    "reasoning_content": {"open": "<think>", "close": ["</thinking>", "<end>"]}, "content": {"close": "<end>"}}}"#;

#[test]
fn a_fault_of_the_template_is_a_cause_of_its_own_with_its_repair() {
    let log = r#"{"text": "<think>Hm.</think>Yes.<end>"}
{"text": "<think>So.</think>No.<end>"}
{"text": "<think>Hm, let me", "finish_reason": "length"}
{"text": "Yes.<end>"}
"#;
    let folder = folder_of(&[("t.json", THINKS), ("chat.jinja", CHAT), ("log.jsonl", log)]);
    let arguments = ["audit", "log.jsonl", "--template", "t.json", "--chat-template", "chat.jinja"];
    let (code, out, err) = outcome_in(folder.path(), &arguments);
    insta::assert_snapshot!(format!("{code}\n{out}{err}"), @r#"
    0
    3 of 4 outputs have problems (75.00%).

    OUTPUTS   SHARE  CAUSE
          2  50.00%  template
            the response template is at fault: with its repair they have no such problem; also: 2 unclosed of `reasoning_content`
            line 2: "<think>So.</think>No.<end>"
          1  25.00%  unclosed-reasoning_content-cut
            the output ends inside `reasoning_content`: what closes it never came; 1 at a token limit
            line 3: "<think>Hm, let me"

    To repair the template, change `fields.reasoning_content.close` from ["</thinking>", "<end>"] to ["</think>", "<end>"]: fixes 7, breaks none.
    `backchat prove --fix` writes it.
    "#);
    let (_, rows, _) = outcome_in(folder.path(), &[&arguments[..], &["--rows", "template"]].concat());
    assert_eq!(rows.lines().count(), 2, "{rows}");
    let (code, _, err) = outcome_in(folder.path(), &[&arguments[..], &["--report", "page.html"]].concat());
    assert_eq!(code, 0, "{err}");
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    for shown in ["class=\"ins\"", "fixes ", "data-f=\"reasoning_content\"", "its message", "--rows template"] {
        assert!(page.contains(shown) || shown == "class=\"ins\"" && page.contains("<ins>"), "{shown}: {page}");
    }
}

#[test]
fn a_row_of_another_log_is_shown_like_our_own() {
    let row = |name: &str| {
        let text = "<call>{,}</call><end>";
        match name {
            "openai" => format!(r#"{{"model": "m", "choices": [{{"text": "{text}", "finish_reason": "stop"}}]}}"#),
            "vllm" => format!(r#"{{"prompt": "<bot>", "outputs": [{{"text": "{text}"}}]}}"#),
            "keyed" => format!(r#"{{"answer": {{"raw": "{text}"}}}}"#),
            // The template as text.
            _ => format!(r#"{{"text": "{text}", "template": {}}}"#, Value::from(TEMPLATE)),
        }
    };
    for name in ["openai", "vllm", "keyed", "template"] {
        let folder = folder_of(&[("t.json", TEMPLATE), ("log.jsonl", &row(name))]);
        let key: &[&str] = if name == "keyed" { &["--text-key", "answer.raw"] } else { &[] };
        let more = ["--template", "t.json", "--fixtures", "found", "--report", "page.html"];
        let (code, out, err) = outcome_in(folder.path(), &[&["audit", "log.jsonl"], key, &more].concat());
        assert_eq!(code, 0, "{name}: {err}");
        assert!(out.contains(r#"line 1: "<call>{,}</call><end>""#), "{name}: {out}");
        assert!(err.contains("wrote 1 fixture into found"), "{name}: {err}");
        let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
        assert!(page.contains("its message"), "{name}: {page}");
        let (code, out, err) = outcome_in(folder.path(), &["check", "found"]);
        assert_eq!(code, 0, "{name}: {out}{err}");
        let (_, rows, _) = outcome_in(
            folder.path(),
            &[&["audit", "log.jsonl"], key, &more[..2], &["--rows", "malformed-tool_calls"]].concat(),
        );
        assert_eq!(rows.trim_end(), row(name), "as it is in the log");
    }
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
fn no_output_passes_no_gate() {
    let folder = folder_of(&[("t.json", TEMPLATE), ("empty.jsonl", ""), ("blank.jsonl", "\u{feff}\n\n")]);
    for log in ["empty.jsonl", "blank.jsonl"] {
        let run = |more: &[&str]| outcome_in(folder.path(), &[&["audit", "t.json", log], more].concat());
        let (code, out, err) = run(&[]);
        assert_eq!((code, out.as_str()), (0, "0 of 0 outputs have problems (0.00%).\n"), "{err}");
        let (code, out, err) = run(&["--max", "any=0%"]);
        assert!(code == 2 && out.is_empty() && err.contains("error[audit-no-outputs]"), "{out}{err}");
    }
}

#[test]
fn counts_do_not_depend_on_threads() {
    const ROWS: usize = 3_000;
    let log: String = (0..ROWS)
        .map(|row| format!("{{\"text\": \"Hi <|spec{}|>\", \"model\": \"m{}\"}}\n", row % 1_500, row % 300))
        .collect();
    // A byte order mark is not a part of the first row.
    let folder = folder_of(&[("t.json", TEMPLATE), ("log.jsonl", &format!("\u{feff}{log}"))]);
    let run = || outcome_in(folder.path(), &["audit", "t.json", "log.jsonl", "--format", "json"]);
    let (code, out, err) = run();
    let value = json::read(&out).unwrap();
    let number = |key: &str| integer(value.get(key).unwrap());
    assert_eq!((code, number("outputs"), number("not_read"), number("with_problems")), (0, 3_000, 0, 3_000));
    // The first 256 models and 1,000 causes of the log have their own counts.
    let groups = value.get("groups").and_then(Value::as_object).unwrap();
    assert_eq!((groups.len(), groups.get("others").map(integer)), (257, Some(440)));
    assert!((0..256).all(|model| groups.get(&format!("m{model}")).map(integer) == Some(10)), "{groups:?}");
    let causes = value.get("causes").and_then(Value::as_list).unwrap();
    assert_eq!(causes.len(), 1_000);
    assert!(causes.iter().all(|cause| cause.get("outputs").map(integer) == Some(2)), "{causes:?}");
    assert!(err.contains("note: 1000 outputs have causes beyond the first thousand"), "{err}");
    assert_eq!(run(), (code, out, err));
}

#[test]
fn findings_become_fixtures() {
    let folder = folder_of(&[("t.json", TEMPLATE), ("log.jsonl", LOG)]);
    let write = || outcome_in(folder.path(), &["audit", "log.jsonl", "--template", "t.json", "--fixtures", "found"]);
    let (_, _, err) = write();
    assert!(err.contains("wrote 2 fixtures into found"), "{err}");
    let text = fs::read_to_string(folder.path().join("found/malformed-tool_calls-json-commas.fixture")).unwrap();
    assert!(text.contains("template: ../t.json") && text.ends_with("=== problems\nmalformed tool_calls\n"), "{text}");
    let (code, out, err) = outcome_in(folder.path(), &["check", "found"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(write().2.contains("wrote 0 fixtures into found, kept 2 that exist"));
}

#[test]
fn a_template_from_standard_input_is_written_beside_the_fixtures() {
    let folder = folder_of(&[("log.jsonl", LOG)]);
    let arguments = ["audit", "-", "log.jsonl", "--fixtures", "found"];
    let (code, out, err) = outcome(&backchat_in(folder.path(), &arguments, TEMPLATE));
    assert_eq!(code, 0, "{out}{err}");
    let (code, out, err) = outcome_in(folder.path(), &["check", "found"]);
    assert_eq!(code, 0, "{out}{err}");
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
    fs::write(folder.path().join("log.jsonl"), "Hi\n").unwrap();
    let (code, _, err) = outcome_in(folder.path(), &["audit", "log.jsonl"]);
    assert!(code == 2 && err.contains("no row can be read; line 1, column 1: not valid JSON"), "{err}");
}
