//! The search: candidates compiled from one wire, the cheapest first, each tested by the proof until one passes.
//!
//! A failed proof says which field is wrong at which place; only the choices about that field are varied next. A
//! candidate is its compiled template: choices that compile alike are proved once.

use std::collections::HashSet;

use super::compile::{Choices, Topic, compile};
use super::needed::holds_probe;
use super::proof::Proof;
use super::readers::Wish;
use super::{Attempt, Options, keep};
use crate::wire::probe::Prober;
use crate::wire::steady::Varying;
use crate::wire::{self, Reading, structure::WireFormat};
use backchat_core::json::Step;

/// How many candidates are looked at.
const MOST_PROOFS: usize = 32;

/// How many candidates in a row may fail to improve on the best before the search ends.
const MOST_IN_VAIN: usize = 10;

/// How many more candidates are looked at, once one reads everything that some readers refuse, to find one that all of
/// them take.
const MORE_PROOFS: usize = 4;

/// A structure and the candidate that reads it best.
pub(super) struct Chosen {
    pub wire: WireFormat,
    /// The texts in place of which the wire has signs.
    pub varying: Varying,
    pub reasoning_field: String,
    pub attempt: Attempt,
}

/// Infers the structure and finds the candidate that reads it best; nothing if no content shows or nothing compiles.
pub(super) fn choose(proof: &Proof<'_>, options: &Options, wish: &Wish) -> Option<Chosen> {
    let mut best: Option<Chosen> = None;
    let varying = Varying::find(proof.prober(), proof.usage());
    // A number between the values of a call is known from three calls; one in its mark is not.
    let counted = varying.with_calls(proof.prober());
    let known = std::iter::once(&varying).chain(Some(&counted).filter(|counted| **counted != varying));
    let readings: Vec<Reading> = Reading::ordered(proof.prober().literals()).collect();
    // What renders leave open has several readings: the next is tried if those before do not read everything.
    for (varying, reading) in known.flat_map(|varying| readings.iter().map(move |reading| (varying, *reading))) {
        #[cfg(test)]
        if super::ablation::leaves_out_reading(reading) {
            continue;
        }
        let prober = proof.prober().steady(varying);
        let Some(found) = candidate(&prober, varying, reading, proof, options, wish) else { continue };
        if best.as_ref().is_none_or(|best| found.attempt.rank() < best.attempt.rank()) {
            best = Some(found);
        }
        if best.as_ref().is_some_and(|best| best.attempt.is_whole()) {
            break;
        }
    }
    best
}

fn candidate(
    prober: &Prober<'_>,
    varying: &Varying,
    reading: Reading,
    proof: &Proof<'_>,
    options: &Options,
    wish: &Wish,
) -> Option<Chosen> {
    let mut wire = wire::infer(prober, proof.usage(), reading)?;
    let keys: Vec<&str> = wire.reasoning.iter().flat_map(|reasoning| reasoning.keys()).collect();
    let reasoning_field = wish.reasoning_field(options, &keys);
    // A template cannot name marks that change with the values of a message.
    let holds_needles = |wire: &WireFormat| {
        let text = compile(wire, &Choices::default(), &reasoning_field).to_string();
        holds_probe(&text)
    };
    if holds_needles(&wire) {
        wire.calls = None;
    }
    if holds_needles(&wire) {
        wire.reasoning = None;
    }
    let attempt = search(&wire, proof, options, wish, &reasoning_field)?;
    Some(Chosen { wire, varying: varying.clone(), reasoning_field, attempt })
}

/// A candidate that waits for its proof.
struct Candidate {
    choices: Choices,
    /// How many conversations the candidate it was made from fails: the fewer, the sooner it is tried.
    parent: usize,
}

fn search(wire: &WireFormat, proof: &Proof<'_>, options: &Options, wish: &Wish, field: &str) -> Option<Attempt> {
    let mut waiting = vec![Candidate { choices: Choices::default(), parent: 0 }];
    let mut refuted: HashSet<String> = HashSet::new();
    let mut known: HashSet<Choices> = HashSet::from([Choices::default()]);
    let mut best: Option<Attempt> = None;
    let (mut left, mut in_vain) = (MOST_PROOFS, 0);
    while let Some(at) = next(&waiting).filter(|_| left > 0 && in_vain < MOST_IN_VAIN) {
        let candidate = waiting.swap_remove(at);
        let compiled = compile(wire, &candidate.choices, field);
        if !refuted.insert(compiled.to_string()) {
            continue;
        }
        left -= 1;
        let Some(attempt) = Attempt::for_readers(compiled, proof, options, wish) else { continue };
        if attempt.is_whole() && attempt.refusals.is_empty() {
            return Some(attempt);
        }
        if attempt.reads_all() {
            left = left.min(MORE_PROOFS);
        }
        let failed = attempt.verdict.failed() + attempt.verdict.astray();
        let mut topics = topics(&attempt);
        if !attempt.explained.departures.is_empty() {
            topics.extend([Topic::Content, Topic::Reasoning, Topic::Calls]);
        }
        let is_better = best.as_ref().is_none_or(|best| attempt.rank() < best.rank());
        in_vain = if is_better { 0 } else { in_vain + 1 };
        keep(&mut best, attempt);
        for choices in candidate.choices.neighbors(wire, &topics) {
            if known.insert(choices) {
                waiting.push(Candidate { choices, parent: failed });
            }
        }
    }
    best
}

/// The candidate to prove next: of those whose origin failed least, the cheapest.
fn next(waiting: &[Candidate]) -> Option<usize> {
    let rank = |candidate: &Candidate| (candidate.parent, candidate.choices.cost());
    (0..waiting.len()).min_by_key(|at| waiting.get(*at).map(rank))
}

/// The subjects of a candidate's failures and refusals.
fn topics(attempt: &Attempt) -> Vec<Topic> {
    let mut topics = Vec::new();
    let boundaries = attempt.verdict.failures.iter().map(|failure| failure.boundary.as_ref());
    let fields = boundaries.map(|boundary| boundary.map(|boundary| boundary.field.clone()));
    let refused = attempt.refusals.iter().filter_map(|refusal| match refusal.place.steps().get(1) {
        Some(Step::Key(field)) => Some(Some(field.to_string())),
        _ => None,
    });
    for field in fields.chain(refused) {
        let topic = match field.as_deref() {
            Some("tool_calls") | None => Topic::Calls,
            Some("content") => Topic::Content,
            Some(_) => Topic::Reasoning,
        };
        if !topics.contains(&topic) {
            topics.push(topic);
        }
    }
    topics
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{ANSWER, CHAT, object_body, prompt, reasoning, value, wire_with, with_proof};
    use crate::derive::readers::Fitted;

    #[test]
    fn the_cheapest_child_of_the_best_parent_is_next() {
        let of = |parent, cut| Candidate { choices: Choices { cut, ..Choices::default() }, parent };
        assert_eq!(next(&[of(3, 0), of(1, 2), of(1, 1)]), Some(2));
        assert_eq!(next(&[]), None);
    }

    fn with_attempt<T>(json: &str, work: impl FnOnce(&Attempt) -> T) -> T {
        with_proof(CHAT, |proof| {
            let way = Fitted { template: value(json), gone: Vec::new() };
            work(&Attempt::of(way, &proof, &Options::default(), &Wish::of(&[])).unwrap())
        })
    }

    #[test]
    fn the_field_of_a_failure_says_what_to_vary() {
        let about = |from: &str, to: &str| with_attempt(&ANSWER.replace(from, to), topics);
        assert_eq!(about("<never>", ""), []);
        assert_eq!(about("<call>", "<never>"), [Topic::Calls]);
        assert!(about("</weigh>", "</never>").contains(&Topic::Reasoning));
        assert_eq!(about("<end>", "<never>"), [Topic::Content]);
    }

    /// The search for a reading of calls that are cut like this, and how many candidates it refuted.
    fn searched(texts: [&str; 5]) -> (Attempt, usize) {
        let mut wire = wire_with(texts, object_body());
        wire.prompts = vec![prompt("<assistant>")];
        wire.reasoning = Some(reasoning("<weigh>", "</weigh>"));
        with_proof(CHAT, |proof| {
            let found = search(&wire, &proof, &Options::default(), &Wish::of(&[]), "reasoning_content");
            (found.unwrap(), proof.tried().len())
        })
    }

    #[test]
    fn a_search_ends_with_the_first_candidate_that_reads_everything_for_everyone() {
        let (plainest, refuted) = searched(["", "<call>", "</call>", "", ""]);
        assert!(plainest.is_whole() && plainest.refusals.is_empty());
        assert_eq!(refuted, 0);
        // Taken for a section's, the marks need look-arounds, which one reader refuses: others are tried.
        let (later, refuted) = searched(["<call>", "", "", "", "</call>"]);
        assert!(later.is_whole() && later.refusals.is_empty(), "{}", later.draft);
        assert!(refuted > 0);
    }

    #[test]
    fn a_search_in_vain_gives_the_candidate_that_fails_least() {
        let (best, refuted) = searched(["", "<tool>", "</tool>", "", ""]);
        assert!(!best.is_whole() && best.verdict.passed > 0);
        assert!((1..=MOST_PROOFS).contains(&refuted), "{refuted}");
    }
}
