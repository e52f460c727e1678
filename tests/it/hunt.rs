//! Hunts: `prove --hunt`, `derive --hunt` and `check --hunt`, and the fixtures of what they find.

use std::fs;

use tempfile::TempDir;

use backchat::json::{self, Value};

use crate::support::{backchat_in, folder_of, text};

/// A chat template with content and calls.
const CHAT: &str = "\
{%- for m in messages %}[{{ m.role }}]{{ m.content or '' }}\
{%- for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>{% endfor %}<end>{% endfor %}\
{%- if add_generation_prompt %}[assistant]{% endif %}";

/// The same, but an answer with three backticks has a mark that no response template here reads.
fn odd() -> String {
    CHAT.replace("{{ m.content or '' }}", "{{ m.content or '' }}{{ '(odd)' if (m.content or '').count('`') in [3] }}")
}

const TEMPLATE: &str = r#"{"defaults": {"role": "assistant"}, "start_anchor": "[assistant]", "fields": {
  "tool_calls": {"open": "<call>", "close": "</call>", "repeats": true, "content": "json",
                 "transform": {"type": "function", "function": "{content}"}},
  "content": {"close": "<end>"}}}"#;

/// A folder with a response template and this chat template.
fn folder(chat_template: &str) -> TempDir {
    folder_of(&[("chat.jinja", chat_template), ("response.json", TEMPLATE)])
}

/// The exit code, standard output and standard error of a command.
fn run(folder: &TempDir, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = backchat_in(folder.path(), arguments, "");
    (output.status.code(), text(&output.stdout).to_owned(), text(&output.stderr).to_owned())
}

const PROVE: [&str; 4] = ["prove", "response.json", "--chat-template", "chat.jinja"];

fn prove(folder: &TempDir, more: &[&str]) -> (Option<i32>, String, String) {
    run(folder, &[&PROVE[..], more].concat())
}

#[test]
fn a_hunt_says_how_many_conversations_it_tried_and_which_conditions_they_took() {
    let (code, out, _) = prove(&folder(CHAT), &["--hunt", "300"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.starts_with("proved: "), "{out}");
    for part in ["\nhunt: none of ", " conversations refutes the proof\n", "(seed 0)", "conditions taken both ways: "] {
        assert!(out.contains(part), "{part}: {out}");
    }
}

#[test]
fn a_refuted_proof_says_so_in_the_first_line_and_exits_with_1() {
    let folder = folder(&odd());
    let (code, out, _) = prove(&folder, &["--hunt", "1000", "--fixtures", "found"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.starts_with("refuted by the hunt: "), "{out}");
    assert!(out.contains("\nfailed: a conversation after a question: content came back differently"), "{out}");

    let (code, again, _) = prove(&folder, &["--hunt", "1000"]);
    assert_eq!((code, again), (Some(1), out), "the same seed repeats it");

    let (_, report, _) = prove(&folder, &["--hunt", "1000", "--format", "json"]);
    let report = json::read(&report).unwrap();
    assert_eq!(report.get("status").and_then(Value::as_str), Some("partial"));
    let hunt = report.get("hunt").unwrap();
    assert_eq!(hunt.get("wanted").and_then(Value::as_u64), Some(1000));
    let failure = hunt.get("failures").and_then(|failures| failures.as_list()?.first()).unwrap();
    let content = failure.get("expected").and_then(|message| message.get("content")?.as_str()).unwrap();
    assert!(content.matches('`').count() == 3 && content.len() < 10, "{content:?} is the smallest such text");

    // The fixture fails as the conversation did.
    let (code, out, _) = run(&folder, &["check", "found"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("error[check-message]"), "{out}");
}

#[test]
fn derive_hunts_for_what_refutes_its_draft() {
    let folder = folder(&odd());
    let (code, _, report) =
        run(&folder, &["derive", "chat.jinja", "--hunt", "1000", "-o", "draft.json", "--fixtures", "found"]);
    assert_eq!(code, Some(1), "{report}");
    assert!(report.starts_with("refuted by the hunt: "), "{report}");
    assert!(fs::read_dir(folder.path().join("found")).unwrap().count() > 0);
    let (code, _, error) = run(&folder, &["derive", "chat.jinja", "--hunt", "10", "--fixtures", "found"]);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("fixtures name the file of the draft"), "{error}");
}

#[test]
fn check_hunts_once_for_each_pair_of_templates() {
    const CASES: &str = "template: response.json\nchat-template: chat.jinja\nround-trip: no\n\n=== prefix\n[assistant]\n\
                         === case one\n=== output\nYes.<end>\n=== message\n{\"role\": \"assistant\", \"content\": \"Yes.\"}\n\
                         === case two\n=== output\nNo.<end>\n=== message\n{\"role\": \"assistant\", \"content\": \"No.\"}\n";
    for (chat_template, code) in [(CHAT.to_owned(), 0), (odd(), 1)] {
        let folder = folder(&chat_template);
        fs::write(folder.path().join("a.fixture"), CASES).unwrap();
        let (found, out, report) = run(&folder, &["check", "a.fixture", "--hunt", "1000"]);
        assert_eq!(found, Some(code), "{out}{report}");
        assert_eq!(report.matches("hunt").count(), 1, "{report}");
        assert_eq!(out.contains("error[check-hunt]"), code == 1, "{out}");
        if code == 1 {
            let (_, help) = out.split_once("see all of it with `backchat ").unwrap();
            let arguments: Vec<&str> = help.split_once('`').unwrap().0.split(' ').collect();
            let (found, shown, report) = run(&folder, &arguments);
            assert_eq!(found, Some(1), "{arguments:?}: {shown}{report}");
            assert!(shown.contains("refuted by the hunt: "), "{arguments:?}: {shown}{report}");
        }
        fs::write(folder.path().join("a.fixture"), CASES.replace("chat-template: chat.jinja\n", "")).unwrap();
        let (found, _, report) = run(&folder, &["check", "a.fixture", "--hunt", "1000"]);
        assert!(found == Some(0) && report.contains("nothing was hunted: no case names a chat template"), "{report}");
    }
}
