//! `backchat render` as its users run it.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use backchat::json::{self, Value};

use crate::support::{backchat_in, folder_of, outcome, outcome_in};

const TEMPLATE: &str = "\
{%- for m in messages -%}
<{{ m.role }}>{% if m.role == 'assistant' %}{% generation %}{{ m.reasoning_content }}{{ m.content }}{% endgeneration %}
{%- else %}{{ m.content }}{% endif %}</{{ m.role }}>
{%- endfor -%}
{%- if tools %}[{{ tools | length }}]{% endif -%}
{%- if add_generation_prompt %}<assistant>{% endif -%}
{%- if mood is defined %}{{ mood }}{{ mood is string }}{% endif -%}
{{- bos_token }}
";

const MESSAGES: &str =
    r#"[{"role": "user", "content": "Hé"}, {"role": "assistant", "thinking": "hm ", "content": "Yo"}]"#;

/// One tool in the format of a request.
const TOOLS: &str = r#"[{"type": "function", "function": {"name": "now"}}]"#;

/// Runs `backchat render` in a folder.
fn render(folder: &Path, arguments: &[&str], input: &str) -> Output {
    backchat_in(folder, &[&["render"], arguments].concat(), input)
}

#[test]
fn messages_are_rendered_byte_for_byte() {
    let folder = folder_of(&[("t.jinja", TEMPLATE), ("m.json", MESSAGES), ("tools.json", TOOLS)]);
    let plain = "<user>Hé</user><assistant>Yo</assistant>";
    let cases: [(&[&str], &str); 7] = [
        (&[], plain),
        (&["--add-generation-prompt"], "<user>Hé</user><assistant>Yo</assistant><assistant>"),
        (&["--tools", "tools.json"], "<user>Hé</user><assistant>Yo</assistant>[1]"),
        (&["--set", "mood=calm"], "<user>Hé</user><assistant>Yo</assistant>calmTrue"),
        (&["--set", "mood=[1, null]"], "<user>Hé</user><assistant>Yo</assistant>[1, None]False"),
        (&["--aliases"], "<user>Hé</user><assistant>hm Yo</assistant>"),
        (&["--set", "bos_token=<s>", "--color", "never"], "<user>Hé</user><assistant>Yo</assistant><s>"),
    ];
    for (more, text) in cases {
        let arguments = [&["t.jinja", "--messages", "m.json"], more].concat();
        let output = render(folder.path(), &arguments, "");
        assert_eq!(outcome(&output), (0, text.to_owned(), String::new()), "{more:?}");
    }
    let output = render(folder.path(), &["t.jinja", "--messages", "-"], r#"{"messages": [], "mood": 1}"#);
    assert_eq!(outcome(&output), (0, "1False".to_owned(), String::new()));
}

#[test]
fn a_config_sets_special_tokens_and_the_template_is_announced() {
    let config = r#"{"bos_token": "<s>", "chat_template": [
        {"name": "default", "template": "D{{ bos_token }}"}, {"name": "tool_use", "template": "T{{ bos_token }}"}]}"#;
    let folder = folder_of(&[("tokenizer_config.json", config), ("m.json", "[]"), ("tools.json", TOOLS)]);
    let note = |name, other| {
        format!("note: rendering with the template `{name}`; `--template-name` selects another: {other}\n")
    };
    let cases: [(&[&str], &str, String); 4] = [
        (&[], "D<s>", note("default", "tool_use")),
        (&["--tools", "tools.json"], "T<s>", note("tool_use", "default")),
        (&["--template-name", "tool_use"], "T<s>", String::new()),
        (&["-q", "--set", "bos_token=!"], "D!", String::new()),
    ];
    for (more, text, said) in cases {
        let arguments = [&[".", "--messages", "m.json"], more].concat();
        assert_eq!(outcome(&render(folder.path(), &arguments, "")), (0, text.to_owned(), said), "{more:?}");
    }
}

#[test]
fn rows_are_answered_in_order_each_with_its_own_template() {
    let folder = folder_of(&[
        ("t.jinja", TEMPLATE),
        ("raise.jinja", "\n{{ raise_exception('No!') }}"),
        ("now.jinja", "{{ strftime_now('%d %b') }}"),
    ]);
    let rows = format!(
        r#"{{"id": 1, "template": "t.jinja", "context": {{"messages": {MESSAGES}}}}}
{{"id": [2], "template": "raise.jinja", "context": {{"messages": []}}, "extra": 1}}

{{"template": "now.jinja", "context": {{}}, "now": "2026-02-03T00:00:00", "id": "c"}}
{{"id": 4, "template": "none.jinja", "context": {{}}}}
{{"id": 5, "template": "t.jinja"}}
{{"id": 6, "context": {{}}}}
{{"id": 7, "template": "now.jinja", "context": {{}}, "now": "soon"}}
{{"id": 8, "template": "-", "context": {{}}}}
not JSON
[1]
"#
    );
    let many: String = (0..2000)
        .map(|id| format!("{{\"id\": {id}, \"template\": \"t.jinja\", \"context\": {{\"mood\": {id}}}}}\n"))
        .collect();
    let (code, out, said) = outcome(&render(folder.path(), &["--jsonl", "-"], &rows));
    assert_eq!(code, 0);
    assert_eq!(said, "note: 8 of 10 rows failed\n");
    insta::assert_snapshot!(out);
    let (_, out, _) = outcome(&render(folder.path(), &["--jsonl", "-"], &many));
    let ids: Vec<Value> = out.lines().map(|line| json::read(line).unwrap().get("id").unwrap().clone()).collect();
    assert_eq!(ids, (0..2000).map(Value::from).collect::<Vec<_>>());
}

#[test]
fn a_source_on_the_command_line_serves_rows_without_one() {
    let folder = folder_of(&[("t.jinja", TEMPLATE), ("rows.jsonl", r#"{"id": 1, "context": {"mood": "ok"}}"#)]);
    let (code, out, _) =
        outcome(&render(folder.path(), &["t.jinja", "--jsonl", "rows.jsonl", "--add-generation-prompt"], ""));
    assert_eq!((code, out.as_str()), (0, "{\"id\": 1, \"text\": \"<assistant>okTrue\", \"assistant_spans\": []}\n"));
}

#[test]
fn a_text_and_a_file_of_one_name_are_two_templates() {
    let rows = [
        r#"{"id": 1, "context": {}, "template": "t.jinja"}"#,
        r#"{"id": 2, "context": {}, "chat_template": "t.jinja"}"#,
    ];
    for (order, texts) in [([0, 1], ["file", "t.jinja"]), ([1, 0], ["t.jinja", "file"])] {
        let folder =
            folder_of(&[("t.jinja", "{# Jinja #}file"), ("rows.jsonl", &order.map(|row| rows[row]).join("\n"))]);
        let (_, out, _) = outcome(&render(folder.path(), &["--jsonl", "rows.jsonl"], ""));
        let answers: Vec<Value> = out.lines().map(|line| json::read(line).unwrap()).collect();
        let found: Vec<_> = answers.iter().map(|answer| answer.get("text").unwrap().as_str().unwrap()).collect();
        assert_eq!(found, texts);
    }
}

#[test]
fn sanitizing_needs_a_tokenizer() {
    let rows = r#"{"id": 1, "context": {}}"#;
    let folder = folder_of(&[("t.jinja", TEMPLATE), ("m.json", MESSAGES), ("rows.jsonl", rows)]);
    let arguments = ["t.jinja", "--messages", "m.json", "--sanitize-control-tokens"];
    let (code, _, said) = outcome(&render(folder.path(), &arguments, ""));
    assert!(code == 2 && said.contains("--tokenizer <FILE>"), "{said}");
    let arguments = ["t.jinja", "--jsonl", "rows.jsonl", "--sanitize-control-tokens", "-q"];
    let (code, out, _) = outcome(&render(folder.path(), &arguments, ""));
    let error = "there is no `tokenizer` to encode with; add one to the row, or pass --tokenizer";
    assert_eq!((code, out), (0, format!("{{\"id\": 1, \"error\": \"{error}\"}}\n")));
}

#[test]
fn authors_are_colored_or_listed() {
    let folder = folder_of(&[("t.jinja", TEMPLATE), ("m.json", MESSAGES)]);
    let arguments = ["t.jinja", "--messages", "m.json", "--show-spans"];
    let (_, out, said) = outcome(&render(folder.path(), &arguments, ""));
    assert_eq!(
        (out.as_str(), said.as_str()),
        ("<user>Hé</user><assistant>Yo</assistant>", "assistant spans: 26..28\n")
    );
    let (_, out, said) = outcome(&render(folder.path(), &[&arguments[..], &["--color", "always"]].concat(), ""));
    assert_eq!(said, "");
    insta::assert_snapshot!(out.replace('\u{1b}', "ESC"));
}

#[test]
fn every_piece_is_listed_with_its_origin() {
    let template = "{% for m in messages %}\n<{{ m.role }}>\n{{ m.content\n   | upper }}{{ '\\x1b' }}\n{% endfor %}";
    let rows = r#"{"id": 1, "context": {"messages": [{"role": "é", "content": "b"}]}}"#;
    let folder = folder_of(&[
        ("t.jinja", template),
        ("m.json", r#"[{"role": "user", "content": "h\u00e9"}]"#),
        ("rows.jsonl", rows),
    ]);
    let (code, out, said) = outcome(&render(folder.path(), &["t.jinja", "--messages", "m.json", "--origins"], ""));
    let expected = [
        r#" 2:1  "<""#,
        r#" 2:5  "user"  ← m.role"#,
        r#"2:14  ">\n""#,
        r#" 3:4  "HÉ"  ← m.content | upper"#,
        r#"4:17  "\u001b"  ← '\x1b'"#,
        r#"4:26  "\n""#,
    ];
    assert_eq!((code, out.lines().collect::<Vec<_>>(), said.as_str()), (0, expected.to_vec(), ""));
    let (_, out, _) = outcome(&render(folder.path(), &["t.jinja", "--jsonl", "rows.jsonl", "--origins"], ""));
    let origins = json::read(&out).unwrap().get("origins").unwrap().to_string();
    assert_eq!(origins, "[[0, 1, 2, 1], [1, 2, 2, 5], [2, 4, 2, 14], [4, 5, 3, 4], [5, 6, 4, 17], [6, 7, 4, 26]]");
}

#[test]
fn errors_have_their_position() {
    let folder = folder_of(&[
        (
            "raise.jinja",
            "{% for m in messages %}\n  {{ raise_exception('Roles must alternate: ' ~ m.role) }}\n{% endfor %}",
        ),
        ("syntax.jinja", "{% for m in messages %}\n{{ m.content | }}\n{% endfor %}"),
        ("undefined.jinja", "{{ messages[0].tool_calls[0].function.name }}"),
        ("hostile.jinja", "{{ raise_exception('\\x1b[31mred\\x07') }}"),
        ("t.jinja", "{{ 'x' }}"),
        ("tokenizer_config.json", "{\"chat_template\": \"{{ 1 + none }}\"}"),
        ("m.json", MESSAGES),
        ("broken.json", "[{]"),
        ("truncated.json", "[\n  {\"role\": \"user\",\n\n\n"),
        ("unclosed.jinja", "{% for m in messages %}\n  {% if m.content %}{{ m.content }}\n{% endfor %}"),
        ("text.json", "\"Hello\""),
    ]);
    let mut all = String::new();
    for arguments in [
        &["raise.jinja", "--messages", "m.json"][..],
        &["syntax.jinja", "--messages", "m.json"],
        &["undefined.jinja", "--messages", "m.json"],
        &["hostile.jinja", "--messages", "m.json"],
        &["tokenizer_config.json", "--messages", "m.json"],
        &["unclosed.jinja", "--messages", "m.json"],
        &["t.jinja", "--messages", "broken.json"],
        &["t.jinja", "--messages", "truncated.json"],
        &["t.jinja", "--messages", "text.json"],
        &["t.jinja", "--messages", "absent.json"],
        &["t.jinja", "--messages", "m.json", "--tools", "text.json"],
        &["-", "--messages", "-"],
        &["absent.jinja", "--messages", "m.json"],
        &["t.jinja", "--jsonl", "absent.jsonl"],
        &["t.jinja", "--messages", "m.json", "--now", "noon"],
        &["t.jinja", "--messages", "m.json", "--set", "novalue"],
        &["t.jinja"],
    ] {
        let (code, out, said) = outcome(&render(folder.path(), arguments, ""));
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}");
        all += &format!("$ backchat render {}\n{said}\n", arguments.join(" "));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let folder = folder_of(&[("t.jinja", "{{ 'x' * 100000 }}")]);
    let rows = "{\"template\": \"t.jinja\", \"context\": {}}\n".repeat(200);
    let mut child = Command::new(env!("CARGO_BIN_EXE_backchat"))
        .args(["render", "--jsonl", "-"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    let writing = std::thread::spawn(move || drop(stdin.write_all(rows.as_bytes())));
    let (code, _, said) = outcome(&child.wait_with_output().unwrap());
    writing.join().unwrap();
    assert_eq!((code, said.as_str()), (0, ""));
}

#[test]
fn coverage_shows_the_template_with_what_conversations_do_with_each_line() {
    let rows = "{\"context\": {\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}}\n\n\
                {\"context\": {\"messages\": [{\"role\": \"tool\", \"content\": \"Yo\"}]}}\n";
    let template = "{%- for m in messages %}\n{%- if m.role == 'user' %}\n<u>{{ m.content }}\n{%- else %}\n{{- lost }}\n{%- endif %}\n{%- endfor %}";
    let folder = folder_of(&[
        ("t.jinja", template),
        ("rows.jsonl", rows),
        ("bad.jsonl", "{\"context\": {}}\n{\"context\": 1}\n"),
    ]);
    let run =
        |arguments: &[&str]| outcome_in(folder.path(), &[&["render", "t.jinja", "--coverage"], arguments].concat());
    let (code, out, err) = run(&["--jsonl", "rows.jsonl"]);
    insta::assert_snapshot!(format!("{code}\n{out}{err}"), @r"
    0
    4 of 4 lines with code run, and 1 of 2 conditions go both ways, in 2 conversations.

       RUNS  LINE
          2     1  {%- for m in messages %}
                   `messages` is never empty
          2     2  {%- if m.role == 'user' %}
          1     3  <u>{{ m.content }}
                   prints <u>Hi
                4  {%- else %}
          1     5  {{- lost }}
                6  {%- endif %}
                7  {%- endfor %}
    ");
    // Options of the command line apply to every row.
    let (_, out, _) = run(&["--jsonl", "rows.jsonl", "--set", "lost=found"]);
    assert!(out.contains("prints found"), "{out}");
    let (code, _, err) = run(&["--jsonl", "bad.jsonl"]);
    assert!(code == 2 && err.contains("--> bad.jsonl:2") && err.contains("no `context`"), "{err}");
}
