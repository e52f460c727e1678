//! The sides of a comparison, the first difference of two recordings, ignoring how their chunks were cut, and its cause.

use super::recording::{Kind, Moment, Outcome, Recording};
use backchat_core::json::Value;
use backchat_diff::messages::cause;

/// One way to read an output, and the moment in it.
#[derive(Clone, Debug)]
pub struct Side {
    /// Its name, if there are two.
    pub name: String,
    pub recording: Recording,
    pub moment: Moment,
}

impl Side {
    /// The side at its start.
    pub fn new(name: impl Into<String>, recording: Recording) -> Self {
        Self { name: name.into(), moment: recording.start(), recording }
    }

    /// The message of the whole output.
    pub(crate) fn message(&self) -> Value {
        Value::Object(self.recording.message(self.recording.end()))
    }
}

/// The first difference between two recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The first differing row; the recordings agree in every row before it.
    pub row: usize,
    /// The moment of the first at which the difference shows.
    pub first: Moment,
    /// The moment of the second.
    pub second: Moment,
}

/// The first row in which two recordings differ, or their ends if only these do.
///
/// Rows join adjacent chunks, so the number of chunks makes no difference.
pub fn first_difference(first: &Recording, second: &Recording) -> Option<Difference> {
    let rows = first.row_count().max(second.row_count());
    let row = (0..rows).find(|row| !same_row(first, second, *row));
    if let Some(row) = row {
        let shows = |recording: &Recording| match recording.row(row).end {
            _ if row >= recording.row_count() => recording.end(),
            end => recording.moment_of_event(end.saturating_sub(1)),
        };
        return Some(Difference { row, first: shows(first), second: shows(second) });
    }
    let has_message = matches!(first.outcome, Outcome::Finished { .. });
    let same_message = || first.message(first.end()) == second.message(second.end());
    let same = first.outcome == second.outcome && (!has_message || same_message());
    (!same).then(|| Difference { row: rows, first: first.end(), second: second.end() })
}

/// Why the second of two sides reads an output differently; `None` if it does not.
pub fn cause_of_sides(first: &Side, second: &Side) -> Option<String> {
    let [one, other] = [first, second].map(|side| &side.recording);
    first_difference(one, other)?;
    let is_finished = |recording: &Recording| matches!(recording.outcome(), Outcome::Finished { .. });
    match (is_finished(one), is_finished(other)) {
        (true, false) => return Some("there is no message".to_owned()),
        (false, true) => return Some("there is a message".to_owned()),
        _ => {}
    }
    let cause = cause(&one.message(one.end()), &other.message(other.end()));
    Some(cause.unwrap_or_else(|| "the message is the same, its events differ".to_owned()))
}

fn same_row(first: &Recording, second: &Recording, row: usize) -> bool {
    let (Some(one), Some(other)) = (first.event(first.row(row).start), second.event(second.row(row).start)) else {
        return false;
    };
    let same = one.kind == other.kind && first.field_name(one.field) == second.field_name(other.field);
    same && match one.kind {
        Kind::Chunk => first.slice(first.row_span(row)) == second.slice(second.row_span(row)),
        _ => one.value == other.value,
    }
}
