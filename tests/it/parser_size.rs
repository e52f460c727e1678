//! The memory of a parser that has read its prompt: what many of them add to a process of their own.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::Command;

use backchat::Parser;
use backchat::parser::Options;
use backchat::template::Template;

const PARSERS: usize = 20_000;

/// Kilobytes of memory that this process has touched.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Templates with a literal anchor, and the end of their prompts.
const CASES: [(&str, &str); 3] =
    [("hermes", "<|im_start|>assistant\n"), ("qwen3", "<|im_start|>assistant\n"), ("gpt_oss", "<|start|>assistant")];

/// Prints how many bytes each parser takes.
#[test]
#[ignore = "needs a process of its own, which the test below starts"]
fn bytes_of_a_parser() {
    // They stay alive, so that none takes the place of another.
    let mut all = Vec::new();
    for (name, end) in CASES {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("derived/{name}.json"));
        let template = Template::load(&fs::read_to_string(file).unwrap()).unwrap().template;
        let prompt = "What is the weather like? ".repeat(8_000) + end;
        let parser = || Parser::new(&template, &prompt, Options::default()).unwrap();
        assert!(parser().prefix_length() < 100, "{name}: no anchor in its prompt");
        let mut parsers = Vec::with_capacity(PARSERS);
        let before = resident();
        parsers.extend((0..PARSERS).map(|_| parser()));
        println!("{name}: {} bytes", (resident() - before) * 1024 / PARSERS);
        all.push(parsers);
    }
}

#[test]
fn a_parser_takes_little_more_than_a_kilobyte() {
    let mut process = Command::new(std::env::current_exe().unwrap());
    process.args(["--exact", "parser_size::bytes_of_a_parser", "--ignored", "--nocapture", "--test-threads=1"]);
    let told = String::from_utf8(process.output().unwrap().stdout).unwrap();
    for (name, _) in CASES {
        let line =
            told.lines().find_map(|line| line.split_once(&format!("{name}: "))).unwrap_or_else(|| panic!("{told}"));
        let bytes: usize = line.1.trim_end_matches(" bytes").parse().unwrap();
        assert!((200..1200).contains(&bytes), "{told}");
    }
}
