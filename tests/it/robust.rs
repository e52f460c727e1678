//! The command under bad conditions: streams that cannot be written, signals, full disks, huge files, hostile
//! arguments.
#![cfg(unix)]

use std::fs::{self, File, OpenOptions};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

fn backchat(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_backchat"));
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null());
    command
}

const TEMPLATE: &str = "chat_templates/apertus.jinja";
const DRAFT: &str = "derived/apertus.json";

/// What each command answers where standard error can be written, it answers as well where that is full or closed.
#[test]
#[cfg(target_os = "linux")]
fn standard_error_that_cannot_be_written_changes_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().to_str().unwrap();
    for arguments in [
        &["lint", DRAFT][..],
        &["derive", TEMPLATE],
        &["derive", "nothing"],
        &["check", "tests/fixtures/none"],
        &["render", TEMPLATE, "--messages", "nothing"],
        &["parse", DRAFT, "nothing"],
        &["man", pages],
        &["schema"],
        &["--nonsense"],
        &[],
    ] {
        let run = |stderr: Stdio| backchat(arguments).stderr(stderr).output().unwrap();
        let good = run(Stdio::piped());
        let full = run(OpenOptions::new().write(true).open("/dev/full").unwrap().into());
        assert_eq!((good.status, &good.stdout), (full.status, &full.stdout), "{arguments:?}");
        assert!(good.status.code().is_some_and(|code| code <= 2), "{arguments:?}: {:?}", good.status);
    }
}

/// The macros of the standard library panic where a stream cannot be written.
#[test]
fn no_print_macro_is_used() {
    let mut folders = vec![
        std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src")),
        concat!(env!("CARGO_MANIFEST_DIR"), "/crates").into(),
    ];
    let mut read = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            // Tests may skip what is not installed with a message, build scripts speak to cargo, and examples and benchmarks
            // are programs of their own.
            if ["tests", "build.rs", "examples", "benches"].iter().any(|name| path.ends_with(name)) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            read += 1;
            for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
                let prints =
                    ["eprintln!(", "eprint!(", " println!(", " print!("].iter().any(|name| line.contains(name));
                assert!(!prints, "{}: {line}", path.display());
            }
        }
    }
    assert!(read > 100, "only {read} files were read");
}

/// Only an answer that could not be written is a failure, and no panic.
#[test]
#[cfg(target_os = "linux")]
fn standard_output_that_is_full_is_an_error() {
    for arguments in [&["derive", TEMPLATE][..], &["schema"], &["completions", "bash"]] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = backchat(arguments).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("cannot write the result"), "{arguments:?}: {said}");
    }
}

#[test]
fn a_signal_leaves_no_temporary_file() {
    let mut killed = 0;
    for try_number in 0..40_u64 {
        let folder = tempfile::tempdir().unwrap();
        let mut child = backchat(&["man", folder.path().to_str().unwrap(), "--quiet"]).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(1_000 + 400 * try_number));
        let signal = ["-TERM", "-INT", "-HUP"][try_number as usize % 3];
        Command::new("kill").args([signal, &child.id().to_string()]).stderr(Stdio::null()).status().unwrap();
        let status: ExitStatus = child.wait().unwrap();
        killed += u32::from(status.code().is_none());
        for entry in fs::read_dir(folder.path()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(name.ends_with(".1"), "{name} was left after {signal}");
        }
    }
    assert!(killed > 0, "no signal came in time to show anything");
}

#[test]
fn a_disk_that_is_full_is_told_of_the_users_file() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("tokenizer_config.json");
    fs::write(&config, "{\"tokenizer_class\": \"x\"}").unwrap();
    fs::copy(format!("{}/{TEMPLATE}", env!("CARGO_MANIFEST_DIR")), folder.path().join("chat_template.jinja")).unwrap();
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" derive \"$1\" --write --quiet";
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_backchat")])
        .arg(folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(config.to_str().unwrap()) && !said.contains(".backchat-"), "{said}");
    assert_eq!(fs::read_to_string(&config).unwrap(), "{\"tokenizer_class\": \"x\"}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_file_that_is_too_large_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let of_size = |name: &str, start: &str, bytes: u64| {
        let path = folder.path().join(name);
        fs::write(&path, start).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let messages = of_size("messages.json", "[]", 2);
    let config = of_size("tokenizer_config.json", "{\"chat_template\": \"", 1 << 40);
    let long = folder.path().join("long.jinja");
    fs::write(&long, "{{ x }}".repeat(2_000_000)).unwrap();
    let long = long.to_str().unwrap();
    for (arguments, message) in [
        (&["render", &config, "--messages", &messages][..], "the file is larger than 32 MiB"),
        (&["derive", &config], "the file is larger than 32 MiB"),
        (&["lint", &config], "the file is larger than 32 MiB"),
        (&["parse", &config, &messages], "the file is larger than 32 MiB"),
        (&["render", TEMPLATE, "--messages", &config], "the file is larger than 32 MiB"),
        (&["render", long, "--messages", &messages], "the chat template is larger than 1 MiB"),
        (&["derive", long], "the chat template is larger than 1 MiB"),
    ] {
        let output = backchat(arguments).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(said.contains(message), "{arguments:?}: {said}");
    }
}

#[test]
fn errors_about_arguments_show_no_control_character() {
    let hostile = "x\u{1b}[31m\u{9b}2J\u{202e}y";
    for arguments in [
        &[hostile][..],
        &["lint", "--format", hostile],
        &["render", "--now", hostile, "x"],
        &[&format!("--{hostile}")],
        &["--color", "always", "lint", &format!("--{hostile}")],
    ] {
        let output = backchat(arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(said.contains("x\\u{1b}[31m\\u{9b}2J\\u{202e}y"), "{arguments:?}: {said}");
        assert!(!said.contains(['\u{9b}', '\u{202e}']) && !said.contains("\u{1b}[31m\u{9b}"), "{arguments:?}: {said}");
    }
}

/// Every format of `lint` shows a hostile file name and key as text.
#[test]
fn reports_show_no_control_character() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x\u{1b}]0;t\u{7}\u{9b}\u{202e}.json");
    let key = r"k\u001b[31m\u009b\u202e";
    fs::write(&file, format!("{{\"start_anchor\": \"a\", \"fields\": {{\"content\": {{\"{key}\": 1}}}}}}")).unwrap();
    for format in ["full", "concise", "json", "github", "junit", "sarif"] {
        let output = backchat(&["lint", file.to_str().unwrap(), "--format", format]).output().unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(said.contains("x\\u{1b}") || said.contains("x\\u001b") || said.contains("x%1B"), "{format}: {said}");
        let shown =
            said.chars().find(|c| matches!(c, '\u{1b}' | '\u{7}' | '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}'));
        assert_eq!(shown, None, "{format}: {said}");
    }
}

#[test]
fn no_page_takes_the_place_of_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let template = folder.path().join("t.jinja");
    fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/", "chat_templates/hermes.jinja"), &template).unwrap();
    let (known, page) = (fs::read(&template).unwrap(), folder.path().join("page.html"));
    for (report, code) in
        [(template.as_path(), 2), (std::path::Path::new("-"), 2), (page.as_path(), 0), (page.as_path(), 0)]
    {
        let output = backchat(&["derive", "-q", template.to_str().unwrap(), "--report"]).arg(report).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}: {output:?}", report.display());
    }
    let output = backchat(&["derive", "-q", template.to_str().unwrap(), "-o"]).arg(&template).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(fs::read(&template).unwrap(), known);
}

/// Text that a template or a model wrote, with what moves a cursor, sets a title or turns the text around.
const HOSTILE: &str = "x\u{1b}]0;t\u{7}\u{1b}[2J\u{9b}31m\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\
                       \u{2069}\u{200e}\u{200f}\u{61c}y\r";

/// Whether a character affects a terminal, or the order of the text on it.
fn affects_a_terminal(c: char) -> bool {
    matches!(c, '\u{1b}' | '\u{7}' | '\r' | '\u{7f}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}')
}

/// No command prints what a template, a model or a file says to standard error, or into a report, as it is.
#[test]
fn no_command_lets_hostile_text_reach_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name).to_str().unwrap().to_owned()
    };
    let quoted = backchat::json::Value::from(HOSTILE).to_string();
    let refuses = write("refuses.jinja", &format!("{{{{ raise_exception({quoted}) }}}}"));
    let refuses_tools = write(
        "tools.jinja",
        &format!(
            "{{% if tools %}}{{{{ raise_exception({quoted}) }}}}{{% endif %}}{{% for m in messages %}}<{{{{ m.role }}}}>\
             {{{{ m.content }}}}<end>{{% endfor %}}{{% if add_generation_prompt %}}<assistant>{{% endif %}}"
        ),
    );
    let template = write(
        "template.json",
        &format!(
            r#"{{"start_anchor": "<bot>", "fields": {{"tool_calls": {{"open": {quoted}, "close": "</call>",
               "content": "json", "repeats": true}}, "content": {{}}}}}}"#
        ),
    );
    let output = write("output.txt", &format!("{HOSTILE}{{{HOSTILE}</call>"));
    let messages = write("messages.json", r#"[{"role": "user", "content": "Hi"}]"#);
    let tools = write("tools.json", &format!(r#"[{{"type": "function", "function": {{{quoted}: 1}}}}]"#));
    let fixture = write(
        "case.fixture",
        &format!("template: template.json\n\n=== case {}\n=== output\n{HOSTILE}{{\n=== message\n{{}}\n", "c"),
    );
    for arguments in [
        &["doctor", &refuses][..],
        &["doctor", &refuses_tools],
        &["doctor", &refuses_tools, "--explain"],
        &["derive", &refuses],
        &["derive", &refuses_tools],
        &["derive", &refuses_tools, "--explain"],
        &["lint", &refuses],
        &["lint", &refuses_tools],
        &["lint", &template],
        &["fix", "--generation", &refuses],
        &["unrender", &refuses, &output],
        &["unrender", &refuses_tools, &output],
        &["render", &refuses, "--messages", &messages],
        &["prove", &template, &refuses_tools],
        &["grammar", &refuses_tools, "--tools", &tools],
        &["parse", &template, &output],
        &["parse", &template, &output, "--tools", &tools],
        &["replay", &template, &output],
        &["check", &fixture],
        &["check", "--new", &refuses, &messages],
        &["convert", &template],
    ] {
        let run = backchat(arguments).output().unwrap();
        let said = String::from_utf8([run.stdout, run.stderr].concat()).unwrap();
        assert_eq!(said.chars().find(|c| affects_a_terminal(*c)), None, "{arguments:?}: {said:?}");
        assert!(!said.is_empty(), "{arguments:?}");
    }
}

/// A draft is JSON with an escape for each character that affects a terminal, wherever it is written, and has the same
/// value as the template's own marks.
#[test]
fn a_draft_has_no_character_that_affects_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (template, draft) = (file("turned.jinja"), file("draft.json"));
    let turn = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<\u{202e}end\u{2069}>\u{200f}{% endfor %}\
                {% if add_generation_prompt %}<assistant>{% endif %}";
    fs::write(&template, turn).unwrap();
    for arguments in [
        &["derive", &template][..],
        &["derive", &template, "-o", &draft],
        &["derive", &template, "--format", "json"],
        &["derive", &template, "--explain"],
        &["prove", &draft, "--chat-template", &template, "--format", "json"],
        &["doctor", &template, "--format", "json"],
    ] {
        let run = backchat(arguments).output().unwrap();
        let said = String::from_utf8([run.stdout, run.stderr].concat()).unwrap();
        assert_eq!(said.chars().find(|c| affects_a_terminal(*c)), None, "{arguments:?}: {said}");
    }
    let text = fs::read_to_string(&draft).unwrap();
    assert_eq!(text.chars().find(|c| affects_a_terminal(*c)), None, "{text}");
    assert!(text.contains(r"<\u202eend\u2069>"), "{text}");
    let value = backchat::json::read(&text).unwrap();
    assert!(value.to_string().contains("<\u{202e}end\u{2069}>"), "{value}");
}

/// An output may be larger than what is read as a whole.
#[test]
fn the_size_of_an_output_does_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("output.txt");
    let text = "é".repeat((17 << 20) + 1);
    fs::write(&output, &text).unwrap();
    let run = backchat(&["parse", DRAFT, output.to_str().unwrap(), "--quiet"]).output().unwrap();
    let message = String::from_utf8(run.stdout).unwrap();
    assert!(run.status.success() && message.len() > text.len() && message.contains(&text[..1000]));
    fs::write(&output, b"ab\xC3").unwrap();
    let run = backchat(&["parse", DRAFT, output.to_str().unwrap()]).output().unwrap();
    assert!(String::from_utf8(run.stderr).unwrap().contains("the byte 0xC3 is not UTF-8"));
    assert_eq!(run.status.code(), Some(2));
}
