//! An output on a page: parsed once, or in two ways side by side.

use std::sync::Arc;

use super::page::Mood;
use crate::replay::{Side, cause_of_sides, first_difference, gives};
use backchat_core::json::Object;
use backchat_diff::messages::{cause, shape};
use backchat_parser::content::coerce::Tools;

/// An output, read once, or twice to be compared.
#[derive(Clone, Debug)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// How it is read: once, or in two ways side by side.
    pub sides: Vec<Side>,
    /// The message it should give.
    pub expected: Option<Object>,
    /// The tools it was read with.
    pub tools: Option<Arc<Tools>>,
}

impl Output {
    /// Whether its two sides read it differently.
    pub(super) fn differs(&self) -> bool {
        self.sides.array_windows().any(|[one, other]| first_difference(&one.recording, &other.recording).is_some())
    }

    /// Its result and the cause of that, in words that are the same for every output of the cause: how its two sides
    /// differ, if many outputs are compared, or else how it fares.
    pub(super) fn result(&self, is_compared: bool) -> (Mood, String) {
        match self.sides.as_slice() {
            [one, other] if is_compared => match cause_of_sides(one, other) {
                Some(cause) => (Mood::Doubtful, cause),
                None => (Mood::Good, "both answers are the same".to_owned()),
            },
            sides => {
                let pair = self.expected.as_ref().zip(sides.first());
                let departure =
                    pair.and_then(|(expected, side)| cause(expected, &side.recording.message(side.recording.end())));
                (self.mood(), departure.unwrap_or_else(|| shape(&self.verdict())))
            }
        }
    }

    /// The result of the first parse: against the expected message or, without one, by the anomalies.
    pub(super) fn mood(&self) -> Mood {
        let Some(Side { recording, .. }) = self.sides.first() else { return Mood::Bad };
        match &self.expected {
            Some(expected) if gives(recording, expected) => Mood::Good,
            Some(_) => Mood::Bad,
            None if !recording.is_in_order() => Mood::Bad,
            None if !recording.suspicious_events().is_empty() || self.differs() => Mood::Doubtful,
            None => Mood::Good,
        }
    }

    /// The result of an output, in a sentence.
    pub(super) fn verdict(&self) -> String {
        let Some(Side { recording, .. }) = self.sides.first() else { return String::new() };
        match (&self.expected, self.mood()) {
            (Some(_), Mood::Good) => "the message is as expected".to_owned(),
            (Some(_), _) => "the message is not as expected".to_owned(),
            (None, Mood::Doubtful) => match recording.suspicious_events().len() {
                0 => "the two ways to read the output give different messages".to_owned(),
                1 => "the message is complete, and 1 event looks wrong".to_owned(),
                count => format!("the message is complete, and {count} events look wrong"),
            },
            (None, _) => recording.why(recording.end()),
        }
    }
}
