#![no_main]
//! A template, a prompt and a text between U+0000: no panic, and the same answer however the text is cut.

use backchat::parser::{Event, Options, Parser};
use backchat::template::Template;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let mut parts = input.splitn(3, '\0');
    let (Some(template), Some(prefix), Some(text)) = (parts.next(), parts.next(), parts.next()) else { return };
    let Ok(loaded) = Template::load(template) else { return };
    let whole = run(&loaded.template, prefix, &[text]);
    let characters: Vec<String> = text.chars().map(String::from).collect();
    let cut = run(&loaded.template, prefix, &characters);
    if let (Some(whole), Some(cut)) = (whole, cut) {
        assert_eq!(whole, cut);
    }
});

/// The message, and the events with what belongs together put together. Nothing where a pattern used up its steps.
fn run<S: AsRef<str>>(template: &Template, prefix: &str, feeds: &[S]) -> Option<(String, Vec<String>)> {
    let mut parser = Parser::new(template, prefix, Options::default()).ok()?;
    let mut events = parser.initial_events().to_vec();
    for feed in feeds {
        events.extend(parser.feed(feed.as_ref()).ok()?);
    }
    let finished = parser.finish().ok()?;
    events.extend(finished.events);
    let mut joined: Vec<String> = Vec::new();
    let mut in_chunk = false;
    for event in &events {
        match event {
            Event::Chunk { text, .. } if in_chunk => joined.last_mut()?.push_str(text),
            Event::Chunk { text, .. } => joined.push(text.to_string()),
            other => joined.push(other.to_value().to_string()),
        }
        in_chunk = matches!(event, Event::Chunk { .. });
    }
    Some((backchat::json::Value::Object(finished.message).to_string(), joined))
}
