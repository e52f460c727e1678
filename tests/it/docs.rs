//! The README and the documents in `docs/` show the real output of the command.
//!
//! Every fence marked `console` is run as a reader would run it: in one folder for each document, in the order of the
//! document, with this project's `chat_templates/` and `examples/` in it. A line `$ …` is a command for `sh` (continued
//! after a backslash), and the lines below it are its output. A line `…` matches any lines, `[..]` anything in a
//! line. A fence marked `console fails` is one whose last command does not exit with 0. A fence marked
//! `text NAME` is the screen of the workbench of that name, and one marked `json FILE` is written to that file for the
//! commands after it.
//!
//! `INSTA_UPDATE=always cargo test --test it docs::` writes the current output of the commands into the documents; read
//! the change.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Matches any lines.
const ELISION: &str = "…";

/// Everything below this line of `docs/commands.md` is generated from the command's help.
const GENERATED: &str = "<!-- From here on made from `backchat COMMAND --help`. -->\n";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn documents() -> Vec<PathBuf> {
    let docs = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut documents: Vec<_> = docs.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    documents.extend(["README.md", "CONTRIBUTING.md"].map(|name| root().join(name)));
    documents.sort();
    documents
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        fs::copy(from, to).unwrap();
    }
}

/// A folder with the files that the documents' commands use.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["chat_templates", "derived", "examples", "tests/fixtures"] {
        if root().join(name).exists() {
            copy(&root().join(name), &folder.path().join(name));
        }
    }
    folder
}

/// The output of a command, standard error included, and whether it exits with 0.
fn run(command: &str, folder: &Path) -> (String, bool) {
    let binary = Path::new(env!("CARGO_BIN_EXE_backchat")).parent().unwrap().display();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("exec 2>&1\n{command}")).current_dir(folder);
    shell.env("PATH", format!("{binary}:{path}")).env("HOME", "/home/you").env("TERM", "dumb");
    for name in ["CI", "GITHUB_ACTIONS", "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME"] {
        shell.env_remove(name);
    }
    let output = shell.output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), output.status.success())
}

/// Whether a line is as expected; `[..]` matches anything.
fn is_line(expected: &str, line: &str) -> bool {
    match expected.split_once("[..]") {
        None => expected == line,
        Some((before, after)) => line
            .strip_prefix(before)
            .is_some_and(|line| (0..=line.len()).any(|at| line.get(at..).is_some_and(|line| is_line(after, line)))),
    }
}

/// A line without its duration, as in `1 case: 1 passed (0.01 s)`.
fn timeless(line: &str) -> String {
    let time = line.rfind(" (").filter(|_| line.ends_with(" s)"));
    let is_time = |at: &usize| line[at + 2..line.len() - 3].parse::<f64>().is_ok();
    time.filter(is_time).map_or(line, |at| &line[..at]).to_owned()
}

/// Whether lines are as expected; a line `…` matches any lines.
fn is_as_expected(expected: &[&str], lines: &[&str]) -> bool {
    match (expected.first(), lines.first()) {
        (None, None) => true,
        (Some(&ELISION), _) => (0..=lines.len()).any(|at| is_as_expected(&expected[1..], &lines[at..])),
        (Some(wanted), Some(line)) => {
            is_line(&timeless(wanted), &timeless(line)) && is_as_expected(&expected[1..], &lines[1..])
        }
        _ => false,
    }
}

/// Runs the commands of a fence and returns the fence as it should be, or the error.
fn fence(body: &[&str], fails: bool, folder: &Path) -> Result<Vec<String>, String> {
    let mut written = Vec::new();
    let mut at = 0;
    while at < body.len() {
        let Some(start) = body[at].strip_prefix("$ ") else {
            return Err(format!("expected a command, not `{}`", body[at]));
        };
        let mut command = start.to_owned();
        written.push(body[at].to_owned());
        at += 1;
        while command.ends_with('\\') && at < body.len() {
            command = format!("{command}\n{}", body[at].strip_prefix("> ").unwrap_or(body[at]));
            written.push(body[at].to_owned());
            at += 1;
        }
        let end = body[at..].iter().position(|line| line.starts_with("$ ")).map_or(body.len(), |end| at + end);
        let expected = &body[at..end];
        let (said, succeeded) = run(&command, folder);
        if succeeded == (fails && end == body.len()) {
            return Err(format!("`{command}` {}:\n{said}", if succeeded { "exits with 0" } else { "fails" }));
        }
        let lines: Vec<_> = said.lines().collect();
        if is_as_expected(expected, &lines) {
            written.extend(expected.iter().map(|line| (*line).to_owned()));
        } else if crate::blesses() && !expected.contains(&ELISION) {
            written.extend(lines.iter().map(|line| (*line).to_owned()));
        } else {
            return Err(format!("`{command}` says:\n{said}\nand the document:\n{}", expected.join("\n")));
        }
        at = end;
    }
    Ok(written)
}

/// The screen of the workbench that its own tests keep under a name, for a fence marked `text NAME`.
fn frame(name: &str) -> Vec<String> {
    let file =
        root().join(format!("crates/backchat-workbench/src/tui/snapshots/backchat_workbench__tui__tests__{name}.snap"));
    let text = fs::read_to_string(file).unwrap();
    text.splitn(3, "---\n").nth(2).unwrap().trim_end().lines().map(str::to_owned).collect()
}

#[test]
fn commands_in_documents_print_what_the_documents_show() {
    let mut problems = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        let (folder, name) = (folder(), document.strip_prefix(root()).unwrap().display());
        let lines: Vec<_> = text.lines().collect();
        let (mut written, mut at) = (Vec::<String>::new(), 0);
        while at < lines.len() {
            written.push(lines[at].to_owned());
            let Some(info) = lines[at].strip_prefix("```").filter(|info| !info.is_empty()) else {
                at += 1;
                continue;
            };
            let end = at + 1 + lines[at + 1..].iter().position(|line| *line == "```").expect("a fence that ends");
            let body = &lines[at + 1..end];
            if info.starts_with("console") {
                match fence(body, info.contains("fails"), folder.path()) {
                    Ok(body) => written.extend(body),
                    Err(problem) => problems.push(format!("{name}:{}: {problem}", at + 1)),
                }
            } else if let Some(file) = info.strip_prefix("json ") {
                fs::write(folder.path().join(file), body.join("\n") + "\n").unwrap();
                written.extend(body.iter().map(|line| (*line).to_owned()));
            } else if let Some(frame) = info.strip_prefix("text ").map(frame) {
                if !crate::blesses() && frame != body {
                    problems.push(format!("{name}:{}: the workbench does not look like this", at + 1));
                }
                written.extend(frame);
            } else {
                written.extend(body.iter().map(|line| (*line).to_owned()));
            }
            written.push(lines[end].to_owned());
            at = end + 1;
        }
        let written = written.join("\n") + "\n";
        if crate::blesses() && problems.is_empty() && written != text {
            fs::write(&document, written).unwrap();
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

#[test]
fn every_command_shown_is_run() {
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        let mut shown_only = false;
        for (number, line) in text.lines().enumerate() {
            if let Some(info) = line.strip_prefix("```") {
                shown_only = matches!(info, "sh" | "bash" | "shell");
            }
            let at = format!("{}:{}", document.display(), number + 1);
            assert!(
                !(shown_only && line.starts_with("backchat ")),
                "{at}: mark the fence `console`, so that it is run"
            );
        }
    }
}

/// The names of all commands, as `backchat --help` lists them.
fn commands() -> Vec<String> {
    let (help, _) = run("backchat --help", &root());
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    names.map(str::to_owned).collect()
}

#[test]
fn the_command_reference_is_their_help() {
    let file = root().join("docs/commands.md");
    let text = fs::read_to_string(&file).unwrap();
    let (written_by_hand, generated) = text.split_once(GENERATED).expect("the line from which it is made");
    let mut wanted = String::new();
    for name in commands() {
        let (help, succeeded) = run(&format!("backchat {name} --help"), &root());
        assert!(succeeded, "{help}");
        let help: String = help.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        wanted += &format!("\n## `backchat {name}`\n\n```text\n{help}```\n");
    }
    if crate::blesses() {
        fs::write(&file, format!("{written_by_hand}{GENERATED}{wanted}")).unwrap();
    } else {
        assert!(
            generated == wanted,
            "docs/commands.md is out of date: run INSTA_UPDATE=always cargo test --test it docs::"
        );
    }
}

#[test]
fn the_welcome_text_names_existing_commands() {
    let (welcome, succeeded) = run("backchat", &root());
    assert!(!succeeded);
    let named: Vec<_> = welcome.lines().filter_map(|line| line.strip_prefix("  backchat ")).collect();
    assert_eq!(named.len(), 4, "{welcome}");
    let known = commands();
    for line in named {
        assert!(known.iter().any(|name| line.starts_with(&format!("{name} "))), "{line}");
    }
}

#[test]
fn links_between_documents_resolve() {
    for document in documents().into_iter().chain(["ARCHITECTURE.md", "SECURITY.md"].map(|name| root().join(name))) {
        let text = fs::read_to_string(&document).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = target.split('#').next().unwrap();
            if path.is_empty() || path.contains("://") || path.contains(char::is_whitespace) {
                continue;
            }
            let full = document.parent().unwrap().join(path);
            assert!(full.exists(), "{}: {target}", document.display());
        }
    }
}

/// `src/lib.rs` makes doc tests of them.
#[test]
fn rust_in_documents_is_compiled() {
    let compiled = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    for document in documents() {
        let name = document.strip_prefix(root()).unwrap().display().to_string();
        let has_rust = fs::read_to_string(&document).unwrap().lines().any(|line| line.starts_with("```rust"));
        assert_eq!(compiled.contains(&format!("include_str!(\"../{name}\")")), has_rust, "{name}");
    }
}

#[test]
fn the_front_page_is_short() {
    let lines = fs::read_to_string(root().join("README.md")).unwrap().lines().count();
    assert!(lines < 200, "README.md has {lines} lines; move the rest into docs/");
}
