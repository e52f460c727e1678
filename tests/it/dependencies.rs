//! An engine that only parses compiles few external crates, and none that only the workbench needs.

use std::collections::BTreeSet;
use std::process::Command;

/// The external crates that the library needs with these features.
fn crates(features: &str) -> BTreeSet<String> {
    let arguments = [
        "tree",
        "-p",
        "backchat",
        "--locked",
        "--offline",
        "-e",
        "normal",
        "--prefix",
        "none",
        "--no-default-features",
    ];
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
    let parser = crates("");
    assert!(parser.contains("memchr") && parser.len() <= 7, "{parser:?}");
    let serde = crates("serde");
    for heavy in ["minijinja", "chrono", "tempfile", "similar", "clap", "ratatui", "syn"] {
        assert!(!serde.contains(heavy), "`serde` needs `{heavy}`");
        assert!(crates("cli,tui").contains(heavy) || heavy == "syn", "`{heavy}` is not a dependency at all");
    }
}
