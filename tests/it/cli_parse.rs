//! `backchat parse` as its users run it.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use crate::support::{backchat_in, folder_of, outcome_in, root};

const TEMPLATE: &str = r#"{
  "defaults": {"role": "assistant"},
  "start_anchor": "<bot>",
  "fields": {
    "thinking": {"open": "<think>", "close": "</think>"},
    "tool_calls": {"open": "<call>", "close": "</call>", "repeats": true, "content": "json"},
    "content": {}
  }
}"#;

/// A file for one test.
fn file(name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).unwrap();
    path
}

fn template(name: &str) -> String {
    file(name, TEMPLATE).to_str().unwrap().to_owned()
}

/// Runs `backchat parse` with these arguments and this standard input.
fn parse(arguments: &[&str], input: impl AsRef<[u8]>) -> Output {
    backchat_in(root(), &[&["parse"], arguments].concat(), input)
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

/// The output, without the directory of the test's files.
fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap().replace(env!("CARGO_TARGET_TMPDIR"), "TMP")
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

/// The answers to rows that carry their template or use the default one.
fn rows(input: impl AsRef<[u8]>, name: &str, arguments: &[&str]) -> (Vec<String>, Output) {
    let template = template(name);
    let output = parse(&[&[template.as_str(), "--jsonl", "-"], arguments].concat(), input);
    (stdout(&output).lines().map(str::to_owned).collect(), output)
}

#[test]
fn one_output_gives_one_line_of_json() {
    let template = template("one.json");
    let output = parse(&[&template], "<think>Hm.</think>Hello <call>{\"name\": \"f\", \"x\": 1.50}</call>");
    assert_eq!(code(&output), 0);
    assert_eq!(
        stdout(&output),
        "{\"role\": \"assistant\", \"thinking\": \"Hm.\", \"content\": \"Hello\", \"tool_calls\": [{\"name\": \"f\", \"x\": 1.50}]}\n"
    );
    assert!(stderr(&output).starts_with("note: without --prefix the output is read as if"), "{}", stderr(&output));
}

#[test]
fn the_prompt_may_open_the_first_region() {
    let template = template("prompt.json");
    let prompt = file("prompt.txt", "<user>Hi<bot><think>\n");
    let output = parse(&[&template, "-", "--prefix", prompt.to_str().unwrap()], "Hm.</think>Hello");
    assert_eq!(stdout(&output), "{\"role\": \"assistant\", \"thinking\": \"Hm.\", \"content\": \"Hello\"}\n");
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
    let quiet = parse(&[&template, "-q"], "Hm.</think>Hello");
    assert_eq!(stdout(&quiet), "{\"role\": \"assistant\", \"content\": \"Hm.</think>Hello\"}\n");
    assert_eq!(stderr(&quiet), "");
}

#[test]
fn events_are_grouped_by_feed() {
    let template = template("events.json");
    let output = parse(&[&template, "-q", "--events", "--chunks", "5"], "<think>Hm.</think>");
    let answer = concat!(
        r#"{"initial_events": [], "feeds": [[], [{"type": "region_open", "field": "thinking"}, "#,
        r#"{"type": "region_chunk", "field": "thinking", "text": "Hm.", "dirty": false}], [], "#,
        r#"[{"type": "region_close", "field": "thinking", "value": "Hm."}]], "final_events": [], "#,
        r#""message": {"role": "assistant", "thinking": "Hm."}}"#,
        "\n",
    );
    assert_eq!(stdout(&output), answer);
}

#[test]
fn an_output_that_does_not_fit_is_told_and_exits_with_1() {
    let template = template("malformed.json");
    let output = parse(&[&template, "-q"], "a<call>{oops}</call>b");
    assert_eq!((code(&output), stdout(&output)), (1, "{\"role\": \"assistant\", \"content\": \"b\"}\n"));
    let output = parse(&[&template], "a<call>{oops}</call>b");
    insta::assert_snapshot!(stderr(&output), @r#"
    note: without --prefix the output is read as if the prompt ended with the start anchor; if the prompt goes on after it, for example to open reasoning, pass it with --prefix FILE, or an empty file if there is none
    warning[malformed-region]: a region of `tool_calls` could not be parsed: not JSON: expected a key in double quotes, at "oops}"
     --> <stdin>:1:8
      |
    1 | a<call>{oops}</call>b
      |        ^^^^^^
      |
      = help: its text, "{oops}", is not in the message

    warning[doubtful-answer]: `content` occurred more than once: the last region replaced an earlier value, "a"
    --> <stdin>
    "#);
    let reference = parse(&[&template, "--mode", "reference"], "a<call>{oops}</call>b");
    assert_eq!((code(&reference), stdout(&reference)), (1, ""));
    insta::assert_snapshot!(stderr(&reference), @r#"
    note: without --prefix the output is read as if the prompt ended with the start anchor; if the prompt goes on after it, for example to open reasoning, pass it with --prefix FILE, or an empty file if there is none
    error[parse-failed]: at feed: field `tool_calls`: not JSON: expected a key in double quotes, at "oops}"
    --> <stdin>
     = help: transformers raises an error here; stable mode reports the problem and continues
    "#);
    let required = file("required.json", TEMPLATE.replace("\"</think>\"", "\"</think>\", \"optional\": false"));
    let output = parse(&[required.to_str().unwrap()], "Hello");
    assert_eq!(code(&output), 1);
    insta::assert_snapshot!(stderr(&output), @r#"
    note: without --prefix the output is read as if the prompt ended with the start anchor; if the prompt goes on after it, for example to open reasoning, pass it with --prefix FILE, or an empty file if there is none
    warning[missing-field]: the required field `thinking` is missing from the output
    --> <stdin>
     = help: compare the output with the delimiter that opens the field; set `"optional": true` if the field may be absent
    "#);
}

#[test]
fn what_cannot_run_is_told_and_exits_with_2() {
    let good = template("good.json");
    let broken = file("broken.json", "{\n  \"start_anchor\": \"a\",\n  \"fields\": {\"x\": {\"opens\": \"<x>\"");
    let binary = file("binary.txt", b"ok\nbad \xff\xfe");
    let tools = |name: &str, text: &str| file(name, text).to_str().unwrap().to_owned();
    let cases: &[(&[&str], &str)] = &[
        (&["no-such.json"], "no-such.json"),
        (&[broken.to_str().unwrap()], "not valid JSON"),
        (&[&good, binary.to_str().unwrap()], "binary.txt:2:5"),
        (&[&good, "no-such.txt"], "no-such.txt"),
        (&["-", "-"], "standard input is named more than once"),
        (&[&good, "--jsonl", "no-such.jsonl"], "no-such.jsonl"),
        (&[&good, "--tools", broken.to_str().unwrap()], "not valid JSON"),
        (&[&good, "--tools", &tools("unnamed.json", "[{\"nam\": 3}]")], "unnamed.json:1:2"),
        (&[&good, "--tools", &tools("numbered.json", "[{\"name\": \"f\"}, 4]")], "a tool is an object, not a number"),
        (
            &[
                &good,
                "--tools",
                &tools("schema.json", "[{\"function\":\n{\"name\": \"f\", \"parameters\": \"city\"}}]"),
            ],
            "schema.json:2:29",
        ),
        (&[&good, "--chunks", "0"], "use `whole`, a number of code points from 1, or `random:SEED`"),
        (&[], "`backchat parse` needs <TEMPLATE>. The usual calls:"),
    ];
    for (arguments, said) in cases {
        let output = parse(arguments, "");
        assert_eq!((code(&output), stdout(&output)), (2, ""), "{arguments:?}");
        assert!(stderr(&output).contains(said), "{arguments:?} said: {}", stderr(&output));
    }
}

#[test]
fn rows_are_answered_in_order() {
    let input: String =
        (0..5000).map(|id| format!("{{\"id\": {id}, \"text\": \"<think>{id}</think>{id}\"}}\n")).collect();
    let (answers, output) = rows(input, "order.json", &[]);
    assert_eq!((code(&output), answers.len()), (0, 5000));
    for (id, answer) in answers.iter().enumerate() {
        let want = format!(
            "{{\"id\": {id}, \"message\": {{\"role\": \"assistant\", \"thinking\": \"{id}\", \"content\": \"{id}\"}}}}"
        );
        assert_eq!(*answer, want);
    }
}

#[test]
fn every_row_gets_an_answer() {
    let own = r#"{"start_anchor": "a", "fields": {"x": {"optional": false, "open": "<x>", "close": "</x>", "content": "json"}}}"#;
    let input = [
        r#"{"id": "a", "text": "hi", "template": null}"#.to_owned(),
        r#"{"id": "b", "text": "hi", "template": {"start_anchor": "a", "fields": {}}}"#.to_owned(),
        format!(r#"{{"id": "c", "text": "<x>[NaN, 1e999, 12345678901234567890123, \"\\ud800\"]</x>", "template": {own}}}"#),
        format!(r#"{{"id": "d", "text": "<x>1", "prefix": null, "template": {own}}}"#),
        format!(r#"{{"id": ["e"], "text": "", "template": {own}}}"#),
        r#"{"id": 6, "text": "ab", "chunks": [1]}"#.to_owned(),
        r#"{"text": "no id"}"#.to_owned(),
        String::new(),
        "not json".to_owned(),
        r#"{"id": 9, "text": "<call>{\"function\": {\"name\": \"f\", \"arguments\": {\"n\": \"5\"}}}</call>", "tools": [{"name": "f", "parameters": {"properties": {"n": {"type": "integer"}}}}]}"#.to_owned(),
        r#"{"id": 10, "text": "é<call>", "chunks": [1, 0, 6], "tools": 5}"#.to_owned(),
    ];
    let mut bytes = input.join("\n").into_bytes();
    bytes.extend_from_slice(b"\n{\"id\": 11, \"text\": \"\xff\"}\n{\"id\": 12, \"text\": \"cut");
    let (answers, output) = rows(bytes, "answers.json", &[]);
    assert_eq!(code(&output), 0);
    insta::assert_snapshot!(answers.join("\n"), @r#"
    {"id": "a", "error": {"stage": "load", "message": "$: a response template must be an object, not null"}}
    {"id": "b", "error": {"stage": "load", "message": "fields: `fields` is empty"}}
    {"id": "c", "message": {"x": [null, 1e999, 12345678901234567890123, "�"]}}
    {"id": "d", "error": {"stage": "prefix", "message": "`prefix` must be a string, not null; omit it if there is none"}}
    {"id": ["e"], "message": {}, "missing": ["x"], "problems": [{"kind": "missing-field", "span": [0, 0], "field": "x"}]}
    {"id": 6, "error": {"stage": "load", "message": "`chunks` add up to 1 code points, and the text has 2"}}
    {"id": null, "message": {"role": "assistant", "content": "no id"}}
    {"id": null, "error": {"stage": "load", "message": "line 9, column 1: not valid JSON: expected a value"}}
    {"id": 9, "message": {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {"n": 5}}}]}}
    {"id": 10, "error": {"stage": "prefix", "message": "the tools must be a list, not a number"}}
    {"id": null, "error": {"stage": "load", "message": "line 12 is not UTF-8 at its byte 21"}}
    {"id": null, "error": {"stage": "load", "message": "line 13, column 20: not valid JSON: the string is never closed"}}
    "#);
    assert_eq!(stderr(&output), "note: 8 of 12 rows failed\nnote: of 12 rows, 1 lack required fields\n");
}

#[test]
fn reference_mode_fails_where_transformers_raises() {
    let input = "{\"id\": 1, \"text\": \"a<call>{oops}</call>b\", \"chunks\": [1, 20]}\n{\"id\": 2, \"text\": \"a<call>{oops}\"}";
    let (answers, output) = rows(input, "reference.json", &["--mode", "reference", "--events"]);
    assert_eq!(code(&output), 0);
    insta::assert_snapshot!(answers.join("\n"), @r#"
    {"id": 1, "error": {"stage": "feed", "message": "field `tool_calls`: not JSON: expected a key in double quotes, at \"oops}\""}, "initial_events": [], "feeds": [[{"type": "region_open", "field": "content"}, {"type": "region_chunk", "field": "content", "text": "a", "dirty": false}]]}
    {"id": 2, "error": {"stage": "finalize", "message": "field `tool_calls`: not JSON: expected a key in double quotes, at \"oops}\""}, "initial_events": [], "feeds": [[{"type": "region_open", "field": "content"}, {"type": "region_chunk", "field": "content", "text": "a", "dirty": false}, {"type": "region_close", "field": "content", "value": "a"}, {"type": "region_open", "field": "tool_calls"}, {"type": "region_chunk", "field": "tool_calls", "text": "{oops}", "dirty": true}]]}
    "#);
}

/// Bad input gives one clear message or a bounded result, never a crash, a hang or silence.
#[test]
fn hostile_input_is_bounded() {
    let deep = 100_000;
    let row = |id: u32, template: &str, text: &str| {
        format!("{{\"id\": {id}, \"template\": {template}, \"text\": \"{text}\"}}")
    };
    let with = |field: &str| format!(r#"{{"start_anchor": "a", "fields": {{"x": {field}}}}}"#);
    let json = with(r#"{"open": "<x>", "close": "</x>", "content": "json"}"#);
    let input = [
        row(1, &json, &format!("<x>{}</x>", "[".repeat(deep))),
        "[".repeat(deep),
        row(3, &with(r#"{"open_pattern": "(a+)+$"}"#), &format!("{}b", "a".repeat(5000))),
        row(4, &with(r#"{"open_pattern": "(unclosed"}"#), "abc"),
        row(5, &with(r#"{"open_pattern": "", "close_pattern": "", "repeats": true}"#), "abc"),
        row(6, &with(r#"{"open_pattern": "(?=b)", "close_pattern": "(?=b)", "repeats": true}"#), "abc"),
    ];
    let (answers, output) = rows(input.join("\n"), "hostile.json", &[]);
    assert_eq!((code(&output), answers.len()), (0, 6));
    let short: Vec<_> = answers
        .iter()
        .map(|answer| answer.replace(&"[".repeat(deep), "[…").chars().take(200).collect::<String>())
        .collect();
    insta::assert_snapshot!(short.join("\n"), @r#"
    {"id": 1, "message": {}, "malformed": [{"field": "x", "text": "[…", "reason": "the JSON nests more than 990 levels deep"}], "problems": [{"kind": "malformed", "span": [3, 100003], "field": "x", "regio
    {"id": null, "error": {"stage": "load", "message": "line 2, column 991: not valid JSON: lists and objects nest more than 990 deep here"}}
    {"id": 3, "message": {}}
    {"id": 4, "error": {"stage": "load", "message": "fields.x.open_pattern: `open_pattern` is not a valid pattern: a group is not closed: `)` is missing"}}
    {"id": 5, "message": {"x": ["", "", ""]}, "problems": [{"kind": "text-outside", "span": [1, 2]}, {"kind": "text-outside", "span": [2, 3]}], "notes": ["text-outside: no field takes the text outside all
    {"id": 6, "message": {"x": [""]}, "problems": [{"kind": "text-outside", "span": [1, 3]}], "notes": ["text-outside: no field takes the text outside all regions, \"bc\""]}
    "#);
}

#[test]
fn a_line_of_a_hundred_megabytes_is_answered() {
    let text = "0123456789".repeat(10_000_000);
    let (answers, output) = rows(format!("{{\"id\": 1, \"text\": \"<think>{text}</think>\"}}"), "long.json", &[]);
    assert_eq!((code(&output), answers.len()), (0, 1));
    assert_eq!(answers[0].len(), text.len() + r#"{"id": 1, "message": {"role": "assistant", "thinking": ""}}"#.len());
}

#[test]
fn a_closed_pipe_is_not_a_failure() {
    let template = template("pipe.json");
    let mut child = Command::new(env!("CARGO_BIN_EXE_backchat"))
        .args(["parse", &template, "--jsonl", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    let row = format!("{{\"id\": 1, \"text\": \"{}\"}}\n", "a".repeat(1000));
    while stdin.write_all(row.as_bytes()).is_ok() {}
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
}

#[test]
fn colors_only_on_request() {
    let template = template("color.json");
    for (arguments, colored) in [(&["--color", "always"][..], true), (&[], false), (&["--color", "never"], false)] {
        let output = parse(&[&[template.as_str()], arguments].concat(), "<call>{oops}</call>");
        assert_eq!(stderr(&output).contains('\u{1b}'), colored, "{arguments:?}");
        assert!(!stdout(&output).contains('\u{1b}'), "a pipe gets plain JSON");
    }
}

#[test]
fn doubts_are_reported_with_the_answer() {
    let path = template("doubtful.json");
    let input = [
        r#"{"id": 1, "text": "<call>{oops}</call>", "source": {"line": 3}, "message": "not the answer's"}"#.to_owned(),
        r#"{"id": 2, "text": "Hi", "prefix": "<user>"}"#.to_owned(),
        r#"{"id": 3, "text": "hm</think>Hi", "prefix": "<bot>"}"#.to_owned(),
        format!(r#"{{"id": 4, "text": "Hi<call>{{}}</call>\n", "template": {path:?}}}"#),
        r#"{"id": 5, "text": "Hi", "template": "no-such.json"}"#.to_owned(),
        r#"{"id": 6, "text": "Hi", "prefix": ""}"#.to_owned(),
    ];
    let (answers, output) = rows(input.join("\n"), "doubtful.json", &[]);
    assert_eq!(code(&output), 0);
    insta::assert_snapshot!(answers.join("\n"), @r#"
    {"id": 1, "source": {"line": 3}, "message": {"role": "assistant"}, "malformed": [{"field": "tool_calls", "text": "{oops}", "reason": "not JSON: expected a key in double quotes, at \"oops}\""}], "problems": [{"kind": "malformed", "span": [6, 12], "field": "tool_calls", "region": 0, "reason": "not JSON: expected a key in double quotes, at \"oops}\""}]}
    {"id": 2, "message": {"role": "assistant", "content": "<user>Hi"}, "problems": [{"kind": "no-anchor", "span": [0, 0]}], "notes": ["the prefix does not contain the start anchor, so all of it was read as part of the message"]}
    {"id": 3, "message": {"role": "assistant", "content": "hm</think>Hi"}, "problems": [{"kind": "stray-marker", "span": [2, 10], "field": "thinking", "recoverable": ["missing-reasoning-opener"]}], "notes": ["`thinking` is closed by \"</think>\" where it is not open; the marker stayed in the text (does the prefix open it?)"]}
    {"id": 4, "message": {"role": "assistant", "tool_calls": [{}]}, "problems": [{"kind": "value-replaced", "span": [0, 2], "field": "content"}], "notes": ["`content` occurred more than once: the last region replaced an earlier value, \"Hi\""]}
    {"id": 5, "error": {"stage": "load", "message": "no-such.json: cannot read the file: No such file or directory (os error 2)"}}
    {"id": 6, "message": {"role": "assistant", "content": "Hi"}}
    "#);
    assert_eq!(
        stderr(&output),
        "note: 1 of 6 rows failed\nnote: of 6 rows, 1 have malformed regions, 1 have other problems, 3 have notes\n"
    );
    for (number, exit) in [(0, 1), (1, 1), (2, 1), (3, 1), (5, 0)] {
        let (_, output) = rows(&input[number], "doubtful.json", &["--strict"]);
        assert_eq!(code(&output), exit, "{}", input[number]);
    }
}

#[test]
fn strict_fails_on_any_doubt_about_one_output() {
    let path = template("strict.json");
    for (text, plain, strict) in [("Hi", 0, 0), ("hm</think>Hi", 0, 1), ("<call>{oops}</call>", 1, 1)] {
        assert_eq!(code(&parse(&[&path], text)), plain, "{text}");
        assert_eq!(code(&parse(&[&path, "--strict"], text)), strict, "{text}");
    }
    // A marker that content leaves out is a problem as well, although no note mentions it.
    let close = r#""content": {"close_pattern": "</call>|<end>""#;
    let swallowing = TEMPLATE.replace(r#""content": {"#, close);
    assert_ne!(swallowing, TEMPLATE);
    let output = parse(&[file("swallowing.json", &swallowing).to_str().unwrap(), "--strict"], "Hi</call><end>");
    assert_eq!((code(&output), stdout(&output)), (1, "{\"role\": \"assistant\", \"content\": \"Hi\"}\n"));
    assert!(stderr(&output).contains("warning[stray-marker]: the marker closes nothing that is open"));
}

#[test]
fn a_closing_marker_in_a_json_string_ends_the_region_or_is_text() {
    let path = template("closers.json");
    let text = r#"<call>{"t": "\"</call>"}</call>"#;
    for mode in ["stable", "reference"] {
        for chunks in ["whole", "1", "random:3"] {
            let options = [path.as_str(), "-q", "--mode", mode, "--chunks", chunks, "--closers-in-strings", "text"];
            let output = parse(&options, text);
            assert_eq!(
                stdout(&output),
                "{\"role\": \"assistant\", \"tool_calls\": [{\"t\": \"\\\"</call>\"}]}\n",
                "{mode} {chunks}"
            );
        }
    }
    assert_eq!(code(&parse(&[&path, "-q"], text)), 1);
}

#[test]
fn options_and_rows_select_what_stays_in_the_content() {
    let path = template("reading_less.json");
    let text = "<think>Hm.</think>Hi";
    for (options, wanted) in [
        (["--reasoning", "kept"].as_slice(), r#"{"role": "assistant", "thinking": "Hm.", "content": "Hi"}"#),
        (&["--reasoning", "in-content"], r#"{"role": "assistant", "content": "<think>Hm.</think>Hi"}"#),
        (&["--reasoning", "dropped"], r#"{"role": "assistant", "content": "Hi"}"#),
    ] {
        let output = parse(&[&[path.as_str(), "-q"], options].concat(), text);
        assert_eq!(stdout(&output), format!("{wanted}\n"), "{options:?}");
    }
    let row = r#"{"id": 1, "text": "<think>Hm.</think>Hi", "prefix": "", "reasoning": "dropped", "tools_off": true}"#;
    let (answer, _) = rows(row, "reading_less.json", &[]);
    assert!(answer[0].contains(r#""message": {"role": "assistant", "content": "Hi"}"#), "{}", answer[0]);
}

/// Runs `backchat parse` with this much memory, in addition to the 12 MiB that it may need for any input.
#[cfg(target_os = "linux")]
fn parse_within(bytes: u64, arguments: &[&str]) -> Output {
    let script = format!("ulimit -d {}; exec \"$@\"", (bytes + (12 << 20)) >> 10);
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_backchat"), "parse", "-q"]).args(arguments);
    command.stdin(Stdio::null()).output().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn memory_is_bounded_by_the_text() {
    let template = template("memory.json");
    // The text, and twice as much to parse it; with events 20 times as much, which is too little to keep them: that takes 550
    // bytes per byte.
    for (size, budget, arguments) in
        [(12_u64 << 20, 3, &["--chunks", "5"][..]), (1 << 20, 20, &["--chunks", "1", "--events"])]
    {
        let text = "The quick brown fox. ".repeat(usize::try_from(size).unwrap() / 21);
        let path = file("memory.txt", &text);
        let output = parse_within(budget * size, &[&[template.as_str(), path.to_str().unwrap()], arguments].concat());
        assert_eq!(code(&output), 0, "{arguments:?}: {}", stderr(&output));
        assert!(output.stdout.len() > text.len(), "{arguments:?}");
    }
}

#[test]
fn one_limit_holds_for_every_file() {
    let template = template("limit.json");
    let hole = |name: &str| {
        let path = file(name, "a");
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(40 << 20).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let small = |name: &str, text: &str| file(name, text).to_str().unwrap().to_owned();
    let (large, output, messages) = (hole("large.txt"), small("small.txt", "a"), small("messages.json", "[]"));
    for arguments in [
        &["parse", &large, &output][..],
        &["parse", &template, &output, "--prefix", &large],
        &["parse", &template, &output, "--tools", &large],
        &["render", &large, "--messages", &messages],
        &["render", &output, "--messages", &large],
        &["derive", &large],
        &["lint", &large],
        &["lint", &template, "--config", &large],
    ] {
        let ran = Command::new(env!("CARGO_BIN_EXE_backchat")).args(arguments).stdin(Stdio::null()).output().unwrap();
        let printed = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
        assert_eq!(ran.status.code(), Some(2), "{arguments:?}: {printed}");
        assert!(
            printed.contains("larger than 32 MiB") || printed.contains("larger than 1 MiB"),
            "{arguments:?}: {printed}"
        );
    }
}

/// The ids that each event came from: those of a character share it, and a delimiter may be one id.
#[test]
fn events_of_ids_have_their_range_of_ids() {
    let tokenizer = r#"{"decoder": {"type": "ByteLevel"}, "model": {"vocab": {"a": 0, "Ã": 1, "©": 2, "</": 3}},
        "added_tokens": [{"id": 9, "content": "<bot>"}, {"id": 10, "content": "<think>"}, {"id": 11, "content": "</think>"}]}"#;
    let tokenizer = file("event-ids-tokenizer.json", tokenizer);
    let row = r#"{"id": 1, "prompt_ids": [9, 10, 1], "token_ids": [2, 0, 3, 11, 0, 1, 2, 1]}"#;
    let asked = ["--tokenizer", tokenizer.to_str().unwrap(), "--events", "--spans"];
    // The last character stays incomplete.
    let singly = vec![("é", 0, 1), ("a", 1, 2), ("</", 2, 3), ("a", 4, 5), ("é", 5, 7), ("\u{fffd}", 7, 8)];
    for (cut, chunks) in [("whole", vec![("éa</", 0, 3), ("aé", 4, 7), ("\u{fffd}", 7, 8)]), ("1", singly)] {
        let (lines, output) = rows(row, "event-ids.json", &[&asked[..], &["--chunks", cut]].concat());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let answer: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
        let all = ["initial_events", "feeds", "final_events"].map(|key| answer[key].as_array().unwrap().clone());
        let [initial, feeds, last] = all;
        let feeds = feeds.iter().flat_map(|feed| feed.as_array().unwrap().clone());
        let events: Vec<serde_json::Value> = initial.into_iter().chain(feeds).chain(last).collect();
        let told = |kind: &str| -> Vec<(String, u64, u64)> {
            let of_kind = events.iter().filter(|event| event["type"] == kind);
            let place = |event: &serde_json::Value| [0, 1].map(|end| event["ids"][end].as_u64().unwrap());
            of_kind
                .map(|event| (event["text"].as_str().unwrap_or("").to_owned(), place(event)[0], place(event)[1]))
                .collect()
        };
        let chunks: Vec<_> = chunks.iter().map(|(text, first, end)| ((*text).to_owned(), *first, *end)).collect();
        assert_eq!(told("region_chunk"), chunks, "{lines:?}");
        // The prompt wrote the opener, and one id the closer.
        assert_eq!(told("region_open"), [(String::new(), 0, 0), (String::new(), 4, 4)]);
        assert_eq!(told("region_close")[0], (String::new(), 3, 4));
    }
}

/// What may explain an answer that is read otherwise than the model meant it, for `parse` and for the table of `replay`.
#[test]
fn near_markers_and_regions_without_their_closer_are_explained() {
    let template = r#"{"start_anchor": "<bot>", "fields": {
        "thinking": {"open": "<think>", "close": "</think>"},
        "tool_calls": {"open": "<tool_call>", "close": "</tool_call>", "content": "json", "repeats": true},
        "content": {"close": "<end>"}}}"#;
    let folder = folder_of(&[("t.json", template)]);
    for (output, said) in [
        ("<think>Hm.</thinking>Hi<end>", "its text has `</thinking>`, and the template expects `</think>`"),
        ("<think>Hm. Hi<end>", "the text ends with `<end>`, so the output may be complete"),
        ("<think>Hm, so", "the output was cut off"),
        (
            "<toolcall>{}</toolcall><end>",
            "`<toolcall>` in `content` looks like `<tool_call>`, which opens `tool_calls`",
        ),
    ] {
        std::fs::write(folder.path().join("out.txt"), output).unwrap();
        let (code, _, err) = outcome_in(folder.path(), &["parse", "t.json", "out.txt", "--prefix", "/dev/null"]);
        assert!(code == 0 && err.contains(said), "{output}: {err}");
        let (_, table, _) = outcome_in(folder.path(), &["replay", "t.json", "out.txt", "--prefix", "/dev/null"]);
        assert!(table.contains(said), "{output}: {table}");
    }
    std::fs::write(folder.path().join("out.txt"), "Hi <b>there</b>.<end>").unwrap();
    let (_, _, err) = outcome_in(folder.path(), &["parse", "t.json", "out.txt", "--prefix", "/dev/null", "--strict"]);
    assert_eq!(err, "");
}
