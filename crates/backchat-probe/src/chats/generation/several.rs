//! Blocks for spans that no single block can cover: several in a row, each in one body of the source.

use std::collections::HashMap;

use super::source::{self, Piece};
use super::{Case, Pair, Trace, divided, message_loop};
use backchat_core::text::slice;

/// How many blocks a template may need.
const MOST_BLOCKS: usize = 16;
/// How many pairs are considered.
const MOST_PAIRS: usize = 6000;

/// A pair, and the text it marks: the case and the bytes of its render.
struct Candidate {
    pair: Pair,
    marked: Vec<(usize, usize, usize)>,
}

/// Chooses blocks that together cover every span and nothing else, those that cover most first; `conditions` admits
/// blocks that are only for the assistant's messages.
pub(super) fn choose(pieces: &[Piece], cases: &[Case], traces: &[Trace], conditions: bool) -> Option<Vec<Pair>> {
    let candidates = candidates(pieces, cases, traces, conditions);
    let mut missing: Vec<Vec<bool>> = cases.iter().map(uncovered).collect();
    let mut chosen: Vec<Pair> = Vec::new();
    while missing.iter().flatten().any(|missing| *missing) {
        if chosen.len() == MOST_BLOCKS {
            return None;
        }
        let gain = |candidate: &Candidate| -> usize {
            let bytes = candidate.marked.iter().filter_map(|(case, start, end)| missing.get(*case)?.get(*start..*end));
            bytes.map(|bytes| bytes.iter().filter(|byte| **byte).count()).sum()
        };
        let is_free = |candidate: &&Candidate| chosen.iter().all(|other| candidate.pair.is_apart(other));
        let best = candidates.iter().filter(is_free).max_by_key(|candidate| {
            let pair = &candidate.pair;
            let cost = (pair.conditional, divided(pieces, pair), pair.to - pair.from);
            (gain(candidate), std::cmp::Reverse(cost))
        })?;
        if gain(best) == 0 {
            return None;
        }
        let pair = best.pair;
        for (case, start, end) in &best.marked {
            if let Some(bytes) = missing.get_mut(*case).and_then(|bytes| bytes.get_mut(*start..*end)) {
                bytes.fill(false);
            }
        }
        chosen.push(pair);
    }
    chosen.sort();
    Some(chosen)
}

/// The bytes that some block must mark: from the first text of a span to its end, without white space.
fn uncovered(case: &Case) -> Vec<bool> {
    let mut missing = vec![false; case.text.len()];
    for span in &case.spans {
        let text = slice(&case.text, span.text..span.end);
        for (at, character) in text.char_indices().filter(|(_, character)| !character.is_whitespace()) {
            let at = span.text + at;
            if let Some(bytes) = missing.get_mut(at..at + character.len_utf8()) {
                bytes.fill(true);
            }
        }
    }
    missing
}

/// Every pair in one body that marks only spans.
fn candidates(pieces: &[Piece], cases: &[Case], traces: &[Trace], conditions: bool) -> Vec<Candidate> {
    // The position in the renders at which each place was reached, in their order.
    let mut reached: HashMap<usize, Vec<(usize, usize)>> = HashMap::new();
    for (case, trace) in traces.iter().enumerate() {
        for (at, place) in trace {
            reached.entry(*place).or_default().push((case, *at));
        }
    }
    let mut bodies: HashMap<Vec<usize>, Vec<usize>> = HashMap::new();
    for place in 0..pieces.len() {
        if let Some(body) = source::body_at(pieces, place).filter(|_| reached.contains_key(&place)) {
            bodies.entry(body).or_default().push(place);
        }
    }
    let mut bodies: Vec<Vec<usize>> = bodies.into_values().collect();
    bodies.sort();
    let mut found = Vec::new();
    for places in bodies {
        let messages = places.first().filter(|_| conditions).and_then(|place| message_loop(pieces, *place));
        let iterations: Option<Vec<Vec<usize>>> =
            messages.map(|messages| traces.iter().map(|trace| messages.iterations(trace)).collect());
        let conditions: Vec<_> = [None].into_iter().chain(iterations.as_deref().map(Some)).collect();
        for (index, from) in places.iter().enumerate() {
            for condition in &conditions {
                for to in places.iter().skip(index + 1) {
                    let (Some(starts), Some(ends)) = (reached.get(from), reached.get(to)) else { continue };
                    // A pair that marks other text does so at any greater length.
                    let Some(marked) = marked(cases, starts, ends, *condition) else { break };
                    if !marked.is_empty() && found.len() < MOST_PAIRS {
                        found.push(Candidate { pair: Pair::plain(*from, *to, condition.is_some()), marked });
                    }
                }
            }
        }
    }
    found
}

/// The text in spans that a pair marks; `None` if it marks other text. Under a condition, given by where the iterations
/// over the messages of each case begin, it may write other messages.
fn marked(
    cases: &[Case],
    starts: &[(usize, usize)],
    ends: &[(usize, usize)],
    condition: Option<&[Vec<usize>]>,
) -> Option<Vec<(usize, usize, usize)>> {
    let mut marked = Vec::new();
    if starts.len() != ends.len() {
        // A loop was left in between: the places are not reached in pairs.
        return Some(Vec::new());
    }
    for ((case_index, start), (other, end)) in starts.iter().zip(ends) {
        let Some(case) = cases.get(*case_index).filter(|_| case_index == other && start <= end) else {
            return Some(Vec::new());
        };
        let text = slice(&case.text, *start..*end);
        if text.trim().is_empty() {
            continue;
        }
        // White space before the text may be inside or outside; after the stop it is outside.
        let first = start + text.len() - text.trim_start().len();
        let iterations = condition.and_then(|condition| condition.get(*case_index));
        if case.spans.iter().any(|span| first >= span.start && *end <= span.end) {
            marked.push((*case_index, *start, *end));
        } else if !iterations.is_some_and(|iterations| case.is_foreign((*start, *end), iterations)) {
            return None;
        }
    }
    Some(marked)
}
