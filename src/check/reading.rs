//! One parse of an output: the events with adjacent chunks joined, and what they add up to.

use crate::json::{Object, Value};
use crate::parser::{Cause, Event, EventRef, ParseError, Parser};

/// The result of parsing a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The events, adjacent chunks of a region as one.
    pub events: Vec<Event>,
    /// The message and the required fields that are absent, or why reading stopped.
    pub outcome: Result<(Object, Vec<String>), ParseError>,
    /// The reasons to doubt the answer.
    pub notes: Vec<String>,
}

impl Reading {
    /// Reads a text, chunk by chunk, with a parser that has read nothing yet.
    pub fn new<'t>(mut parser: Parser, chunks: impl Iterator<Item = &'t str>) -> Self {
        let mut events = Vec::new();
        parser.initial_events().iter().for_each(|event| join(&mut events, event.borrowed()));
        for chunk in chunks {
            if let Err(error) = parser.feed_into(chunk, &mut |event| join(&mut events, event)) {
                return Self { events, outcome: Err(error), notes: Vec::new() };
            }
        }
        Self::finish(parser, events)
    }

    /// Ends a text whose events so far are known.
    pub(super) fn finish(parser: Parser, mut events: Vec<Event>) -> Self {
        let mut notes = Vec::new();
        let outcome = parser.finish_into(&mut |event| join(&mut events, event)).map(|finished| {
            notes = finished.notes;
            (finished.message, finished.missing)
        });
        Self { events, outcome, notes }
    }

    /// The message, unless reading stopped.
    pub fn message(&self) -> Option<&Object> {
        self.outcome.as_ref().ok().map(|(message, _)| message)
    }

    /// The problems of the text, one line each, as in a fixture's `=== error`.
    pub fn problems(&self) -> Vec<String> {
        let malformed = self.events.iter().filter_map(|event| match event {
            Event::Malformed { field, reason, .. } => Some(format!("malformed {field}: {}", one_line(reason))),
            _ => None,
        });
        let mut problems: Vec<String> = malformed.collect();
        match &self.outcome {
            Ok((_, missing)) => problems.extend(missing.iter().map(|field| format!("missing {field}"))),
            Err(error) => problems.push(match &error.cause {
                Cause::Malformed { field, reason, .. } => format!("malformed {field}: {}", one_line(reason)),
                _ => format!("{}: {}", error.stage(), one_line(&error.to_string())),
            }),
        }
        problems
    }

    /// The events as JSON.
    pub fn event_values(&self) -> Vec<Value> {
        self.events.iter().map(Event::to_value).collect()
    }
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// Adds an event; a chunk after a chunk of the same region makes it longer.
pub fn join(events: &mut Vec<Event>, event: EventRef<'_>) {
    if let EventRef::Chunk { text, span, .. } = event
        && let Some(Event::Chunk { text: before, span: whole, .. }) = events.last_mut()
    {
        before.push_str(text);
        whole.end = span.end;
    } else {
        events.push(event.to_owned());
    }
}
