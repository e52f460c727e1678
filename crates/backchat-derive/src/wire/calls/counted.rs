//! Numbers that count the calls of a turn.

use std::ops::Range;

use crate::wire::structure::CallPart;
use backchat_core::text::{common_start, slice};

/// Turns numbers in which two calls differ by one into counters.
pub(super) fn count(pieces: &mut Vec<CallPart>, others: &[CallPart]) {
    if pieces.len() != others.len() {
        return;
    }
    let mut counted = Vec::new();
    for (piece, other) in pieces.iter().zip(others) {
        let (CallPart::Text(a), CallPart::Text(b)) = (piece, other) else {
            counted.push(piece.clone());
            continue;
        };
        match number_between(a, b) {
            Some((range, first)) => {
                push(&mut counted, slice(a, ..range.start));
                counted.push(CallPart::Counter(first));
                push(&mut counted, slice(a, range.end..));
            }
            None => counted.push(piece.clone()),
        }
    }
    *pieces = counted;
}

/// Turns the number after a name into a counter if no render shows a second call: `get:0` is the first call.
pub(super) fn count_alone(pieces: &mut Vec<CallPart>) {
    let [CallPart::Name, CallPart::Text(text), ..] = pieces.as_slice() else { return };
    let Some(rest) = text.strip_prefix(':') else { return };
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    if let Ok(first @ 0..=1) = slice(rest, ..digits).parse::<usize>() {
        let mut counted = vec![CallPart::Text(":".to_owned()), CallPart::Counter(first)];
        push(&mut counted, slice(rest, digits..));
        pieces.splice(1..2, counted);
    }
}

/// The position at which two texts differ in one number that goes up by one.
pub(super) fn number_between(a: &str, b: &str) -> Option<(Range<usize>, usize)> {
    // Two numbers may begin with the same digits.
    let start = common_start(a, b).trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let digits = |text: &str| text.get(start..).map_or(0, |rest| rest.chars().take_while(char::is_ascii_digit).count());
    let (end_a, end_b) = (start + digits(a), start + digits(b));
    if a.get(end_a..)? != b.get(end_b..)? {
        return None;
    }
    let first: usize = a.get(start..end_a)?.parse().ok()?;
    let second: usize = b.get(start..end_b)?.parse().ok()?;
    (second == first + 1).then_some((start..end_a, first))
}

/// Adds a text to the pieces of a call, if there is any.
pub(super) fn push(pieces: &mut Vec<CallPart>, text: &str) {
    if !text.is_empty() {
        pieces.push(CallPart::Text(text.to_owned()));
    }
}
