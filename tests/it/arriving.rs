//! Output that arrives while it is read: what is known of each piece is printed before the next one is written.

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A running command whose standard output is read as far as it has come.
struct Running(Child, ChildStdout, String);

impl Running {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_backchat"))
            .args(arguments)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().unwrap();
        Self(child, stdout, String::new())
    }

    fn write(&mut self, piece: &[u8]) {
        self.0.stdin.as_mut().unwrap().write_all(piece).unwrap();
    }

    /// Reads until the text has come; the command is blocked on its input until then.
    fn shows(&mut self, text: &str) {
        while !self.2.contains(text) {
            let mut bytes = [0; 4096];
            let read = self.1.read(&mut bytes).unwrap();
            assert!(read > 0, "ended without {text:?}: {}", self.2);
            self.2 += std::str::from_utf8(&bytes[..read]).unwrap();
        }
    }

    /// Ends the input; gives all of the output.
    fn ends(mut self) -> String {
        drop(self.0.stdin.take());
        self.1.read_to_string(&mut self.2).unwrap();
        assert!(self.0.wait().unwrap().success(), "{}", self.2);
        self.2
    }
}

/// What is written, and what is printed then.
type Pieces<'p> = &'p [(&'p [u8], &'p str)];

#[test]
fn each_piece_is_told_of_before_the_next_is_written() {
    let call = r#"{"type": "call_start", "field": "tool_calls", "index": 0, "name": "add"}"#;
    let cases: [(&[&str], Pieces<'_>, &str); 4] = [
        (
            &["parse", "--events"],
            &[(b"Hel", r#""text": "Hel""#), (b"lo wor", r#""text": "lo wor""#), (b"ld", r#""text": "ld""#)],
            r#""content": "Hello world""#,
        ),
        (
            &["parse", "--events"],
            &[
                (b"<tool_call>\n{\"name\": \"add\", \"argu", call),
                (b"ments\": {\"a\": \"O", r#""index": 0, "delta": "{\"a\": \"O"}"#),
                (b"slo\"}}\n</tool_call>", r#""index": 0, "delta": "slo\"}"}"#),
            ],
            r#""arguments": {"a": "Oslo"}"#,
        ),
        (
            &["replay"],
            &[
                (b"", "TEXT"),
                (b"<think>Fir", "chunk      thinking    \"Fir\""),
                (b"st</th", "held                   `</th`: could become the close of `thinking`"),
                (b"ink>Yes.", "close      thinking    \"First\""),
            ],
            "end  the message is complete",
        ),
        // The second half of a character completes it.
        (
            &["replay"],
            &[(b"caf\xC3", "\"caf\""), (b"\xA9 au lait", "\"\u{e9} au lait\"")],
            "\"content\": \"caf\u{e9} au lait\"",
        ),
    ];
    for (command, pieces, end) in cases {
        let mut running =
            Running::start(&[&command[..1], &["derived/qwen3.json", "-", "--quiet"], &command[1..]].concat());
        for (piece, told) in pieces {
            running.write(piece);
            running.shows(told);
        }
        let all = running.ends();
        assert!(all.contains(end), "{command:?}: {all}");
    }
}

#[test]
fn what_arrives_at_once_is_the_table_of_the_whole_output() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("output.txt");
    let output = "<think>Hm.</think>\n\nWell.<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call><|im_";
    fs::write(&file, output).unwrap();
    let whole = Running::start(&["replay", "-q", "derived/qwen3.json", file.to_str().unwrap()]).ends();
    let mut piped = Running::start(&["replay", "-q", "derived/qwen3.json", "-"]);
    piped.write(output.as_bytes());
    assert_eq!(piped.ends(), whole);
}

#[test]
fn bytes_that_are_no_text_end_the_table_with_an_error() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_backchat"));
    command.args(["replay", "-q", "derived/qwen3.json", "-"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"ab\xFFcd").unwrap();
    let output = child.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(2), "{out}{err}");
    assert!(err.contains("0xFF is not UTF-8") && !out.contains("end  "), "{out}{err}");
}

#[test]
fn rows_are_shown_as_they_are_appended() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("record.jsonl");
    let name = file.to_str().unwrap();
    let row = |id: &str, text: &str| format!("{{\"id\": \"{id}\", \"prefix\": \"\", \"text\": \"{text}\"}}\n");
    fs::write(&file, row("one", "Alpha is here.")).unwrap();
    let mut running = Running::start(&["replay", "-q", "derived/qwen3.json", "--follow", name]);
    running.shows("== ");
    running.shows("\"Alpha is here.\"");
    let mut appended = fs::OpenOptions::new().append(true).open(&file).unwrap();
    let second = row("two", "Beta is here.");
    appended.write_all(&second.as_bytes()[..20]).unwrap();
    std::thread::sleep(Duration::from_millis(250));
    appended.write_all(&second.as_bytes()[20..]).unwrap();
    running.shows("record.jsonl#two\n");
    running.shows("\"Beta is here.\"");
    running.0.kill().unwrap();
    assert_eq!(running.0.wait().unwrap().code(), None, "it was still following");
    assert_eq!(running.2.matches("== ").count(), 2, "{}", running.2);

    let refused = |arguments: &[&str], why: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_backchat"));
        let output = command.arg("replay").args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && told.contains(why), "{arguments:?}: {told}");
    };
    let began = Instant::now();
    refused(&["derived/qwen3.json", "--follow", "nowhere.jsonl"], "nowhere.jsonl");
    refused(&["derived/qwen3.json", "--follow", "tests"], "only a file can be followed");
    refused(&["derived/qwen3.json", "x.txt", "--follow", name], "cannot be used with");
    refused(&[name, "--follow", name], "already contains outputs");
    assert!(began.elapsed() < Duration::from_secs(30), "what cannot be followed is refused at once");
}

#[test]
fn rows_on_standard_input_are_one_output_and_said_to_be() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let replay = |input: &str| {
        let output = crate::support::backchat_in(folder, &["replay", "derived/qwen3.json", "-"], input);
        crate::support::outcome(&output)
    };
    for (input, is_said) in
        [("{\"text\": \"Hi\"}\n{\"text\": \"Yo\"}\n", true), ("{\"text\": \"Hi\"}\n", false), ("Hi", false)]
    {
        let (code, _, err) = replay(input);
        assert_eq!((code, err.contains("standard input is JSON Lines")), (0, is_said), "{input}: {err}");
    }
}
