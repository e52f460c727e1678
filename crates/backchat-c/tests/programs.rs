//! Programs in C and C++ compile without warnings against the header, run with the static and the shared library, and
//! print what they should. Skipped with a message if there is no compiler; `cargo test` builds the libraries.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-pedantic"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder with the libraries, next to this test.
fn libraries() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

fn exists(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Compiles a program with the library of this file name; `None` if there is no such compiler.
fn compile(compiler: &str, standard: &str, source: &str, library: &str, to: &Path) -> Option<PathBuf> {
    if !exists(compiler) {
        eprintln!("skipped: {source} needs {compiler}");
        return None;
    }
    let program = to.join(Path::new(source).with_extension("").file_name().unwrap());
    let output = Command::new(compiler)
        .args(STRICT)
        .args([standard, "-g", "-I"])
        .arg(root().join("include"))
        .arg(root().join(source))
        .arg(libraries().join(library))
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program)
        .output()
        .unwrap();
    assert!(output.status.success(), "{source}: {}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

/// Runs a program; the shared library is found by the name that its ABI has.
fn run(command: &mut Command, folder: &Path) -> Output {
    let name = folder.join("libbackchat.so.1");
    if !name.exists() {
        std::fs::copy(libraries().join("libbackchat_c.so"), name).unwrap();
    }
    command.env("LD_LIBRARY_PATH", folder).output().unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

const STREAM: &str = r#"chunk thinking I ask.
close thinking "I ask."
open  content 
chunk content Let me see.
close content "Let me see."
open  tool_calls 
chunk tool_calls {"name": "weather", "argu
chunk tool_calls ments": {"city": "Os
chunk tool_calls lo"}}
close tool_calls {"type": "function", "function": {"name": "weather", "arguments": {"city": "Oslo"}}}
{"role": "assistant", "thinking": "I ask.", "content": "Let me see.", "tool_calls": [{"type": "function", "function": {"name": "weather", "arguments": {"city": "Oslo"}}}]}

{"reasoning_content": "I ask."}
{"content": "Let me see."}
{"tool_calls": [{"index": 0, "id": "call_0", "type": "function", "function": {"name": "weather", "arguments": ""}}]}
{"tool_calls": [{"index": 0, "function": {"arguments": "{\"city\": \"Os"}}]}
{"tool_calls": [{"index": 0, "function": {"arguments": "lo\"}"}}]}
tool_calls
"#;

#[test]
fn a_program_in_c_shows_events_and_deltas() {
    for library in ["libbackchat_c.a", "libbackchat_c.so"] {
        let folder = tempfile::tempdir().unwrap();
        let Some(program) = compile("cc", "-std=c99", "examples/stream.c", library, folder.path()) else { return };
        assert_eq!(text(&run(&mut Command::new(program), folder.path())), STREAM, "{library}");
    }
}

#[test]
fn a_program_in_cpp_owns_its_handles() {
    let folder = tempfile::tempdir().unwrap();
    let source = "examples/stream.cpp";
    let Some(program) = compile("c++", "-std=c++17", source, "libbackchat_c.a", folder.path()) else { return };
    compare_with_comment(
        &text(&run(&mut Command::new(program), folder.path())),
        include_str!("../examples/stream.cpp"),
    );
}

/// The output of a program is in the comment at its end.
fn compare_with_comment(output: &str, source: &str) {
    let (_, expected) = source.split_once("/* Prints:\n").unwrap();
    assert_eq!(output, expected.trim_end().trim_end_matches("*/"));
}

#[test]
fn rows_are_answered_as_the_command_does() {
    let folder = tempfile::tempdir().unwrap();
    let source = "examples/driver.c";
    let Some(program) = compile("cc", "-std=c99", source, "libbackchat_c.a", folder.path()) else { return };
    let rows = concat!(
        r#"{"id": 1, "template": {"start_anchor": "<bot>", "fields": {"n": {"open": "<n>", "close": "</n>", "content": "json"}, "content": {}}}, "#,
        r#""prefix": "", "text": "é<n>[1.50]</n>", "tools": null, "chunks": [2, 9, 9]}"#,
        "\n",
        r#"{"id": "b", "template": {"start_anchor": "<bot>", "fields": 7}, "prefix": "", "text": "", "tools": null, "chunks": []}"#,
        "\n"
    );
    let file = folder.path().join("rows.jsonl");
    std::fs::write(&file, rows).unwrap();
    let mut command = Command::new(program);
    let output = text(&run(command.stdin(std::fs::File::open(file).unwrap()), folder.path()));
    let (first, second) = output.split_once('\n').unwrap();
    assert_eq!(
        first,
        concat!(
            r#"{"id": 1, "initial_events": [], "feeds": [[{"type": "region_open", "field": "content"}, "#,
            r#"{"type": "region_chunk", "field": "content", "text": "é", "dirty": false}], "#,
            r#"[{"type": "region_close", "field": "content", "value": "é"}, {"type": "region_open", "field": "n"}, "#,
            r#"{"type": "region_chunk", "field": "n", "text": "[1.50]", "dirty": true}], "#,
            r#"[{"type": "region_close", "field": "n", "value": [1.50]}]], "final_events": [], "#,
            r#""message": {"content": "é", "n": [1.50]}}"#
        )
    );
    assert!(second.starts_with(r#"{"id": "b", "error": {"stage": "load", "message": "fields: "#), "{second}");
}

/// The number of calls is that of a short test; `BACKCHAT_RANDOM_CALLS` makes more of them.
#[test]
fn random_calls_are_never_undefined_behavior() {
    let folder = tempfile::tempdir().unwrap();
    let source = "tests/programs/random.c";
    let Some(program) = compile("cc", "-std=c99", source, "libbackchat_c.a", folder.path()) else { return };
    let calls = std::env::var("BACKCHAT_RANDOM_CALLS").unwrap_or_else(|_| "5000".to_owned());
    text(&run(Command::new(&program).args([calls.as_str(), "7"]), folder.path()));
    if !exists("valgrind") {
        eprintln!("skipped: valgrind is not installed");
        return;
    }
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite,possible", "-q"]);
    // The compiler tests two discriminants of an enum at once, also of bytes that no variant has: safe code, but undefined bits
    // for valgrind, which cannot see that the result does not depend on them.
    valgrind.arg("--undef-value-errors=no");
    let output = run(valgrind.arg(&program).args([calls.as_str(), "8"]), folder.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
