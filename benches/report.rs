//! How long a page takes to make: of a derivation, and of an output of one megabyte, prose or calls.
#![allow(clippy::unwrap_used)]

use backchat::parser::Mode;
use backchat::template::Template;
use backchat_derive::derive::{Options, derive};
use backchat_parser::parser::Chunks;
use backchat_workbench::replay::Side;
use backchat_workbench::replay::{Recording, Run};
use backchat_workbench::report::{self, MOST_STEPS, Output};
use divan::Bencher;

const TEMPLATE: &str = r#"{
  "start_anchor": "<bot>",
  "fields": {
    "thought": {"open": "<think>", "close": "</think>"},
    "tool_calls": {"open": "<call>", "close": "</call>", "repeats": true, "content": "json"},
    "content": {"close": "<stop>"}
  }
}"#;

fn main() {
    divan::main();
}

/// From an output to its page, the recording included.
fn replay(text: &str) -> String {
    let template = Template::load(TEMPLATE).unwrap().template;
    let run =
        Run { template: &template, prefix: "<bot>", mode: Mode::Stable, tools: None, recovery: Default::default() };
    let chunks = Chunks::Every(text.chars().count().div_ceil(MOST_STEPS));
    let recording = Recording::new(&run, chunks.split(text)).unwrap();
    let sides = vec![Side::new("", recording)];
    report::replay("output", &[Output { name: "output".to_owned(), sides, expected: None, tools: None }], None)
}

#[divan::bench(max_time = 3)]
fn prose_of_one_megabyte(bencher: Bencher) {
    let text = format!("<think>{}</think>", "Is 1 < 2, and 3 > 2? ".repeat(48_000));
    bencher.bench(|| replay(&text));
}

#[divan::bench(max_time = 3)]
fn calls_of_one_megabyte(bencher: Bencher) {
    let text = "<call>{\"name\": \"f\", \"arguments\": {\"city\": \"Oslo\"}}</call>\n".repeat(16_000);
    bencher.bench(|| replay(&text));
}

#[divan::bench(max_time = 3)]
fn derivation(bencher: Bencher) {
    let source = include_str!("../chat_templates/qwen3.jinja");
    let options = Options::default();
    let derivation = derive(source, &options);
    bencher.bench(|| report::derivation(("qwen3", source), &derivation, None, &options, None));
}
