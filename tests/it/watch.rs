//! `--watch` while files change: each result is the command's own, under what changed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const CHAT: &str = "{%- for message in messages -%}\n  {{- '<|' ~ message.role ~ '|>' ~ message.content ~ '<|end|>' -}}\n{%- endfor -%}\n{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}\n";

/// A command that watches, and what it prints.
struct Watching {
    child: Arc<Mutex<Child>>,
    lines: BufReader<ChildStdout>,
    /// Dropped when the test ends.
    _ends: Sender<()>,
}

impl Watching {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_backchat"));
        command.args(arguments).arg("--watch").current_dir(folder).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let (ends, ended) = channel();
        let child = Arc::new(Mutex::new(child));
        let late = child.clone();
        // A result that never comes fails the test.
        thread::spawn(move || ended.recv_timeout(Duration::from_secs(60)).map_err(|_| late.lock().unwrap().kill()));
        Self { child, lines, _ends: ends }
    }

    /// The lines up to the one with this text.
    fn until(&mut self, text: &str) -> Vec<String> {
        let mut seen = Vec::new();
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "it ended; it said {seen:?}");
            seen.push(line.trim_end().to_owned());
            if line.contains(text) {
                return seen;
            }
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut child = self.child.lock().unwrap();
        let _ = child.kill();
        let _ = child.wait();
    }
}

#[test]
fn a_saved_file_shows_what_changed_and_the_result_of_now() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chat_template.jinja");
    fs::write(&file, CHAT).unwrap();
    let mut watching = Watching::start(folder.path(), &["derive", "chat_template.jinja"]);
    let first = watching.until("close");
    assert!(first[0].starts_with("exit code 0 after") && first[0].ends_with("watching 1 file, Ctrl-C ends"));
    fs::write(&file, CHAT.replace("<|end|>", "<|stop|>")).unwrap();
    let seen = watching.until("Since the last save");
    assert!(seen.iter().any(|line| line.starts_with("exit code 0")), "{seen:?}");
    let changes = watching.until("+");
    assert!(changes.iter().any(|line| line.starts_with("  - ") && line.contains("<|end|>")), "{changes:?}");
    assert!(changes.last().unwrap().contains("<|stop|>"), "{changes:?}");
    // The result follows, whole.
    watching.until("close");
    // A file that cannot be read is a result as well.
    fs::write(&file, "{% endi %}").unwrap();
    watching.until("exit code 2");
    watching.until("error[template-failed]");
}

#[test]
fn a_file_that_the_command_writes_does_not_run_it_again() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("chat_template.jinja"), CHAT).unwrap();
    let arguments = ["derive", "chat_template.jinja", "-o", "response_template.json"];
    let mut watching = Watching::start(folder.path(), &arguments);
    watching.until("watching 1 file");
    let draft = || fs::read_to_string(folder.path().join("response_template.json")).unwrap();
    assert!(draft().contains("end"));
    fs::write(folder.path().join("chat_template.jinja"), CHAT.replace("<|end|>", "<|stop|>")).unwrap();
    // A run for the draft would say that the result is the same.
    let seen = watching.until("+");
    assert!(!seen.iter().any(|line| line.contains("the same result")), "{seen:?}");
    assert!(draft().contains("stop"));
}

#[test]
fn lint_check_and_diff_watch_too() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("old.jinja"), CHAT).unwrap();
    fs::write(at("new.jinja"), CHAT).unwrap();
    let mut diff = Watching::start(folder.path(), &["diff", "old.jinja", "new.jinja"]);
    diff.until("exit code 0");
    let mut lint = Watching::start(folder.path(), &["lint", "new.jinja"]);
    lint.until("exit code 0");
    fs::write(at("new.jinja"), CHAT.replace("endfor", "endfo")).unwrap();
    diff.until("exit code 2");
    lint.until("exit code 2");
    fs::create_dir(at("fixtures")).unwrap();
    let mut check = Watching::start(folder.path(), &["check", "--no-tests", "pass", "fixtures", "."]);
    check.until("watching 2 files");
}

#[test]
fn without_a_file_there_is_nothing_to_watch() {
    let folder = tempfile::tempdir().unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_backchat"))
        .args(["lint", "--watch", "absent.jinja"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(2));
    assert!(said.contains("error[nothing-to-watch]: `--watch` needs a file or folder on the disk"), "{said}");
}
