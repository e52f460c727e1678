//! A recorded parse of one megabyte in 250,000 chunks: opening it, seeking in it, and drawing a key's effect.
//!
//! `cargo bench --bench replay` also prints how much memory the recording takes for each byte of its text.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::path::PathBuf;

use backchat::json::Object;
use backchat::parser::Mode;
use backchat::template::Template;
use backchat_parser::parser::Chunks;
use backchat_workbench::replay::{Recording, Run};
use backchat_workbench::session::{Derived, Material, Outputs, Problem, Start, View};
use backchat_workbench::tui::{App, Theme};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use divan::Bencher;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

const TEMPLATE: &str = r#"{
  "start_anchor": "<bot>",
  "fields": {
    "reasoning_content": {"open": "<think>", "close": "</think>"},
    "tool_calls": {"open": "<call>", "close": "</call>", "repeats": true, "content": "json"},
    "content": {"close": "<stop>"}
  }
}"#;

/// The characters of a chunk.
const CHUNK: usize = 4;

fn main() {
    for (name, text) in [("thought, then calls", mixed()), ("one line that never closes", endless())] {
        let recording = record(&text, Mode::Stable);
        println!(
            "{name}: {} bytes in {} chunks, {} events, {:.1} bytes kept for each byte",
            text.len(),
            recording.chunk_count(),
            recording.event_count(),
            recording.size() as f64 / text.len() as f64
        );
    }
    divan::main();
}

/// Half thought, half prose between tool calls.
fn mixed() -> String {
    let mut text = "<think>".to_owned();
    while text.len() < 500_000 {
        text.push_str("Is 1 < 2 and </thin k? Let me think about it step by step, and count the cities.\n");
    }
    text.push_str("</think>");
    while text.len() < 1_000_000 {
        text.push_str("Let me look.\n<call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}</call>\n");
    }
    text
}

fn endless() -> String {
    "<think>".to_owned() + &"lorem ipsum < dolor ".repeat(50_000)
}

fn record(text: &str, mode: Mode) -> Recording {
    let template = Template::load(TEMPLATE).unwrap().template;
    let run = Run { template: &template, prefix: "<bot>", mode, tools: None, recovery: Default::default() };
    Recording::new(&run, Chunks::Every(CHUNK).split(text)).unwrap()
}

struct OneOutput {
    names: Vec<String>,
    text: String,
}

impl Outputs for OneOutput {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn material(&self, _: usize) -> Result<Material, Problem> {
        Ok(Material {
            template: Template::load(TEMPLATE).unwrap().template,
            template_file: "template.json".to_owned(),
            template_text: TEMPLATE.to_owned(),
            template_span: 0..TEMPLATE.len(),
            other: None,
            prefix: "<bot>".to_owned(),
            output: self.text.clone(),
            chunks: None,
            tools: None,
            recovery: Default::default(),
            expected: None,
            is_excused: false,
        })
    }

    fn files(&self, _: usize) -> Vec<PathBuf> {
        Vec::new()
    }

    fn bless(&self, _: usize, _: &Material, _: &Object) -> Result<String, Problem> {
        Ok(String::new())
    }

    fn derive(&self, _: usize) -> Result<Derived, Problem> {
        Ok(Derived { status: String::new(), template: None })
    }

    fn place(&self, _: usize) -> Option<(PathBuf, usize)> {
        None
    }

    fn can_derive(&self, _: usize) -> bool {
        true
    }

    fn command(&self, _: usize, _: &View) -> Result<String, String> {
        Err(String::new())
    }
}

fn open(text: String) -> App {
    let start = Start { chunking: Some(Chunks::Every(CHUNK).into()), ..Start::default() };
    App::new(Box::new(OneOutput { names: vec!["output.txt".to_owned()], text }), &start, Theme::Dark).ok().unwrap()
}

fn press(app: &mut App, code: KeyCode) {
    black_box(app.key(KeyEvent::new(code, KeyModifiers::NONE)));
}

/// From the text to the first screen.
#[divan::bench(args = ["mixed", "endless"])]
fn opening(bencher: Bencher<'_, '_>, text: &str) {
    let text = if text == "mixed" { mixed() } else { endless() };
    bencher.bench_local(|| {
        let mut app = open(text.clone());
        let mut terminal = Terminal::new(TestBackend::new(200, 50)).unwrap();
        terminal.draw(|frame| app.draw(frame)).unwrap();
        app
    });
}

#[divan::bench]
fn recording_in_reference_mode(bencher: Bencher<'_, '_>) {
    let text = mixed();
    bencher.bench_local(|| record(&text, Mode::Reference));
}

/// To a character and back to the start, the message at both.
#[divan::bench(args = [1_000, 500_000, 999_000])]
fn seek(bencher: Bencher<'_, '_>, offset: usize) {
    let recording = record(&mixed(), Mode::Stable);
    bencher.bench_local(|| {
        let moment = recording.moment_at(recording.byte_at(offset));
        black_box(recording.message(moment));
        black_box(recording.why(moment));
        black_box(recording.happened(moment))
    });
}

/// A step on the keyboard and the screen drawn after it, in the middle of the text.
#[divan::bench(args = ["chunk", "event", "back", "line", "end and start", "search", "chunk, two sides"])]
fn key_and_redraw(bencher: Bencher<'_, '_>, step: &str) {
    let mut app = open(mixed());
    if step == "chunk, two sides" {
        "mm".chars().for_each(|c| press(&mut app, KeyCode::Char(c)));
    }
    for c in "600000g".chars() {
        press(&mut app, KeyCode::Char(c));
    }
    if step == "search" {
        "/paris".chars().for_each(|c| press(&mut app, KeyCode::Char(c)));
        press(&mut app, KeyCode::Enter);
    }
    let mut terminal = Terminal::new(TestBackend::new(200, 50)).unwrap();
    terminal.draw(|frame| app.draw(frame)).unwrap();
    let mut turn = false;
    bencher.bench_local(|| {
        turn = !turn;
        let key = match (step, turn) {
            ("chunk" | "chunk, two sides", _) => 'l',
            ("event", _) => 'j',
            ("back", _) => 'k',
            ("line", _) => 'J',
            ("search", _) => 'n',
            (_, true) => 'G',
            (_, false) => 'g',
        };
        press(&mut app, KeyCode::Char(key));
        terminal.draw(|frame| app.draw(frame)).unwrap();
    });
}

/// A character's step inside longer chunks, which cuts them there, from places near the start, in the middle and near
/// the end.
#[divan::bench(args = [1_000, 500_000, 999_000])]
fn character_and_redraw(bencher: Bencher<'_, '_>, from: usize) {
    let mut app = open(mixed());
    format!("{from}g").chars().for_each(|c| press(&mut app, KeyCode::Char(c)));
    let mut terminal = Terminal::new(TestBackend::new(200, 50)).unwrap();
    bencher.bench_local(|| {
        press(&mut app, KeyCode::Char('.'));
        terminal.draw(|frame| app.draw(frame)).unwrap();
    });
}
