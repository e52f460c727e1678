//! How long it takes to check 1,000 fixtures of 300 characters, at all their chunkings, in both modes.

#![allow(clippy::unwrap_used)]

use backchat_workbench::check::fixture::{self, FixtureFile, Shared};
use backchat_workbench::check::{self, Entry, Loaded, Meaning, Settings, Status};

fn main() {
    divan::main();
}

const TEMPLATE: &str = r#"{"start_anchor": "<|im_start|>assistant\n", "defaults": {"role": "assistant"}, "fields": {
  "reasoning_content": {"open": "<think>", "close_pattern": "</think>\\s*"},
  "tool_calls": {"open": "<tool_call>", "close_pattern": "</tool_call>\\s*", "repeats": true, "content": "json",
    "transform": {"type": "function", "function": "{content}"}},
  "content": {"close_pattern": "<\\|im_end\\|>\\s*"}}}"#;

/// A case of 300 characters: reasoning, an answer and two calls.
fn case(number: usize) -> String {
    let calls =
        "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\", \"days\": 2}}\n</tool_call>\n"
            .repeat(2);
    let frame = format!("<think>\nCase {number:04}: \n</think>\n\nI look it up.\n{calls}<|im_end|>");
    let words = "the weather is fine ".repeat(10);
    let missing = 300 - frame.chars().count();
    let thought: String = words.chars().take(missing).collect();
    let output = frame.replacen(": \n", &format!(": {thought}\n"), 1);
    assert_eq!(output.chars().count(), 300);
    format!("=== case {number}\n{}", fixture::write_section("output", &output))
}

/// The file, with the expectations that reading it gives.
fn file(template: &str) -> FixtureFile {
    let head = format!("template: {template}\nstop: <|im_end|>\n=== prefix\n<|im_start|>assistant\n\n");
    let text: String = std::iter::once(head).chain((0..1000).map(case)).collect();
    let file = fixture::read_text("bench.fixture", text, &Shared::default());
    let entries = Entry::all(std::slice::from_ref(&file), &[]);
    let settings = Settings { reference: None, ..Settings::default() };
    let reports = check::run(&entries, &Loaded::new(&entries), &settings, false, &|_| {});
    let meanings = reports.iter().filter_map(|report| match (report.entry.case(), &report.meaning) {
        (Some(case), Some(Meaning::Output(meaning))) => Some((case, meaning.clone())),
        _ => None,
    });
    let text = fixture::rewrite(&file, &meanings.collect::<Vec<_>>(), &[]);
    fixture::read_text("bench.fixture", text, &Shared::default())
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn a_thousand_fixtures(bencher: divan::Bencher<'_, '_>) {
    let folder = tempfile::tempdir().unwrap();
    let template = folder.path().join("t.json");
    std::fs::write(&template, TEMPLATE).unwrap();
    let file = file(template.to_str().unwrap());
    let entries = Entry::all(std::slice::from_ref(&file), &[]);
    let loaded = Loaded::new(&entries);
    bencher.bench_local(|| {
        let reports = check::run(&entries, &loaded, &Settings::default(), false, &|_| {});
        assert!(reports.iter().all(|report| report.status == Status::Passed));
        reports.len()
    });
}
