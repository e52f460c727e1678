//! The output side of an inference engine: tokens in, `chat.completion.chunk`s out, arguments of calls as they grow.
//!
//! ```sh
//! cargo run --example engine --no-default-features --features serde
//! ```
//!
//! The tokens are a recorded generation. All JSON uses the types of `serde_json`.

use std::error::Error;
use std::io::{self, Write};
use std::sync::Arc;
use std::{env, fs};

use backchat::parser::{EventRef, Options, Tools};
use backchat::{Parser, Template};
use serde_json::{Value, json};

/// The folder of a recorded generation.
const WEATHER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/weather");

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args().nth(1).unwrap_or_else(|| WEATHER.to_owned());
    run(&folder, &mut io::stdout().lock())
}

/// Writes the chunks of the generation in a folder as server-sent events.
fn run(folder: &str, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let read = |name: &str| fs::read_to_string(format!("{folder}/{name}"));
    let template: Template = serde_json::from_str(&read("response_template.json")?)?;
    let tools: Value = serde_json::from_str(&read("tools.json")?)?;
    let options = Options::default().tools(Arc::new(Tools::try_from(&tools)?)).grow_calls(true);
    let mut parser = Parser::new(&template, &read("prompt.txt")?, options)?;

    let mut deltas = vec![json!({"role": "assistant"})];
    for event in parser.initial_events() {
        deltas.extend(delta(event.borrowed()));
    }
    for line in read("recording.jsonl")?.lines() {
        let token: Value = serde_json::from_str(line)?;
        parser.feed_into(token.get("text").and_then(Value::as_str).unwrap_or(""), &mut |event| {
            deltas.extend(delta(event))
        })?;
        for delta in deltas.drain(..) {
            send(out, &delta, None)?;
        }
    }
    let finished = parser.finish()?;
    for event in &finished.events {
        deltas.extend(delta(event.borrowed()));
    }
    for delta in deltas {
        send(out, &delta, None)?;
    }
    let has_calls = finished.message.contains_key("tool_calls");
    send(out, &json!({}), Some(if has_calls { "tool_calls" } else { "stop" }))?;
    Ok(writeln!(out, "data: [DONE]\n")?)
}

/// The delta of an event in OpenAI's protocol.
fn delta(event: EventRef<'_>) -> Option<Value> {
    Some(match event {
        EventRef::Chunk { field, text, dirty: false, .. } => json!({&**field: text}),
        EventRef::CallStart { index, name, id, .. } => {
            let id = id.map_or_else(|| format!("call_{index}"), str::to_owned);
            let function = json!({"name": name, "arguments": ""});
            json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]})
        }
        EventRef::CallArguments { index, delta, .. } => {
            json!({"tool_calls": [{"index": index, "function": {"arguments": delta}}]})
        }
        EventRef::Malformed { field, reason, .. } => {
            eprintln!("a region of {field} gives no value: {reason}");
            return None;
        }
        _ => return None,
    })
}

fn send(out: &mut impl Write, delta: &Value, finish_reason: Option<&str>) -> io::Result<()> {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish_reason});
    let chunk = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice]});
    writeln!(out, "data: {chunk}\n")
}

#[test]
fn the_chunks_add_up_to_the_message() -> Result<(), Box<dyn Error>> {
    let mut out = Vec::new();
    run(WEATHER, &mut out)?;
    let (mut content, mut reasoning, mut calls) = (String::new(), String::new(), Vec::new());
    let (mut reason, mut deltas) = (None, 0);
    for line in String::from_utf8(out)?.lines().filter_map(|line| line.strip_prefix("data: {")) {
        let chunk: Value = serde_json::from_str(&format!("{{{line}"))?;
        let delta = &chunk["choices"][0]["delta"];
        content.push_str(delta["content"].as_str().unwrap_or(""));
        reasoning.push_str(delta["reasoning_content"].as_str().unwrap_or(""));
        reason = chunk["choices"][0]["finish_reason"].as_str().map(str::to_owned).or(reason);
        if let Some(call) = delta["tool_calls"].get(0) {
            if let Some(name) = call["function"]["name"].as_str() {
                calls.push((name.to_owned(), String::new()));
            }
            let at = usize::try_from(call["index"].as_u64().unwrap_or(u64::MAX))?;
            let (_, arguments) = calls.get_mut(at).ok_or("a delta of a call that has not begun")?;
            arguments.push_str(call["function"]["arguments"].as_str().unwrap_or(""));
            deltas += 1;
        }
    }
    assert_eq!(reasoning.trim(), "Two cities, so two calls. Today is one day.");
    assert_eq!(content.trim(), "I will look up both cities.");
    let call = |city: &str| ("get_weather".to_owned(), format!(r#"{{"city": "{city}", "days": 1}}"#));
    assert_eq!(calls, [call("Oslo"), call("Rome")]);
    assert!(deltas > 6, "the arguments came in {deltas} deltas");
    assert_eq!(reason.as_deref(), Some("tool_calls"));
    Ok(())
}
