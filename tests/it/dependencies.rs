//! An engine that only parses compiles few external crates, who derives few more, and neither any that only the command needs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
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

/// Cargo finds the order itself, but who publishes by hand, or counts what is there, reads it.
#[test]
fn the_order_of_publishing_names_each_crate_after_what_it_needs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/releasing.md")).unwrap();
    let (_, order) = page.split_once("in the order of their dependencies: ").unwrap();
    let (order, _) = order.split_once(", the command").unwrap();
    let order: Vec<&str> =
        order.split('`').skip(1).step_by(2).map(|name| name.trim_start_matches("backchat")).collect();
    for folder in fs::read_dir(root.join("crates")).unwrap() {
        let folder = folder.unwrap().path();
        let place = |name: &str| {
            let at = order.iter().position(|known| name == format!("backchat{known}"));
            at.unwrap_or_else(|| panic!("docs/releasing.md does not publish {name}"))
        };
        let name = folder.file_name().unwrap().to_str().unwrap();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        if manifest.contains("publish = false") {
            continue;
        }
        let needed = manifest.lines().filter_map(|line| line.split(['.', ' ']).next());
        for other in needed.filter(|name| name.starts_with("backchat-")) {
            assert!(place(other) < place(name), "{name} is published before {other}");
        }
    }
}
