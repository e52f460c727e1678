//! The real command in a terminal: the screens it shows, and the state it leaves the terminal in.
#![cfg(all(unix, feature = "tui"))]

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;

use crate::terminal::Session;
use backchat::json::Object;

use backchat_workbench::session::{Derived, Material, Outputs, Problem, Start, View};
use backchat_workbench::tui::{App, Theme};

const TEMPLATE: &str = r#"{
  "start_anchor": "<bot>",
  "fields": {
    "thought": {"open": "<think>", "close": "</think>"},
    "content": {"close": "<stop>"}
  }
}
"#;

const OUTPUT: &str = "<think>Hm, is 1 < 2?</think>Yes, it is.\nSure.<stop>";

/// Opens the workbench.
fn replay(folder: &Path, arguments: &[&str]) -> Session {
    Session::backchat(folder, &[&["replay"], arguments].concat())
}

/// A folder with a template and an output.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("template.json"), TEMPLATE).unwrap();
    fs::write(folder.path().join("output.txt"), OUTPUT).unwrap();
    fs::write(folder.path().join("prompt.txt"), "<user>Is it?<bot>").unwrap();
    folder
}

const OPEN: [&str; 4] = ["template.json", "output.txt", "--prefix", "prompt.txt"];

#[test]
fn start_step_search_quit() {
    let folder = folder();
    let mut session = replay(folder.path(), &OPEN);
    session.sees("nothing yet: the output begins here");
    assert!(session.screen.screen().alternate_screen());
    session.press("l");
    session.sees("holding `<`: could become the opening of `thought` (`think>` to go)");
    session.press("jj");
    session.sees("released");
    session.press("/sure\r");
    session.sees("char 44/51");
    session.press("\x1b[H");
    session.sees("char 0/51");
    session.press("?");
    session.sees("Step (a number before a key repeats it)");
    // Without waiting, so that both arrive together.
    session.press("\x1bq");
    assert_eq!(session.ends().code(), Some(0));
    session.is_given_back();
}

#[test]
fn a_saved_template_is_reloaded() {
    let folder = folder();
    let mut session = replay(folder.path(), &[&OPEN[..], &["--at", "30"]].concat());
    session.sees("char 30/51");
    let template = folder.path().join("template.json");
    fs::write(&template, TEMPLATE.replace("\"close\": \"<stop>\"", "\"closes\": \"<stop>\"")).unwrap();
    session.sees("unknown key `closes` in a field; did you mean `close`?");
    session.sees("char 30/51");
    session.press("\r");
    session.sees("rename it to `close`");
    fs::write(&template, TEMPLATE.replace("thought", "musing")).unwrap();
    session.press("\x1b");
    session.sees("M musing");
    session.sees("char 30/51");
    session.press("q");
    assert_eq!(session.ends().code(), Some(0));
}

#[test]
fn a_fixture_is_stepped_through_and_blessed() {
    let folder = folder();
    let cases = "template: template.json\n=== case good\n=== prefix none\n=== output\n<think>a</think>b\n=== message\n\
                 {\"thought\": \"a\", \"content\": \"b\"}\n=== case bad\n=== prefix none\n=== output\n<think>a</think>c<stop>\n\
                 === message\n{\"thought\": \"a\", \"content\": \"b\"}\n";
    let fixture = folder.path().join("cases.fixture");
    fs::write(&fixture, cases).unwrap();
    let mut session = replay(folder.path(), &["cases.fixture"]);
    session.sees("s.fixture#good 1/2 ✓ as expected  stable, chunks of 1");
    session.press("]");
    session.sees("✗ 1 event is not as expected: x goes there");
    session.press("x");
    session.sees("`<stop>` closed `content`");
    session.press("o");
    session.sees("Outputs: 1 passed, 1 failed");
    session.press("\x1b");
    session.sees("Message");
    session.press("b");
    session.sees("-  \"content\": \"b\"");
    session.press("y");
    session.sees("blessed: cases.fixture#bad holds this message now");
    session.settles();
    session.sees("✓ as expected");
    session.sees("blessed: cases.fixture#bad holds this message now");
    session.press("q");
    assert_eq!(session.ends().code(), Some(0));
    let blessed = fs::read_to_string(&fixture).unwrap();
    assert!(blessed.ends_with("=== message\n{\"thought\": \"a\", \"content\": \"c\"}\n"), "{blessed}");
    assert!(blessed.starts_with(&cases[..cases.find("=== case bad").unwrap()]), "every other byte is as it was");
    let output = Command::new(env!("CARGO_BIN_EXE_backchat"))
        .args(["replay", "cases.fixture#bad"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains("as expected"));
}

#[test]
fn a_text_is_blessed_into_a_new_fixture() {
    let folder = folder();
    let mut session = replay(folder.path(), &OPEN);
    session.sees("char 0/51");
    session.press("by");
    session.sees("blessed: wrote output.fixture");
    session.press("q");
    assert_eq!(session.ends().code(), Some(0));
    let output = Command::new(env!("CARGO_BIN_EXE_backchat"))
        .args(["replay", "output.fixture"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.trim_end().ends_with("as expected") && table.contains("Hm, is 1 < 2?"), "{table}");
}

#[test]
fn a_new_fixture_finds_its_template() {
    let folder = folder();
    let below = folder.path().join("below");
    fs::create_dir(&below).unwrap();
    let mut session = replay(&below, &["../template.json", "../output.txt", "--prefix", "../prompt.txt"]);
    session.sees("char 0/51");
    session.press("by");
    session.sees("blessed: wrote ../output.fixture");
    session.press("q");
    assert_eq!(session.ends().code(), Some(0));
    let written = fs::read_to_string(folder.path().join("output.fixture")).unwrap();
    assert!(written.starts_with("template: template.json\n"), "{written}");
}

#[test]
fn typed_text_is_not_blessed_into_a_case() {
    let folder = folder();
    let case = "template: template.json\n=== prefix none\n=== output\nYes\n=== message\n{\"content\": \"No\"}\n";
    fs::write(folder.path().join("case.fixture"), case).unwrap();
    let mut session = replay(folder.path(), &["case.fixture"]);
    session.sees("✗ not as expected");
    session.press("i!");
    session.sees("released `!` to `content`");
    session.press("\x1b");
    session.sees("the message is complete");
    session.press("b");
    session.sees("+  \"content\": \"Yes!\"");
    session.press("y");
    session.sees("this is the message of the typed output");
    session.press("q");
    session.until("the popup gone", |screen| !screen.contents().contains("take back what was typed"));
    session.press("u");
    session.sees("✗ not as expected");
    session.press("q");
    assert_eq!(session.ends().code(), Some(0));
    assert_eq!(fs::read_to_string(folder.path().join("case.fixture")).unwrap(), case);
}

#[test]
fn a_recorded_output_keeps_its_chunks() {
    let folder = folder();
    let rows = "{\"after_ms\": 60, \"text\": \"<think>Hm\"}\n{\"after_ms\": 25, \"text\": \"</thi\"}\n{\"after_ms\": 25, \"text\": \"nk>Yes\"}\n";
    fs::write(folder.path().join("recording.jsonl"), rows).unwrap();
    let mut session = replay(folder.path(), &["template.json", "recording.jsonl"]);
    session.sees("chunks as recorded");
    session.press("2l");
    session.sees("holding `</thi`: could become the close of `thought` (`nk>` to go)");
    session.sees("chunk 2/3");
    session.press("q");
    assert_eq!(session.ends().code(), Some(0));
}

#[test]
fn an_editor_is_opened_at_the_field() {
    let folder = folder();
    let editor = folder.path().join("editor.sh");
    fs::write(&editor, "#!/bin/sh\necho \"edits $1 $2\" > edited.txt\nsed -i 's/thought/musing/' \"$1\"\n").unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let script =
        format!("VISUAL={} exec {} replay {}", editor.display(), env!("CARGO_BIN_EXE_backchat"), OPEN.join(" "));
    let mut session = Session::start(Path::new("/bin/sh"), &["-c", &script], folder.path(), (24, 80), None);
    session.sees("T thought");
    session.press("7le");
    session.sees("M musing");
    assert!(session.screen.screen().alternate_screen(), "the workbench has the terminal again");
    assert_eq!(fs::read_to_string(folder.path().join("edited.txt")).unwrap(), "edits template.json \n");
    session.press("q");
    assert_eq!(session.ends().code(), Some(0));
}

#[test]
fn a_wrong_delimiter_is_found_and_repaired_in_five_keys() {
    let folder = tempfile::tempdir().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/typo");
    for file in ["chat_template.jinja", "response_template.json", "output.txt"] {
        fs::copy(example.join(file), folder.path().join(file)).unwrap();
    }
    // The keys of the example.
    let editor = folder.path().join("editor.sh");
    fs::write(&editor, "#!/bin/sh\nsed -i 's,</calls>,</call>,' \"$1\"\n").unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let command = "replay response_template.json output.txt --chat-template chat_template.jinja --at end";
    let script = format!("VISUAL={} exec {} {command}", editor.display(), env!("CARGO_BIN_EXE_backchat"));
    let mut session = Session::start(Path::new("/bin/sh"), &["-c", &script], folder.path(), (24, 80), None);
    session.sees("x goes there");
    session.press("l");
    session.sees("✗ 24 of 73");
    for (key, seen) in [("p", "a call with no arguments"), ("\r", "get_time"), ("x", "not JSON"), ("e", "✓ 73 of 73")]
    {
        session.press(key);
        session.sees(seen);
    }
    session.press("q");
    assert_eq!(session.ends().code(), Some(0));
}

#[test]
fn an_edited_chat_template_is_proved_again() {
    let folder = tempfile::tempdir().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/typo");
    let (chat, template) = (folder.path().join("chat_template.jinja"), folder.path().join("response_template.json"));
    let chat_template = fs::read_to_string(example.join("chat_template.jinja")).unwrap();
    fs::write(&chat, &chat_template).unwrap();
    let right = fs::read_to_string(example.join("response_template.json")).unwrap().replace("</calls>", "</call>");
    fs::write(template, right).unwrap();
    fs::copy(example.join("output.txt"), folder.path().join("output.txt")).unwrap();
    let options = ["response_template.json", "output.txt", "--chat-template", "chat_template.jinja"];
    let mut session = replay(folder.path(), &options);
    session.sees("is assumed to end");
    session.press("l");
    session.sees("✓ 73 of 73");
    fs::write(&chat, chat_template.replace("</call>", "</done>")).unwrap();
    session.sees("✗ 24 of 73: `tool_calls`");
    fs::write(&chat, chat_template.replace("{%- endfor %}", "")).unwrap();
    session.sees("✗ not proved: chat_template.jinja");
    fs::write(&chat, chat_template).unwrap();
    session.sees("✓ 73 of 73");
    session.press("q");
    assert_eq!(session.ends().code(), Some(0));
}

#[test]
fn a_repair_is_applied_and_undone() {
    let folder = tempfile::tempdir().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/typo");
    for file in ["chat_template.jinja", "response_template.json", "output.txt"] {
        fs::copy(example.join(file), folder.path().join(file)).unwrap();
    }
    let template = folder.path().join("response_template.json");
    let before = fs::read_to_string(&template).unwrap();
    let options = ["response_template.json", "output.txt", "--chat-template", "chat_template.jinja", "--at", "end"];
    let mut session = replay(folder.path(), &options);
    session.sees("x goes there");
    session.press("x");
    session.sees("f repair");
    session.press("f");
    session.sees("The repair fixes 49 conversations, breaks none:");
    session.press("F");
    session.sees("u undoes it");
    session.settles();
    session.press("l");
    session.sees("✓ 73 of 73");
    let repaired = fs::read_to_string(&template).unwrap();
    assert!(repaired.contains("</call>") && !repaired.contains("</calls>"), "{repaired}");
    session.press("u");
    session.sees("1 malformed");
    session.settles();
    session.press("l");
    session.sees("✗ 24 of 73");
    assert_eq!(fs::read_to_string(&template).unwrap(), before);
    // A change that the user makes in between is kept.
    fs::write(&template, before.replace("</calls>", "</caller>")).unwrap();
    session.press("F");
    session.sees("the file changed since it was read");
    assert_eq!(fs::read_to_string(&template).unwrap(), before.replace("</calls>", "</caller>"));
    session.press("\x1b");
    session.settles();
    session.press(":quit\r");
    assert_eq!(session.ends().code(), Some(0));
    session.is_given_back();
}

#[test]
fn lists_filter_while_the_user_types() {
    let folder = folder();
    let case = |name: &str| {
        format!(
            "=== case {name}\n=== prefix none\n=== output\n<think>{name}</think>b\n=== message\n{{\"content\": \"b\"}}\n"
        )
    };
    let cases: String = ["rome", "oslo", "lima"].map(case).concat();
    fs::write(folder.path().join("cities.fixture"), format!("template: template.json\n{cases}")).unwrap();
    let mut session = replay(folder.path(), &["cities.fixture"]);
    session.sees("cities.fixture#rome 1/3");
    session.press("o");
    session.sees("type to filter");
    session.press("osl");
    session.sees("1 of 3");
    session.press("\r");
    session.sees("cities.fixture#oslo 2/3");
    session.press("//os.o/\r");
    session.sees("match 1 of");
    session.press(":copy\r");
    session.sees("the command that shows this view");
    session.press("\x1b");
    session.until("the box gone", |screen| !screen.contents().contains("the command that shows"));
    session.press("q");
    assert_eq!(session.ends().code(), Some(0));
}

#[test]
fn an_editor_is_stopped_and_continued_with_the_workbench() {
    let folder = folder();
    let script = folder.path().join("editor");
    fs::write(
        &script,
        "#!/bin/sh\ntest -t 0 || echo no terminal >> edited.txt\nkill -TSTP 0\necho back >> edited.txt\n",
    )
    .unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let (read, mut write) = std::io::pipe().unwrap();
    let line = format!("EDITOR=./editor exec '{}' replay template.json -", env!("CARGO_BIN_EXE_backchat"));
    let mut session = Session::start(Path::new("/bin/sh"), &["-c", &line], folder.path(), (24, 80), Some(read.into()));
    write.write_all(b"<think>Hm").unwrap();
    session.sees("char 9/9");
    session.press("e");
    session.stops();
    session.until("the terminal given back", |screen| !screen.alternate_screen());
    let group = format!("-{}", session.child.id());
    assert!(Command::new("kill").args(["-CONT", "--", &group]).status().unwrap().success());
    session.until("the workbench again", |screen| screen.alternate_screen() && screen.contents().contains("char 9/9"));
    assert_eq!(fs::read_to_string(folder.path().join("edited.txt")).unwrap(), "back\n");
    write.write_all(b", well").unwrap();
    session.sees("char 15/15");
    session.press("q");
    assert_eq!(session.ends().code(), Some(0));
}

#[test]
fn the_text_of_a_named_pipe_is_kept() {
    let folder = folder();
    let line = format!(
        "exec '{}' replay <(cat template.json) <(printf '<think>Hm</think>Yes') --prefix prompt.txt",
        env!("CARGO_BIN_EXE_backchat")
    );
    let mut session = Session::start(Path::new("bash"), &["-c", &line], folder.path(), (24, 80), None);
    session.sees("char 0/20");
    fs::write(folder.path().join("prompt.txt"), "<user>Again\n<bot>").unwrap();
    session.sees("Again");
    session.sees("char 0/20");
    session.press("q");
    assert_eq!(session.ends().code(), Some(0));
}

#[test]
fn an_output_can_arrive_through_a_pipe() {
    let folder = folder();
    let (read, mut write) = std::io::pipe().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_backchat"));
    let arguments = ["replay", "template.json", "--prefix", "prompt.txt"];
    let mut session = Session::start(binary, &arguments, folder.path(), (24, 80), Some(read.into()));
    write.write_all(OUTPUT.as_bytes()).unwrap();
    drop(write);
    session.sees("char 0/51");
    session.press("G");
    session.sees("char 51/51");
    session.press("q");
    assert_eq!(session.ends().code(), Some(0));
    session.is_given_back();
}

#[test]
fn every_signal_restores_the_terminal() {
    for (signal, code) in [("TERM", 143), ("INT", 130), ("HUP", 129)] {
        let folder = folder();
        let mut session = replay(folder.path(), &OPEN);
        session.sees("char 0/51");
        session.signal(signal);
        assert_eq!(session.ends().code(), Some(code), "{signal}");
        session.is_given_back();
    }
}

#[test]
fn suspended_and_resumed() {
    let folder = folder();
    let mut session = replay(folder.path(), &OPEN);
    session.sees("char 0/51");
    for stop in ["key", "signal"] {
        match stop {
            "key" => session.press("\x1a"),
            _ => session.signal("TSTP"),
        }
        session.is_given_back();
        session.stops();
        session.signal("CONT");
        session.until("the workbench again", |screen| {
            screen.alternate_screen() && screen.contents().contains("chunk 0/51")
        });
    }
    session.press("3l");
    session.sees("char 3/51");
    session.press("q");
    assert_eq!(session.ends().code(), Some(0));
    session.is_given_back();
}

#[test]
fn a_resized_screen_is_redrawn() {
    let folder = folder();
    let (pty, pts) = pty_process::blocking::open().unwrap();
    pty.resize(pty_process::Size::new(24, 80)).unwrap();
    let command = pty_process::blocking::Command::new(env!("CARGO_BIN_EXE_backchat"));
    let child = command.arg("replay").args(OPEN).current_dir(folder.path()).env("TERM", "xterm").spawn(pts).unwrap();
    let fd = std::os::fd::OwnedFd::from(pty);
    let mut reader = fs::File::from(fd.try_clone().unwrap());
    let (tell, said) = channel();
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = reader.read(&mut bytes) {
            if tell.send(bytes[..count].to_vec()).is_err() {
                break;
            }
        }
    });
    let keyboard = fs::File::from(fd.try_clone().unwrap());
    let screen = vt100::Parser::new(24, 80, 0);
    let mut session = Session { child, keyboard: Box::new(keyboard), said, screen };
    session.sees("Message");
    let sized = Command::new("stty").args(["rows", "10", "cols", "40"]).stdin(Stdio::from(fd)).status().unwrap();
    assert!(sized.success());
    session.screen.screen_mut().set_size(10, 40);
    session.until("one pane only", |screen| {
        let contents = screen.contents();
        contents.contains("Output") && !contents.contains("Message") && contents.contains("quit")
    });
    session.press("q");
    assert_eq!(session.ends().code(), Some(0));
}

#[test]
fn without_a_terminal_the_events_are_printed() {
    let folder = folder();
    let output = Command::new(env!("CARGO_BIN_EXE_backchat"))
        .arg("replay")
        .args(OPEN)
        .args(["--chunks", "3"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    insta::assert_snapshot!(String::from_utf8(output.stdout).unwrap());
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn every_requested_answer_is_printed() {
    let folder = folder();
    fs::write(folder.path().join("other.json"), TEMPLATE.replace("thought", "musing")).unwrap();
    let cases = "template: gone.json\n=== case one\n=== prefix none\n=== output\na\n=== case two\n=== prefix none\n=== output\nb\n";
    fs::write(folder.path().join("moved.fixture"), cases).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_backchat"));
        let output = command.arg("replay").args(arguments).current_dir(folder.path()).stdin(Stdio::null()).output();
        let output = output.unwrap();
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (table, _) = run(&[&OPEN[..], &["--mode", "both"]].concat());
    assert!(table.contains("== stable\n") && table.contains("\n== reference\n"), "{table}");
    let (table, error) = run(&[&OPEN[..], &["--with", "other.json", "--at", "3"]].concat());
    assert!(table.contains("== template.json\n") && table.contains("\n== other.json\n"), "{table}");
    assert_eq!(error, "note: --at is for the screen; the table shows every event\n");
    let (_, error) = run(&["template.json", "output.txt"]);
    assert_eq!(error, "note: without --prefix, the prompt is assumed to end at the start anchor\n");
    let (_, error) = run(&["template.json", "missing.txt"]);
    assert!(error.starts_with("error[unreadable-file]"), "what is assumed does not matter here: {error}");
    let (_, error) = run(&["moved.fixture"]);
    assert_eq!(error.matches("cannot read the file").count(), 1, "{error}");
}

#[test]
fn two_answers_to_many_outputs_end_with_the_causes_of_their_differences() {
    let folder = folder();
    let other = TEMPLATE.replace("</think>", "</thinking>");
    assert_ne!(other, TEMPLATE);
    fs::write(folder.path().join("other.json"), other).unwrap();
    let rows =
        [("a", "<think>Hm, so.</think>Yes, it is."), ("b", "<think>Hm.</think>Yes."), ("c", "Yes."), ("d", "No.")];
    let row = |(id, text): (&str, &str)| format!("{{\"id\": {id:?}, \"prefix\": \"<bot>\", \"text\": {text:?}}}\n");
    fs::write(folder.path().join("rows.jsonl"), rows.map(row).concat()).unwrap();
    let run = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_backchat"));
        let arguments = ["replay", "template.json", "rows.jsonl", "--with", "other.json"];
        let output = command.args(arguments).args(more).current_dir(folder.path()).stdin(Stdio::null()).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    insta::assert_snapshot!("two_answers_to_many", run(&[]));
    fs::write(folder.path().join("other.json"), TEMPLATE).unwrap();
    assert_eq!(run(&[]), "0 of 4 outputs differ with other.json instead of template.json\n");
}

#[test]
fn unreadable_inputs_are_reported_before_the_screen_opens() {
    let folder = folder();
    fs::write(folder.path().join("broken.json"), "{\"fields\": {}}").unwrap();
    fs::write(folder.path().join("empty.jsonl"), "").unwrap();
    fs::write(folder.path().join("two.jsonl"), "{\"text\": \"a\"}\n{\"text\": \"b\"}\n").unwrap();
    for (arguments, said) in [
        (&["missing.json", "output.txt"][..], "cannot read the file"),
        (&["broken.json", "output.txt"], "start_anchor"),
        (&["template.json", "missing.txt"], "missing.txt"),
        (&["-", "-"], "standard input is named more than once"),
        (&["template.json", "empty.jsonl"], "the file holds no output: it is empty"),
        (&["template.json", "output.txt", "--chunks", "often"], "use `recorded`, `whole`"),
        (&["template.json", "two.jsonl", "--with", "missing.json"], "missing.json"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_backchat"))
            .arg("replay")
            .args(arguments)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(said), "{arguments:?}: {error}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn keys_are_handled_during_background_work() {
    let folder = folder();
    let long = "<think>".to_owned() + &"lorem ipsum < dolor ".repeat(50_000) + "</think>Yes.<stop>";
    fs::write(folder.path().join("output.txt"), long).unwrap();
    let mut session = replay(folder.path(), &OPEN);
    session.sees("% read");
    session.sees("char 0/1000025");
    session.press("w");
    session.sees("trying cuts, near markers first");
    session.press("\x1b");
    session.sees("the search for a cut was stopped");
    session.press("w");
    session.sees("trying cuts, near markers first");
    session.press("q");
    assert_eq!(session.ends().code(), Some(0));
}

#[test]
fn an_output_is_typed_if_none_is_named() {
    let folder = folder();
    let mut session = replay(folder.path(), &["template.json", "--prefix", "prompt.txt"]);
    session.sees("type or paste");
    session.press("<think>Hm");
    session.sees("released `m` to `thought`");
    session.press("\x1b");
    session.sees("the message is complete");
    session.press("q");
    assert_eq!(session.ends().code(), Some(0));
}

#[test]
fn an_output_is_shown_while_it_arrives() {
    let folder = folder();
    let (read, mut write) = std::io::pipe().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_backchat"));
    let arguments = ["replay", "template.json", "-", "--prefix", "prompt.txt"];
    let mut session = Session::start(binary, &arguments, folder.path(), (24, 80), Some(read.into()));
    session.sees("char 0/0");
    session.sees("<stdin> … more to come");
    write.write_all(b"<think>Hm, is 1 </thi").unwrap();
    session.sees("char 21/21");
    session.sees("could become the close of `thought`");
    session.press("jjG");
    session.settles();
    assert!(session.screen.screen().contents().contains("could become the close"), "the end is not known yet");
    session.press("3,");
    session.sees("char 18/21");
    write.write_all(b"nk>Yes. caf\xc3").unwrap();
    session.sees("char 18/32");
    session.press("?");
    session.sees("j k scroll, esc closes");
    session.press("\x1b");
    session.until("the keys gone", |screen| !screen.contents().contains("j k scroll"));
    session.press("G");
    session.sees("char 32/32");
    write.write_all(b"\xa9.<stop>").unwrap();
    session.sees("char 40/40");
    session.sees("closed `content`");
    drop(write);
    session.sees("the message is complete");
    assert!(!session.screen.screen().contents().contains("more to come"));
    session.press("q");
    assert_eq!(session.ends().code(), Some(0));
    session.is_given_back();
}

#[test]
fn a_list_grows_while_its_file_is_followed() {
    let folder = folder();
    let mut file = fs::File::create(folder.path().join("record.jsonl")).unwrap();
    let row = |id: &str, text: &str| format!("{{\"id\": \"{id}\", \"prefix\": \"<bot>\", \"text\": \"{text}\"}}\n");
    let mut session = replay(folder.path(), &["template.json", "--follow", "record.jsonl"]);
    session.sees("waiting for the first row of record.jsonl");
    file.write_all(row("one", "<think>Hm.</think>Alpha.<stop>").as_bytes()).unwrap();
    session.sees("record.jsonl#one");
    session.sees("Alpha.");
    session.sees("char 30/30");
    file.write_all(row("two", "Beta.<stop>").as_bytes()).unwrap();
    session.sees("record.jsonl#two 2/2");
    session.sees("char 11/11");
    session.press("\x1b[H");
    session.sees("char 0/11");
    file.write_all((row("three", "Gamma.") + "oops\n").as_bytes()).unwrap();
    session.sees("record.jsonl#two 2/4");
    session.sees("char 0/11");
    session.press("]");
    session.sees("record.jsonl#three 3/4");
    session.sees("Gamma.");
    session.press("]");
    session.sees("not valid JSON");
    session.press("q");
    assert_eq!(session.ends().code(), Some(0));
    session.is_given_back();
}

#[test]
fn the_start_position_waits_for_its_text() {
    let folder = folder();
    let (read, mut write) = std::io::pipe().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_backchat"));
    let arguments = ["replay", "template.json", "--prefix", "prompt.txt", "--at", "12", "--chunks", "1"];
    let mut session = Session::start(binary, &arguments, folder.path(), (24, 80), Some(read.into()));
    write.write_all(b"<think>").unwrap();
    session.sees("char 7/7");
    write.write_all(b"Hm, is it so?").unwrap();
    session.sees("char 12/20");
    drop(write);
    session.until("the end", |screen| !screen.contents().contains("more to come"));
    session.sees("char 12/20");
    session.press("q");
    assert_eq!(session.ends().code(), Some(0));
}

#[test]
fn a_pipe_without_text_is_reported() {
    let folder = folder();
    let (read, mut write) = std::io::pipe().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_backchat"));
    let mut session = Session::start(binary, &["replay", "template.json"], folder.path(), (24, 80), Some(read.into()));
    write.write_all(b"<think>").unwrap();
    session.sees("char 7/7");
    write.write_all(b"Hm\xff").unwrap();
    session.sees("not UTF-8");
    session.sees("char 7/7");
    session.press("q");
    assert_eq!(session.ends().code(), Some(0));
}

#[test]
fn a_row_with_its_own_template_is_edited_at_its_line() {
    let folder = folder();
    let template = TEMPLATE.replace('\n', "");
    let rows = format!(
        "{{\"id\": \"a\", \"template\": {template}, \"prefix\": \"\", \"text\": \"x\"}}\n\
         {{\"id\": \"b\", \"template\": {template}, \"prefix\": \"\", \"text\": \"<think>y</think>z\"}}\n"
    );
    fs::write(folder.path().join("rows.jsonl"), rows).unwrap();
    let editor = folder.path().join("vi");
    fs::write(&editor, "#!/bin/sh\necho \"edits $1 $2\" > edited.txt\nexit 3\n").unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let script = format!("VISUAL={} exec {} replay rows.jsonl", editor.display(), env!("CARGO_BIN_EXE_backchat"));
    let mut session = Session::start(Path::new("/bin/sh"), &["-c", &script], folder.path(), (24, 80), None);
    session.sees("rows.jsonl#a 1/2");
    session.press("]");
    session.sees("rows.jsonl#b 2/2");
    session.press("e");
    session.sees("ended with exit status: 3");
    assert_eq!(fs::read_to_string(folder.path().join("edited.txt")).unwrap(), "edits +2 rows.jsonl\n");
    session.press("l");
    session.until("the complaint gone", |screen| !screen.contents().contains("exit status"));
    session.press("q");
    assert_eq!(session.ends().code(), Some(0));
}

#[test]
fn the_command_that_is_copied_shows_this_view() {
    let folder = folder();
    fs::write(folder.path().join("other.json"), TEMPLATE.replace("thought", "musing")).unwrap();
    let views = [
        (&["--mode", "both"][..], "rw", "--chunks whole --mode both --at 0"),
        (&["--with", "other.json"], "", "--with other.json --chunks 1 --at 7"),
        (&["--with", "other.json"], "mmmm", "prompt.txt --chunks 1 --mode both --at"),
        (
            &["--chat-template", "a b.jinja", "--set", "think=true", "--chunks", "cut:17"],
            "3.",
            "--chat-template 'a b.jinja' --set think=true --chunks cut:3,17 --at 3",
        ),
        (&[], "G", "--chunks 1 --at end"),
    ];
    let path = folder.path();
    // A view is mostly waited for.
    std::thread::scope(|scope| {
        for (options, keys, shown) in views {
            scope.spawn(move || copies_this_view(path, options, keys, shown));
        }
    });
}

fn copies_this_view(folder: &Path, options: &[&str], keys: &str, shown: &str) {
    let mut session = replay(folder, &[&OPEN[..], options].concat());
    session.sees("char ");
    session.press(keys);
    session.settles();
    session.press("yc");
    session.sees("Copied");
    session.settles();
    let screen = lines_of(session.screen.screen());
    let copied: String = screen
        .lines()
        .filter_map(|line| line.split_once("│ ")?.1.rsplit_once('│'))
        .map(|(line, _)| line.trim_end().to_owned() + " ")
        .collect();
    assert!(copied.contains(shown), "{shown}: {screen}");
    session.press("\x1b");
    session.until("the popup gone", |screen| !screen.contents().contains("Copied"));
    session.press("q");
    assert_eq!(session.ends().code(), Some(0));
}

/// The screens of `docs/workbench.md`: each fence after a line `<!-- screen: ARGUMENTS | KEYS -->`. A key `…TEXT`
/// waits until the screen shows the text.
///
/// `INSTA_UPDATE=always cargo test --test it workbench::` redraws them; look at the change.
#[test]
fn the_screens_in_the_document_match() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("docs/workbench.md");
    let text = fs::read_to_string(&path).unwrap();
    let mut pieces = text.split("<!-- screen: ");
    let mut drawn = pieces.next().unwrap().to_owned();
    let pieces: Vec<&str> = pieces.collect();
    assert_eq!(pieces.len(), 6, "the screens were not found");
    let pieces: Vec<[&str; 3]> = pieces
        .iter()
        .map(|piece| {
            let (asked, rest) = piece.split_once(" -->\n```text\n").unwrap();
            let (shown, rest) = rest.split_once("```\n").unwrap();
            [asked, shown, rest]
        })
        .collect();
    // A screen is mostly waited for.
    std::thread::scope(|scope| {
        let screens: Vec<_> =
            pieces.iter().map(|&[asked, shown, _]| scope.spawn(move || screen_of(root, asked, shown))).collect();
        for (screen, [asked, _, rest]) in screens.into_iter().zip(&pieces) {
            let screen = screen.join().unwrap();
            drawn += &format!("<!-- screen: {asked} -->\n```text\n{screen}```\n{rest}");
        }
    });
    if crate::blesses() {
        fs::write(path, drawn).unwrap();
    } else {
        assert_eq!(drawn, text);
    }
}

/// The picture of the README, drawn from a screen: `docs/workbench.svg`.
#[test]
fn the_picture_in_the_documents_matches_the_screen() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("docs/workbench.svg");
    let arguments = ["replay", "examples/broken/blank_line.fixture", "--theme", "dark"];
    let binary = Path::new(env!("CARGO_BIN_EXE_backchat"));
    let mut session = Session::start(binary, &arguments, root, (26, 100), None);
    session.sees("x goes there");
    session.press("x");
    session.sees("event 12 is not as expected");
    session.settles();
    let title = "The workbench at the event that erased the content of the message";
    let drawn = crate::svg::svg(session.screen.screen(), title);
    roxmltree::Document::parse(&drawn).unwrap();
    if crate::blesses() {
        fs::write(path, drawn).unwrap();
    } else {
        assert!(
            drawn == fs::read_to_string(path).unwrap(),
            "docs/workbench.svg: run INSTA_UPDATE=always cargo test --test it workbench::"
        );
    }
}

/// The screen after these arguments and keys; waits for the expected one if it is known.
fn screen_of(root: &Path, asked: &str, shown: &str) -> String {
    let (arguments, keys) = asked.split_once(" | ").unwrap_or((asked, ""));
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    let mut session = replay(root, &arguments);
    session.sees("char 0/");
    for key in keys.split_whitespace() {
        session.settles();
        match key.strip_prefix('…') {
            Some(awaited) => session.sees(awaited),
            None => session.press(&key.replace('⏎', "\r")),
        }
    }
    if !crate::blesses() {
        session.until(&format!("{asked}\n{shown}"), |screen| lines_of(screen) == shown);
    }
    session.settles();
    lines_of(session.screen.screen())
}

/// The rows of a screen without trailing blanks.
fn lines_of(screen: &vt100::Screen) -> String {
    screen.rows(0, 80).map(|row| row.trim_end().to_owned() + "\n").collect()
}

/// Outputs whose derivation panics.
struct Trap {
    names: Vec<String>,
}

impl Outputs for Trap {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn material(&self, _: usize) -> Result<Material, Problem> {
        Ok(Material {
            template: backchat::Template::load(TEMPLATE).unwrap().template,
            template_file: String::new(),
            template_text: TEMPLATE.to_owned(),
            template_span: 0..TEMPLATE.len(),
            other: None,
            prefix: String::new(),
            output: OUTPUT.to_owned(),
            chunks: None,
            tools: None,
            recovery: Default::default(),
            expected: None,
            is_excused: false,
        })
    }

    fn files(&self, _: usize) -> Vec<PathBuf> {
        Vec::new()
    }

    fn bless(&self, _: usize, _: &Material, _: &Object) -> Result<String, Problem> {
        Ok(String::new())
    }

    fn derive(&self, _: usize) -> Result<Derived, Problem> {
        panic!("the trap was sprung")
    }

    fn place(&self, _: usize) -> Option<(PathBuf, usize)> {
        None
    }

    fn can_derive(&self, _: usize) -> bool {
        true
    }

    fn command(&self, _: usize, _: &View) -> Result<String, String> {
        let caught = std::panic::catch_unwind(|| panic!("a small trap")).is_err();
        Err(format!("caught: {caught}"))
    }
}

/// The program that the crash test runs in its terminal; by itself it does nothing.
#[test]
fn trapped_workbench() {
    if std::env::var_os("BACKCHAT_TEST_TRAP").is_none() {
        return;
    }
    let mut app =
        App::new(Box::new(Trap { names: vec!["trap".to_owned()] }), &Start::default(), Theme::Dark).ok().unwrap();
    backchat_workbench::tui::run(&mut app).unwrap();
}

#[test]
fn a_panic_restores_the_terminal_and_is_reported() {
    let program = std::env::current_exe().unwrap();
    let script =
        format!("BACKCHAT_TEST_TRAP=1 exec '{}' --exact workbench::trapped_workbench --nocapture", program.display());
    let folder = folder();
    let mut session = Session::start(Path::new("/bin/sh"), &["-c", &script], folder.path(), (24, 80), None);
    session.sees("nothing yet: the output begins here");
    session.press("yc");
    session.sees("caught: true");
    session.settles();
    assert!(session.screen.screen().alternate_screen(), "a panic that is caught leaves the screen alone");
    session.sees("nothing yet: the output begins here");
    session.press("d");
    assert_ne!(session.ends().code(), Some(0));
    session.is_given_back();
    session.sees("the trap was sprung");
}
