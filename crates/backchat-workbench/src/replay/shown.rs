//! What tables, pages and the screen show of a recording.

use std::borrow::Cow;
use std::ops::Range;

use super::recording::{Kind, Moment, Outcome, Recording};
use backchat_core::json::Object;

/// What events of one region show as: the text of chunks, the value of an end or why it has none, or else a delimiter.
pub fn shown(recording: &Recording, events: Range<usize>) -> Cow<'_, str> {
    let Some(event) = recording.event(events.start) else { return Cow::default() };
    match (event.kind, event.value) {
        (Kind::Chunk, _) => {
            let last = recording.event(events.end.saturating_sub(1)).map_or(event.span.end, |last| last.span.end);
            recording.slice(event.span.start..last).into()
        }
        (_, Some(Ok(value))) => value.json(),
        (_, Some(Err(reason))) => reason.into(),
        (_, None) => recording.slice(event.span).into(),
    }
}

/// The moment of some feeds at which most text was held, and where that begins.
pub fn longest_held(recording: &Recording, feeds: Range<usize>) -> Option<(Moment, usize)> {
    let held =
        feeds.map(|feed| recording.moment_of_feed(feed)).filter_map(|moment| Some((moment, recording.held(moment)?)));
    let longest = held.max_by_key(|(_, held)| held.span.len());
    longest.map(|(moment, held)| (moment, held.span.start))
}

/// Whether the parse ended with this message.
pub fn gives(recording: &Recording, expected: &Object) -> bool {
    matches!(recording.outcome(), Outcome::Finished { .. }) && recording.message(recording.end()) == *expected
}
