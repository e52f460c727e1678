//! One parse of an output: the events with adjacent chunks joined, and the result.

use super::fixture::Actual;
use backchat_core::json::{Object, Value};
use backchat_parser::parser::{Event, EventRef, ParseError, Parser, Problem, RecoveryPolicy};

/// The result of parsing a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The events, adjacent chunks of a region as one.
    pub events: Vec<Event>,
    /// The message and the required fields that are absent, or why reading stopped.
    pub outcome: Result<(Object, Vec<String>), ParseError>,
    /// The reasons to doubt the answer.
    pub notes: Vec<String>,
    /// What went wrong in the text, one line each, as in a fixture's `=== problems`.
    pub problems: Vec<String>,
}

impl Reading {
    /// Reads a text, chunk by chunk, with a parser that has read nothing yet.
    pub fn new<'t>(mut parser: Parser, chunks: impl Iterator<Item = &'t str>) -> Self {
        let mut events = Vec::new();
        parser.initial_events().iter().for_each(|event| join(&mut events, event.borrowed()));
        for chunk in chunks {
            if let Err(error) = parser.feed_into(chunk, &mut |event| join(&mut events, event)) {
                return Self { events, outcome: Err(error), notes: Vec::new(), problems: Vec::new() };
            }
        }
        Self::finish(parser, events)
    }

    /// Finishes a text with the events so far.
    pub(super) fn finish(parser: Parser, mut events: Vec<Event>) -> Self {
        let (mut notes, mut problems) = (Vec::new(), Vec::new());
        let outcome = parser.finish_into(&mut |event| join(&mut events, event)).map(|finished| {
            notes = finished.notes;
            problems = finished.problems.iter().map(problem_line).collect();
            (finished.message, finished.missing)
        });
        Self { events, outcome, notes, problems }
    }

    /// The message, unless reading stopped.
    pub fn message(&self) -> Option<&Object> {
        self.outcome.as_ref().ok().map(|(message, _)| message)
    }

    /// The errors of the text, one line each, as in a fixture's `=== error`.
    pub fn errors(&self) -> Vec<String> {
        let malformed = self.events.iter().filter_map(|event| match event {
            Event::Malformed { field, reason, .. } => Some(format!("malformed {field}: {}", one_line(reason))),
            _ => None,
        });
        let mut errors: Vec<String> = malformed.collect();
        match &self.outcome {
            Ok((_, missing)) => errors.extend(missing.iter().map(|field| format!("missing {field}"))),
            Err(error) => errors.push(match error.malformed() {
                Some((field, reason)) => format!("malformed {field}: {}", one_line(reason)),
                None => format!("{}: {}", error.stage(), one_line(&error.to_string())),
            }),
        }
        errors
    }

    /// The expectation that this result meets.
    pub(crate) fn into_actual(self) -> Actual {
        let (error, events) = (self.errors(), self.event_values());
        Actual { message: self.outcome.ok().map(|(message, _)| message), error, problems: self.problems, events }
    }

    /// The events as JSON.
    pub fn event_values(&self) -> Vec<Value> {
        self.events.iter().map(Event::to_value).collect()
    }
}

/// A problem as `KIND [FIELD] [call N] [recovered POLICY,…]`.
fn problem_line(problem: &Problem) -> String {
    let mut line = problem.kind.as_str().to_owned();
    let mut add = |part: Option<String>| line.extend(part.map(|part| format!(" {part}")));
    add(problem.field.clone());
    add(problem.call.map(|call| format!("call {call}")));
    let policies: Vec<&str> = problem.policies.iter().map(RecoveryPolicy::as_str).collect();
    add(problem.is_recovered.then(|| format!("recovered {}", policies.join(","))));
    line
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// Adds an event; a chunk after a chunk of the same region extends it.
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
