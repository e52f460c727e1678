//! Blocks for spans that no single block can cover: several in a row, each in one body of the source.

use std::collections::HashMap;

use super::case::Case;
use super::condition::Condition;
use super::pairs::{PLACES_PER_STEP, Pair, divided, loop_before, message_loop};
use super::source::{self, Piece};
use super::traces::Trace;
use backchat_chat::{charge, ended};
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

/// Chooses blocks that together cover every span and nothing else, those that cover most first; `conditions` are those
/// that blocks may have.
pub(super) fn choose(
    pieces: &[Piece],
    cases: &[Case],
    traces: &[Trace],
    conditions: &[Condition],
) -> Option<Vec<Pair>> {
    let candidates = candidates(pieces, cases, traces, conditions);
    let mut missing: Vec<Vec<bool>> = cases.iter().map(uncovered).collect();
    let mut chosen: Vec<Pair> = Vec::new();
    while missing.iter().flatten().any(|missing| *missing) {
        if chosen.len() == MOST_BLOCKS || ended().is_some() {
            return None;
        }
        let gain = |candidate: &Candidate| -> usize {
            let bytes = candidate.marked.iter().filter_map(|(case, start, end)| missing.get(*case)?.get(*start..*end));
            let gains = bytes.map(|bytes| {
                charge(bytes.len() / PLACES_PER_STEP + 1);
                bytes.iter().filter(|byte| **byte).count()
            });
            gains.sum()
        };
        let is_free = |candidate: &&Candidate| chosen.iter().all(|other| candidate.pair.is_apart(other));
        let best = candidates.iter().filter(is_free).max_by_key(|candidate| {
            let pair = &candidate.pair;
            let cost = (pair.condition, divided(pieces, pair), pair.to - pair.from);
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
fn candidates(pieces: &[Piece], cases: &[Case], traces: &[Trace], conditions: &[Condition]) -> Vec<Candidate> {
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
        let conditions = places.first().map_or_else(Vec::new, |place| asked(pieces, traces, *place, conditions));
        for (index, from) in places.iter().enumerate().take_while(|_| ended().is_none()) {
            for (condition, iterations) in &conditions {
                for to in places.iter().skip(index + 1) {
                    let (Some(starts), Some(ends)) = (reached.get(from), reached.get(to)) else { continue };
                    charge(starts.len());
                    // A pair that marks other text does so at any greater length.
                    let Some(marked) = marked(cases, [starts, ends], *condition, iterations) else { break };
                    if !marked.is_empty() && found.len() < MOST_PAIRS {
                        found.push(Candidate { pair: Pair::plain(*from, *to, *condition), marked });
                    }
                }
            }
        }
    }
    found
}

/// The conditions that a block in a body may have, with the positions at which the iterations over the messages begin in
/// each case.
fn asked(
    pieces: &[Piece],
    traces: &[Trace],
    place: usize,
    conditions: &[Condition],
) -> Vec<(Condition, Vec<Vec<usize>>)> {
    let mut found = vec![(Condition::Always, Vec::new())];
    let inside = message_loop(pieces, place);
    let before = if inside.is_none() { loop_before(pieces, place) } else { None };
    for condition in conditions {
        let messages = match condition {
            Condition::Last => &before,
            _ => &inside,
        };
        found.extend(
            messages
                .as_ref()
                .map(|messages| (*condition, traces.iter().map(|trace| messages.iterations(trace)).collect())),
        );
    }
    found
}

/// The text in spans that a pair marks; `None` if it marks other text. Under a condition it may write other messages;
/// `iterations` are where those over the messages begin in each case.
fn marked(
    cases: &[Case],
    [starts, ends]: [&[(usize, usize)]; 2],
    condition: Condition,
    iterations: &[Vec<usize>],
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
        charge(text.len() / PLACES_PER_STEP);
        if text.trim().is_empty() {
            continue;
        }
        // White space before the text may be inside or outside; after the stop it is outside.
        let first = start + text.len() - text.trim_start().len();
        let iterations = iterations.get(*case_index).filter(|_| condition.is_any());
        if case.spans.iter().any(|span| first >= case.earliest(span) && *end <= span.end) {
            marked.push((*case_index, *start, *end));
        } else if !iterations.is_some_and(|iterations| case.is_foreign((*start, *end), condition, iterations)) {
            return None;
        }
    }
    Some(marked)
}
