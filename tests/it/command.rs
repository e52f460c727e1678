//! The command as its user meets it: help, answers, exit codes.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{backchat, text};

#[test]
fn the_schema_is_printed() {
    let output = backchat(&["schema"]);
    assert_eq!(output.status.code(), Some(0));
    let printed = backchat::json::read(text(&output.stdout)).unwrap();
    assert_eq!(printed, backchat_parser::template::schema());
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn what_is_not_understood_cannot_run() {
    for arguments in [&["nonsense"][..], &["schema", "--nonsense"], &["--color", "pink", "schema"], &[]] {
        let output = backchat(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
        assert_ne!(text(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
fn an_option_that_would_have_no_effect_is_refused() {
    for arguments in [
        &["render", "a.jinja", "--jsonl", "rows", "--tools", "t"][..],
        &["convert", "schema", "--output", "o", "--remove"],
        &["check", "--bless", "--from", "r"],
        &["check", "--list", "--set", "a=1"],
        &["check", "--new", "model", "--force"],
        &["derive", "model", "--write", "--resume"],
        &["derive", "model", "--output", "o", "--partial"],
        &["derive", "--jsonl", "rows", "--playground", "p"],
        &["doctor", "--jsonl", "rows", "--playground", "p"],
    ] {
        let output = backchat(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains("cannot be used with"), "{arguments:?}: {}", text(&output.stderr));
    }
}

#[test]
fn help_and_version_are_answers() {
    let help = backchat(&["schema", "--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(text(&help.stdout).contains("Examples:\n  backchat schema"));
    let version = backchat(&["--version"]);
    assert_eq!(text(&version.stdout), concat!("backchat ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn the_short_help_of_a_command_ends_with_its_examples() {
    for name in ["derive", "lint", "parse", "audit", "check", "prove", "render", "doctor", "grammar", "serve"] {
        let [short, long] = ["-h", "--help"].map(|option| text(&backchat(&[name, option]).stdout).to_owned());
        assert!(short.contains(&format!("Examples:\n  backchat {name} ")), "{short}");
        assert!(!short.contains("Exit codes:") && long.contains("Exit codes:"), "{name}");
    }
}

#[test]
fn a_command_that_is_given_nothing_shows_its_usual_calls() {
    for (name, needed) in
        [("derive", "<SOURCE>"), ("lint", "<TEMPLATES>"), ("prove", "--chat-template <SOURCE>, <TEMPLATE>")]
    {
        let output = backchat(&[name]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2));
        let begin = format!("error: `backchat {name}` needs {needed}. The usual calls:\n\n  backchat {name} ");
        assert!(said.starts_with(&begin) && said.lines().count() == 6, "{said}");
    }
    // With options, what is missing is said as for every command line.
    assert!(text(&backchat(&["lint", "--quiet"]).stderr).contains("required arguments were not provided"));
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_backchat"))
        .arg("schema")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

#[test]
fn a_misspelled_command_or_option_is_guessed() {
    for (arguments, guess) in [(&["derve"][..], "derive"), (&["schema", "--quite"], "--quiet")] {
        let said = backchat(arguments).stderr;
        assert!(text(&said).contains(&format!("'{guess}'")), "{}", text(&said));
    }
}

#[test]
fn the_nearest_command_is_suggested_first() {
    let said = backchat(&["rendr"]).stderr;
    let (render, unrender) = (text(&said).find("'render'"), text(&said).find("'unrender'"));
    assert!(render.is_some() && render < unrender, "{}", text(&said));
}

/// What bash offers for the last word of a line.
#[cfg(unix)]
fn completed(words: &[&str]) -> Vec<String> {
    completed_in(Path::new("."), words)
}

/// The same in a folder.
#[cfg(unix)]
fn completed_in(folder: &Path, words: &[&str]) -> Vec<String> {
    let script = "source <(\"$0\" completions bash); COMP_WORDS=(backchat \"$@\"); COMP_CWORD=$#;\
        _backchat backchat \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let bash = ["--noprofile", "--norc", "-c", script, env!("CARGO_BIN_EXE_backchat")];
    let output = std::process::Command::new("bash").args(bash).args(words).current_dir(folder).output().unwrap();
    text(&output.stdout).lines().map(str::to_owned).collect()
}

#[cfg(unix)]
#[test]
fn completions_offer_the_values_of_options() {
    for (words, offered) in [
        (&["derive", "--target", "s"][..], &["sglang", "smg"][..]),
        (&["lint", "--target", "p"], &["portable"]),
        (&["lint", "--deny", "close-in-s"], &["close-in-string"]),
        (&["lint", "--explain", "al"], &["all"]),
        (&["parse", "--recover", "al"], &["all"]),
        (&["serve", "--recover", "stray"], &["stray-closers"]),
        (&["doctor", "--require", "prefix_t"], &["prefix_tool"]),
        (&["prove", "--format", ""], &["text", "json"]),
    ] {
        assert_eq!(completed(words), offered, "{words:?}");
    }
    assert!(completed(&["lint", "--allow", ""]).len() > 20, "every rule");
}

#[cfg(unix)]
#[test]
fn completions_keep_the_spaces_in_names_of_files() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("my model/sub")).unwrap();
    std::fs::write(folder.path().join("my template.jinja"), "").unwrap();
    let both = &["my model", "my template.jinja"][..];
    for (words, offered) in [
        (&["derive", "x.jinja", "-o", "my"][..], both),
        (&["derive", "x", "--samples", "my"], both),
        (&["derive", "x", "--samples", "my model/"], &["my model/sub"]),
        (&["prove", "x", "--chat-template", "my"], both),
        (&["lint", "--config", "my"], both),
        (&["check", "--template", "my"], both),
        // The mask needs `=`: the next word is the source.
        (&["render", "--mask", "my"], both),
        (&["render", "--set", "my"], &["my"]),
    ] {
        assert_eq!(completed_in(folder.path(), words), offered, "{words:?}");
    }
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = backchat(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0));
        assert!(text(&output.stdout).contains("--reasoning-field") || shell == "fish", "{shell}");
        assert!(text(&output.stdout).contains("reasoning-field"), "{shell}");
    }
    let folder = tempfile::tempdir().unwrap();
    let output = backchat(&["man", folder.path().to_str().unwrap()]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), ""));
    let page = std::fs::read_to_string(folder.path().join("backchat-derive.1")).unwrap();
    assert!(page.contains("\\-\\-reasoning\\-field"), "{page}");
    assert!(text(&backchat(&["man"]).stdout).contains("backchat\\-derive(1)"));
}
