//! Where a template would write a history differently from its ids.

use std::ops::Range;

use super::answer::Answer;
use backchat_core::diagnostic::escape;
use backchat_core::json::Value;
use backchat_core::text::{common_end, common_start, is_word, runs, slice};
use backchat_probe::diff::{DiffTag, operations};
use backchat_probe::probe::REASONING_KEYS;

/// Why a template would write something differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EditCause {
    /// It leaves reasoning out, or writes it differently.
    Reasoning,
    /// The model spelled a call differently.
    Call,
    /// Another marker ended the turn.
    Stop,
    /// The text has moved.
    Moved,
    /// Anything else.
    Other,
}

impl EditCause {
    /// Its name in rows.
    pub fn as_str(self) -> &'static str {
        match self {
            EditCause::Reasoning => "reasoning",
            EditCause::Call => "call",
            EditCause::Stop => "stop",
            EditCause::Moved => "moved",
            EditCause::Other => "other",
        }
    }
}

/// A difference: a span of the text of the ids, in code points, and what the template writes there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Its start.
    pub start: usize,
    /// Its end.
    pub end: usize,
    /// What the template has instead.
    pub text: String,
    /// Why.
    pub why: EditCause,
}

/// The differences between two texts, in order: spans of the first in code points, and the second's text.
pub(super) fn differences(one: &str, other: &str) -> Vec<(Range<usize>, String)> {
    let shared = common_start(one, other).len();
    let end = common_end(slice(one, shared..), slice(other, shared..)).len();
    let offset = slice(one, ..shared).chars().count();
    let [one, other] = [one, other].map(|text| words(slice(text, shared..text.len() - end)));
    let lengths: Vec<usize> = one.iter().map(|word| word.chars().count()).collect();
    let place = |word: usize| offset + lengths.iter().take(word).sum::<usize>();
    operations(&one, &other)
        .iter()
        .filter(|operation| operation.tag() != DiffTag::Equal)
        .map(|operation| {
            let text = other.get(operation.new_range()).unwrap_or_default().concat();
            (place(operation.old_range().start)..place(operation.old_range().end), text)
        })
        .collect()
}

/// Words, white space, and single punctuation characters.
fn words(text: &str) -> Vec<&str> {
    runs(text, |c| if is_word(c) { Some(0) } else { c.is_whitespace().then_some(1) })
}

/// The edits that turn the text of the ids into the render; the prompt and the sample end at `sampled_end`.
pub(super) fn between(text: &str, render: &str, answer: &Answer, sampled_end: usize) -> Vec<Edit> {
    let found = differences(text, render);
    let removed: Vec<String> =
        found.iter().map(|(span, _)| text.chars().skip(span.start).take(span.len()).collect()).collect();
    let end = text.get(..sampled_end).map_or(0, |before| before.chars().count());
    let begin = end.saturating_sub(answer.text.chars().count());
    let reasoning = REASONING_KEYS.into_iter().filter_map(|name| answer.message.get(name));
    let reasoning: Vec<&str> = reasoning.filter_map(Value::as_str).map(str::trim).collect();
    let has_calls = answer.message.get("tool_calls").is_some_and(|calls| !calls.is_empty());
    let why = |place: usize| {
        let (Some((span, new)), Some(old)) = (found.get(place), removed.get(place)) else { return EditCause::Other };
        let inserted: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
        let is_among = |what: &str, all: &[&str]| {
            what.trim().chars().count() > 3 && all.iter().any(|other| other.contains(what.trim()))
        };
        let removed: Vec<&str> = removed.iter().map(String::as_str).collect();
        if is_among(old, &inserted) || is_among(new, &removed) {
            return EditCause::Moved;
        }
        let marker = answer.asked_stop.as_ref().or(answer.last_marker.as_ref());
        let stop = marker.map_or(0, |marker| marker.chars().count());
        if span.end + 1 >= end && span.end <= end && span.start + stop >= end && stop > 0 {
            return EditCause::Stop;
        }
        let is_thought = |text: &str| reasoning.iter().any(|part| text.contains(part));
        if !old.trim().is_empty() && (is_thought(old) || span.start < begin) {
            return EditCause::Reasoning;
        }
        if has_calls && (begin..end).contains(&span.start) { EditCause::Call } else { EditCause::Other }
    };
    let edits = found.iter().enumerate().map(|(place, (span, text))| Edit {
        start: span.start,
        end: span.end,
        text: text.clone(),
        why: why(place),
    });
    edits.collect()
}

pub(super) fn describe(edit: &Edit) -> String {
    let text: String = edit.text.chars().take(60).collect();
    format!(
        "the template would write the characters {} to {} of the history as `{}` ({})",
        edit.start,
        edit.end,
        escape(&text),
        edit.why.as_str()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(text: &str, edits: &[(Range<usize>, String)]) -> String {
        let characters: Vec<char> = text.chars().collect();
        let (mut out, mut at) = (String::new(), 0);
        for (span, new) in edits {
            out.extend(&characters[at..span.start]);
            out.push_str(new);
            at = span.end;
        }
        out.extend(&characters[at..]);
        out
    }

    #[test]
    fn differences_turn_one_text_into_the_other() {
        for (one, other, count) in [
            ("abc", "abc", 0),
            ("é<a>thought</a>said<end>", "é<a></a>said<end>", 1),
            ("<call>{\"a\":1}</call>", "<call>{\"a\": 1}</call>", 1),
            ("one two three", "one 2 three four", 2),
            ("", "x", 1),
            ("日本", "", 1),
        ] {
            let found = differences(one, other);
            assert_eq!((applied(one, &found).as_str(), found.len()), (other, count), "{one}");
        }
    }
}
