//! `include/backchat.h` is the header that the code gives. `BACKCHAT_HEADER=write cargo test -p backchat-c` renews it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::Path;

/// The files with the interface, in the order of the header.
const SOURCES: [&str; 9] = ["status", "argument", "error", "options", "event", "handle", "call", "shared", "parser"];

/// The header, without the sections about Rust's `unsafe`: its first comment says what callers must know.
fn header(root: &Path) -> String {
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let mut builder = cbindgen::Builder::new().with_config(config);
    for name in SOURCES {
        builder = builder.with_src(root.join(format!("src/{name}.rs")));
    }
    let mut text = Vec::new();
    builder.generate().unwrap().write(&mut text);
    let (mut kept, mut skips) = (String::new(), false);
    for line in String::from_utf8(text).unwrap().lines() {
        if line == "// # Safety" {
            skips = true;
            kept.truncate(kept.len() - "//\n".len());
        }
        skips &= line.starts_with("//");
        if !skips {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

#[test]
fn the_header_is_that_of_the_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (file, given) = (root.join("include/backchat.h"), header(root));
    if std::env::var("BACKCHAT_HEADER").is_ok_and(|what| what == "write") {
        fs::write(&file, &given).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed == given,
        "include/backchat.h is not up to date: run with BACKCHAT_HEADER=write, and read what changed"
    );
}
