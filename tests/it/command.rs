//! The command as its user meets it: help, answers, exit codes.

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
fn help_and_version_are_answers() {
    let help = backchat(&["schema", "--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(text(&help.stdout).contains("Examples:\n  backchat schema"));
    let version = backchat(&["--version"]);
    assert_eq!(text(&version.stdout), concat!("backchat ", env!("CARGO_PKG_VERSION"), "\n"));
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
