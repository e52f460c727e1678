//! `backchat review`: the list without a terminal, and the keys in a terminal.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::support::outcome_in;

const TEMPLATE: &str = r#"{"start_anchor": "<bot>", "defaults": {"role": "assistant"}, "fields": {
  "thought": {"open": "<think>", "close": "</think>"},
  "content": {"close": "<end>"}
}}"#;

/// Four cases: one that passes, two whose messages differ, one without a message. Comments, odd spacing and the order
/// of keys must be kept.
const CASES: &str = "# What the model wrote.\ntemplate: t.json\n\n=== prefix\n<bot>\n=== case good\n=== output\nHi\n\
=== message\n{\"content\":   \"Hi\", \"role\": \"assistant\"}\n\
=== case other content\n# A greeting.\n=== output\n<think>a</think>Hello<end>\n\
=== message\n{\"role\": \"assistant\", \"thought\": \"a\", \"content\": \"Hallo\"}\n\n\
=== case no thought\n=== output\n<think>b</think>Hello<end>\n=== message\n{\"role\": \"assistant\",   \"content\": \"Hello\"}\n\
=== case unsaid\n=== output\nBye<end>\n";

fn project(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t.json"), TEMPLATE).unwrap();
    files.iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).unwrap());
    folder
}

/// The exit code, standard output and standard error without a terminal.
fn review(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    outcome_in(folder, &[&["review"], arguments].concat())
}

#[test]
fn without_a_terminal_the_pending_differences_are_listed() {
    let folder = project(&[("a.fixture", CASES)]);
    let (code, out, err) = review(folder.path(), &[]);
    assert_eq!(
        out,
        "a.fixture#other content\n  the message differs: content: expected \"Hallo\", found \"Hello\"\n\
         a.fixture#no thought\n  the message differs: thought: expected nothing, found \"b\"\n\
         a.fixture#unsaid\n  the case has no expected message\n"
    );
    assert_eq!((code, err.as_str()), (1, "3 cases are pending; `backchat review` in a terminal decides one by one\n"));
    assert_eq!(fs::read_to_string(folder.path().join("a.fixture")).unwrap(), CASES, "no file is written");
    let (code, out, err) = review(folder.path(), &["--filter", "good"]);
    assert_eq!((code, out.as_str(), err.as_str()), (0, "", "nothing is pending\n"));
    for (arguments, said) in [
        (&["--filter", "no such case"][..], "no case in . has `no such case` in its name\n"),
        (&["--filter", "no such case", "-q"], ""),
    ] {
        let (code, _, err) = review(folder.path(), arguments);
        assert_eq!((code, err.as_str()), (4, said), "as `check` does");
    }
    let (code, _, err) = review(folder.path(), &["-q", "nowhere"]);
    assert_eq!(code, 2);
    assert!(err.contains("cannot read the file"), "{err}");
}

#[test]
fn only_failures_that_another_expectation_resolves_are_pending() {
    // The call is invented in the truncated text: no expectation resolves that.
    let template = r#"{"start_anchor": "<bot>", "fields": {
      "tool_calls": {"open_pattern": "<call (?P<name>\\w+)", "close": "</call>", "repeats": true,
        "transform": {"function": {"name": "{name}", "arguments": "{content}"}}}
    }}"#;
    let truncated = "template: t.json\n=== prefix\n<bot>\n=== output\n<call add>1</call>\n=== message\n\
                     {\"tool_calls\": [{\"function\": {\"name\": \"add\", \"arguments\": \">1\"}}]}\n";
    let broken = "template: gone.json\n=== prefix none\n=== output\nHi\n=== message\n{}\n";
    let folder = project(&[("t.json", template), ("a.fixture", truncated)]);
    assert_eq!(review(folder.path(), &[]), (0, String::new(), "nothing is pending\n".to_owned()));
    fs::write(folder.path().join("b.fixture"), broken).unwrap();
    let (code, out, err) = review(folder.path(), &[]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert_eq!(err, "nothing is pending\n1 case could not run; `backchat check` says why\n");
    let (code, _, err) = review(folder.path(), &["b.fixture", "--template", "t.json"]);
    assert_eq!((code, err.as_str()), (0, "nothing is pending\n"), "another template reads it");
}

#[cfg(all(unix, feature = "tui"))]
mod in_a_terminal {
    use super::*;
    use crate::terminal::Session;

    fn start(folder: &Path) -> Session {
        Session::backchat(folder, &["review"])
    }

    fn cases(folder: &Path) -> String {
        fs::read_to_string(folder.join("a.fixture")).unwrap()
    }

    #[test]
    fn accept_reject_skip() {
        let folder = project(&[("a.fixture", CASES)]);
        let mut session = start(folder.path());
        session.sees("1/3  a.fixture#other content");
        session.sees("the message differs: content: expected \"Hallo\", found \"Hello\"");
        session.sees("-   \"content\": \"Hallo\"");
        session.press("a");
        session.sees("2/3  a.fixture#no thought");
        let accepted = CASES.replace(
            "{\"role\": \"assistant\", \"thought\": \"a\", \"content\": \"Hallo\"}",
            "{\"role\": \"assistant\", \"thought\": \"a\", \"content\": \"Hello\"}",
        );
        assert_eq!(cases(folder.path()), accepted, "only the one value is written");
        session.press("r");
        session.sees("3/3  a.fixture#unsaid");
        session.sees("1 accepted, 1 rejected");
        session.press("s");
        session.sees("every case is decided");
        session.press("\r");
        assert_eq!(session.ends().code(), Some(1));
        session.is_given_back();
        session.sees("1 accepted, 1 rejected, 1 left undecided");
        session.sees("rejected: correct the template; `backchat replay 'a.fixture#no thought'`");
        assert_eq!(cases(folder.path()), accepted);
    }

    #[test]
    fn accepting_everything_exits_with_0() {
        let folder = project(&[("a.fixture", CASES)]);
        let mut session = start(folder.path());
        session.sees("1/3");
        // Without waiting: queued keys are handled one by one.
        session.press("aaaq");
        assert_eq!(session.ends().code(), Some(0));
        session.sees("3 accepted");
        assert!(cases(folder.path()).ends_with(
            "=== case unsaid\n=== output\nBye<end>\n=== message\n{\n  \"role\": \"assistant\",\n  \"content\": \"Bye\"\n}\n"
        ));
        let kept = "{\"role\": \"assistant\",   \"content\": \"Hello\", \"thought\": \"b\"}\n";
        assert!(cases(folder.path()).contains(kept), "{}", cases(folder.path()));
        assert_eq!(review(folder.path(), &[]).0, 0);
        let mut session = start(folder.path());
        session.sees("nothing is pending");
        assert_eq!(session.ends().code(), Some(0));
    }

    /// Three cases lost the same line, one of them elsewhere in its message; one lost another line.
    const ALIKE: &str = "template: t.json\n=== prefix\n<bot>\n\
=== case one\n=== output\n<think>a</think>Hello<end>\n\
=== message\n{\"role\": \"assistant\", \"thought\": \"a\", \"content\": \"Hallo\"}\n\
=== case other\n=== output\nBye<end>\n=== message\n{\"role\": \"assistant\", \"content\": \"By\"}\n\
=== case two\n=== output\nHello<end>\n=== message\n{\"content\": \"Hallo\", \"role\": \"assistant\"}\n\
=== case three\n=== output\nHello<end>\n=== message\n{\"role\": \"assistant\", \"content\": \"Hallo\"}\n";

    #[test]
    fn equal_differences_are_accepted_and_undone_together() {
        let folder = project(&[("a.fixture", ALIKE)]);
        let mut session = start(folder.path());
        session.sees("1/4  a.fixture#one");
        session.sees("A accepts all 3 with this difference");
        session.press("A");
        session.sees("4/4  a.fixture#other");
        session.sees("accepted 3 cases with the same difference; u undoes it");
        assert_eq!(cases(folder.path()), ALIKE.replace("Hallo", "Hello"));
        session.press("b");
        session.sees("3/4  a.fixture#three");
        session.sees("decided: accepted");
        session.press("u");
        session.sees("1/4  a.fixture#one");
        session.sees("undone");
        assert_eq!(cases(folder.path()), ALIKE, "to the byte");
        session.press("A");
        session.sees("4/4");
        let edited = cases(folder.path()).replace("By\"", "Bye!\"");
        fs::write(folder.path().join("a.fixture"), &edited).unwrap();
        session.press("u");
        session.sees("the file changed since it was written; it stays as it is");
        assert_eq!(cases(folder.path()), edited);
        session.press("\x1b");
        session.sees("leave the review, 1 undecided? y leaves");
        session.press("y");
        assert_eq!(session.ends().code(), Some(1));
        session.is_given_back();
        session.sees("3 accepted, 1 left undecided");
    }

    #[test]
    fn the_workbench_opens_a_case_and_returns() {
        let folder = project(&[("a.fixture", CASES)]);
        let mut session = start(folder.path());
        session.sees("1/3  a.fixture#other content");
        session.press("o");
        session.sees("─ Events ");
        session.sees("not as expected");
        session.press("q");
        session.sees("1/3  a.fixture#other content");
        session.press("o");
        session.sees("─ Events ");
        // It was blessed in the workbench, so nothing is left to decide.
        session.press("by");
        session.sees("blessed: a.fixture#other content holds this message now");
        session.press("q");
        session.sees("2/3  a.fixture#no thought");
        session.press("q");
        assert_eq!(session.ends().code(), Some(1));
        session.is_given_back();
        session.sees("1 resolved elsewhere, 2 left undecided");
    }

    #[test]
    fn a_changed_file_is_not_overwritten() {
        let folder = project(&[("a.fixture", CASES)]);
        let mut session = start(folder.path());
        session.sees("1/3");
        let edited = CASES.replace("A greeting.", "A greeting, edited.");
        fs::write(folder.path().join("a.fixture"), &edited).unwrap();
        session.press("a");
        session.sees("the file changed since it was read; look again");
        assert_eq!(cases(folder.path()), edited);
        session.press("a");
        session.sees("2/3");
        assert!(cases(folder.path()).contains("A greeting, edited."));
        assert!(cases(folder.path()).contains("\"thought\": \"a\", \"content\": \"Hello\"}\n"));
        session.press("q");
        assert_eq!(session.ends().code(), Some(1));
    }

    #[test]
    fn a_signal_restores_the_terminal() {
        let folder = project(&[("a.fixture", CASES)]);
        let mut session = start(folder.path());
        session.sees("1/3");
        // Earlier writes make no difference.
        session.press("a");
        session.sees("2/3");
        let accepted = cases(folder.path());
        assert_ne!(accepted, CASES);
        session.signal("TERM");
        assert_eq!(session.ends().code(), Some(128 + 15));
        session.is_given_back();
        assert_eq!(cases(folder.path()), accepted);
    }
}
