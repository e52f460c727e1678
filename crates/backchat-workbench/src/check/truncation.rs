//! Checks truncated outputs.
//!
//! A truncated text may lack later parts, and its last region may be shorter. It must not contain a call that the full
//! text does not have at that position; a call closed by its own mark must equal that of the full text, and be in the
//! message if it is in that of the full text.

use std::collections::HashMap;

use super::reading::{Reading, join};
use backchat_core::json::{Object, Value};
use backchat_core::text::slice;
use backchat_parser::parser::{Event, Parser};

/// The bytes that all truncations of a text may hold together. Each is finished from a copy of the text so far, so all of
/// them would take the square of its length.
const WORK: usize = 1 << 30;

/// The first byte at which cutting a text off is a problem, and why. Texts up to 32 KB are cut off after every character;
/// of longer ones every `step`th place is tried, from one that the seed chooses. `goes_on` says whether there is time left.
pub fn check(
    parser: &Parser,
    text: &str,
    full: &Reading,
    seed: u64,
    mut goes_on: impl FnMut() -> bool,
) -> Option<(usize, String)> {
    let regions = Regions::new(full);
    let mut parser = parser.clone();
    let mut events = parser.initial_events().to_vec();
    let step = text.len().saturating_mul(text.len()).div_ceil(WORK).max(1);
    let first = (seed % step as u64) as usize;
    for (index, (at, c)) in text.char_indices().enumerate() {
        if index % step == first {
            if !goes_on() {
                return None;
            }
            let short = Reading::finish(parser.clone(), events.clone());
            if let Some(what) = regions.violated_by(&short) {
                return Some((at, what));
            }
        }
        let chunk = slice(text, at..at + c.len_utf8());
        if parser.feed_into(chunk, &mut |event| join(&mut events, event)).is_err() {
            return None;
        }
    }
    None
}

/// The regions of the full text, by the start of their body.
struct Regions<'r> {
    closed: HashMap<usize, (&'r str, &'r Value)>,
    malformed: Vec<usize>,
    message: Option<&'r Object>,
}

impl<'r> Regions<'r> {
    fn new(full: &'r Reading) -> Self {
        let mut regions = Self { closed: HashMap::new(), malformed: Vec::new(), message: full.message() };
        for event in &full.events {
            match event {
                Event::Close { field, value, body, .. } => {
                    regions.closed.insert(body.start, (field, value));
                }
                Event::Malformed { body, .. } => regions.malformed.push(body.start),
                _ => {}
            }
        }
        regions
    }

    fn violated_by(&self, short: &Reading) -> Option<String> {
        if let Err(error) = &short.outcome {
            return Some(format!("parsing stops: {error}"));
        }
        for event in &short.events {
            let Event::Close { field, value, span, body, .. } = event else { continue };
            let calls = names(value);
            let Some(first) = calls.first() else { continue };
            let is_closed = span.end > span.start;
            match self.closed.get(&body.start) {
                Some((known, full)) if known == &&**field => {
                    let full_names = names(full);
                    let invented = calls.iter().zip(full_names.iter().map(Some).chain(std::iter::repeat(None)));
                    if let Some((name, _)) = invented.into_iter().find(|(name, full)| Some(*name) != *full) {
                        return Some(format!("a call of `{name}` that the full text does not contain there"));
                    }
                    if is_closed && value != *full {
                        return Some(format!("the closed call of `{first}` with other arguments"));
                    }
                }
                // A part that is malformed in the full text may be valid before the spoiling text arrives.
                _ if self.malformed.contains(&body.start) && !is_closed => {}
                _ => return Some(format!("a call of `{first}` that the full text does not contain there")),
            }
        }
        short.events.iter().find_map(|event| match event {
            Event::Close { field, value, span, .. } if span.end > span.start => {
                let first = names(value).first().copied()?;
                let lost = self.message.is_some_and(|full| holds(full, field, value))
                    && !short.message().is_some_and(|message| holds(message, field, value));
                lost.then(|| format!("a message without the closed call of `{first}`"))
            }
            _ => None,
        })
    }
}

fn holds(message: &Object, field: &str, value: &Value) -> bool {
    message.get(field).is_some_and(|held| held == value || held.as_list().is_some_and(|items| items.contains(value)))
}

/// The names of the calls that a value is or holds.
fn names(value: &Value) -> Vec<&str> {
    match value {
        Value::List(items) => items.iter().flat_map(names).collect(),
        Value::Object(entries) => {
            let function = value.get("function").and_then(Value::as_object);
            let of = match function {
                Some(function) => function.get("name"),
                None if entries.contains_key("arguments") => entries.get("name"),
                None => None,
            };
            of.and_then(Value::as_str).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_parser::parser::Options;
    use backchat_parser::template::Template;

    #[test]
    fn the_work_for_a_long_text_is_bounded() {
        let template = r#"{"start_anchor": "<a>", "fields": {"content": {"close": "<end>"}}}"#;
        let template = Template::load(template).unwrap().template;
        // The square of 300,000 is 83.8 times 2^30: every 84th place is tried.
        for (length, tried) in [(1, 1), (1_000, 1_000), (32_768, 32_768), (32_769, 16_385), (300_000, 3_572)] {
            let text = "x".repeat(length);
            let parser = Parser::new(&template, "<a>", Options::default()).unwrap();
            let full = Reading::new(parser.clone(), [text.as_str()].into_iter());
            let mut count = 0;
            let mut goes_on = || {
                count += 1;
                true
            };
            assert_eq!(check(&parser, &text, &full, 0, &mut goes_on), None);
            assert_eq!(count, tried, "{length}");
        }
    }
}
