//! An engine that only parses compiles few external crates, who derives few more, and neither any that only the command needs.

use std::collections::BTreeSet;
use std::process::Command;

/// The external crates that a crate of ours needs with these features.
fn crates(package: &str, features: &str) -> BTreeSet<String> {
    let arguments =
        ["tree", "-p", package, "--locked", "--offline", "-e", "normal", "--prefix", "none", "--no-default-features"];
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments).args(["--features", features]);
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    let names = lines.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned);
    names.filter(|name| !name.is_empty() && !name.starts_with("backchat")).collect()
}

#[test]
fn the_parser_alone_needs_at_most_seven_crates() {
    let parser = crates("backchat", "");
    assert!(parser.contains("memchr") && parser.len() <= 7, "{parser:?}");
}

#[test]
fn nothing_heavy_is_needed_before_it_is_used() {
    let [parser, deriver] = ["serde", "default,serde"].map(|features| crates("backchat", features));
    let command = crates("backchat-cli", "tui");
    for heavy in ["minijinja", "chrono", "similar", "syn"] {
        assert!(!parser.contains(heavy), "who parses needs `{heavy}`");
        assert!(deriver.contains(heavy), "who derives does not need `{heavy}`");
    }
    for heavy in ["tempfile", "clap", "ratatui", "hyper"] {
        assert!(!deriver.contains(heavy), "who derives needs `{heavy}`");
        assert!(command.contains(heavy) || heavy == "hyper", "`{heavy}` is not a dependency at all");
    }
    assert!(deriver.len() <= 31, "{deriver:?}");
}
