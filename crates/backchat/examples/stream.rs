//! Streams a recorded generation to the terminal as a chat program would: reasoning dimmed, the answer as it arrives,
//! each call once it is complete.
//!
//! ```sh
//! cargo run --example stream
//! cargo run --example stream -- TEMPLATE PROMPT RECORDING
//! ```
//!
//! A recording is JSON lines, `{"after_ms": 25, "text": "Os"}`: a model's output in the pieces that a server sent.

use std::error::Error;
use std::io::{self, Write};
use std::thread::sleep;
use std::time::Duration;
use std::{env, fs};

use backchat::{Event, Parser, Template, Value, json};

/// The folder of a recorded generation.
const WEATHER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/weather");

fn main() -> Result<(), Box<dyn Error>> {
    let mut files = env::args().skip(1);
    let mut file = |name: &str| files.next().unwrap_or_else(|| format!("{WEATHER}/{name}"));
    let template = fs::read_to_string(file("response_template.json"))?;
    let prompt = fs::read_to_string(file("prompt.txt"))?;
    let recording = fs::read_to_string(file("recording.jsonl"))?;

    // One template serves any number of parsers; the prompt is needed because it may already open the first region.
    let template = Template::load(&template)?.template;
    let mut parser = Parser::new(&template, &prompt, Default::default())?;
    let mut out = io::stdout().lock();
    for event in parser.initial_events() {
        show(event, &mut out)?;
    }
    for line in recording.lines() {
        let piece = json::read(line)?;
        let wait = piece.get("after_ms").and_then(Value::as_i64).unwrap_or(0);
        sleep(Duration::from_millis(wait.try_into()?));
        for event in parser.feed(piece.get("text").and_then(Value::as_str).unwrap_or_default())? {
            show(&event, &mut out)?;
        }
    }
    let finished = parser.finish()?;
    for event in &finished.events {
        show(event, &mut out)?;
    }
    writeln!(out, "\n{}", Value::Object(finished.message))?;
    Ok(())
}

/// What one event changes on the screen. The fields have the names that the template gives them.
fn show(event: &Event, out: &mut impl Write) -> io::Result<()> {
    match event {
        Event::Chunk { field, text, .. } if &**field == "content" => write!(out, "{text}")?,
        Event::Chunk { field, text, .. } if &**field == "reasoning_content" => write!(out, "\x1b[2m{text}\x1b[0m")?,
        Event::Close { field, value, .. } if &**field == "tool_calls" => {
            let function = value.get("function");
            let part = |name| function.and_then(|function| function.get(name)).cloned().unwrap_or_default();
            writeln!(out, "→ {} {}", part("name").as_str().unwrap_or("?"), part("arguments"))?;
        }
        Event::Close { field, .. } if &**field != "tool_calls" => writeln!(out)?,
        // Bad output is an event, not an error: it is shown unchanged, and parsing continues.
        Event::Malformed { field, text, reason, .. } => writeln!(out, "[{field}: {reason}] {text}")?,
        _ => {}
    }
    out.flush()
}
