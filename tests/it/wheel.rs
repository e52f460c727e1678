//! The wheel that carries the command: built, installed into a clean virtual environment, and run.
//!
//! It builds the whole crate once more, so it only runs where `BACKCHAT_TEST_WHEEL` is set, and where Python is there.

use std::path::Path;
use std::process::{Command, Output};

fn run(program: impl AsRef<Path>, arguments: &[&str]) -> Output {
    let root = env!("CARGO_MANIFEST_DIR");
    let output = Command::new(program.as_ref()).args(arguments).current_dir(root).output().unwrap();
    assert!(output.status.success(), "{:?} {arguments:?}: {output:?}", program.as_ref());
    output
}

#[test]
fn the_wheel_brings_the_command() {
    if std::env::var_os("BACKCHAT_TEST_WHEEL").is_none() {
        eprintln!("skipped: set BACKCHAT_TEST_WHEEL to build and install the wheel");
        return;
    }
    let python = ["python3", "python"].into_iter().find(|name| Command::new(name).arg("--version").output().is_ok());
    let Some(python) = python else {
        eprintln!("skipped: there is no Python");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let environment = folder.path().join("environment");
    run(python, &["-m", "venv", environment.to_str().unwrap()]);
    let bin = environment.join(if cfg!(windows) { "Scripts" } else { "bin" });
    // The front end of pip builds the wheel with maturin in an environment of its own.
    run(bin.join("python"), &["-m", "pip", "install", "--quiet", "."]);
    let output = run(bin.join("backchat"), &["--version"]);
    let expected = concat!("backchat ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    let output = run(bin.join("backchat"), &["derive", "-q", "chat_templates/hermes.jinja"]);
    assert!(String::from_utf8(output.stdout).unwrap().contains(r#""open": "<tool_call>""#));
}
