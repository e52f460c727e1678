//! The search: candidates compiled from one wire, the cheapest first, each held against the proof until one holds.
//!
//! A failed proof says which field is wrong at which place; only the choices about that field are varied next. What a
//! candidate is, is its compiled template: choices that compile alike are proved once.

use std::collections::HashSet;

use super::compile::{Choices, Topic, compile};
use super::proof::Proof;
use super::{Attempt, Options};
use crate::template::Template;
use crate::wire::probe::{Prober, needle};
use crate::wire::{self, marks, structure::Wire};

/// How many candidates are proved at most.
const MOST_PROOFS: usize = 32;

/// A structure and the candidate that reads it best.
pub(super) struct Chosen {
    pub wire: Wire,
    pub reasoning_field: String,
    pub attempt: Attempt,
}

/// Infers the structure and finds the candidate that reads it best; nothing where no content shows or nothing compiles.
/// The prober keeps the manner in which the template takes conversations.
pub(super) fn choose(prober: &mut Prober, proof: &Proof<'_>, options: &Options) -> Option<Chosen> {
    prober.settle()?;
    let manner = prober.manner;
    let mut best: Option<Chosen> = None;
    // Where one mark ends and the next begins has two readings: the second is tried where the first reads less than all.
    for segmentation in marks::Segmentation::ALL {
        prober.manner = manner;
        let found = marks::cut_by(segmentation, || candidate(prober, proof, options));
        let Some(found) = found else { continue };
        if best.as_ref().is_none_or(|best| found.attempt.rank() < best.attempt.rank()) {
            best = Some(found);
        }
        if best.as_ref().is_some_and(|best| best.attempt.is_whole()) {
            break;
        }
    }
    best
}

fn candidate(prober: &mut Prober, proof: &Proof<'_>, options: &Options) -> Option<Chosen> {
    let mut wire = wire::infer(prober, proof.reads())?;
    let reasoning_field = options.reasoning_field.clone().unwrap_or_else(|| field(&wire));
    // Marks that change with what is said are none that a template could name.
    let holds_needles = |wire: &Wire| {
        let text = compile(wire, &Choices::default(), &reasoning_field).to_string();
        needle::BEGINNINGS.iter().any(|beginning| text.contains(beginning))
    };
    if holds_needles(&wire) {
        wire.calls = None;
    }
    if holds_needles(&wire) {
        wire.reasoning = None;
    }
    let attempt = search(&wire, proof, options, &reasoning_field)?;
    Some(Chosen { wire, reasoning_field, attempt })
}

/// What the chat template calls reasoning.
fn field(wire: &Wire) -> String {
    let usual = "reasoning_content";
    let mut keys = wire.reasoning.iter().flat_map(|reasoning| reasoning.keys()).peekable();
    let first = keys.peek().copied().unwrap_or(usual);
    if keys.any(|key| key == usual) { usual.to_owned() } else { first.to_owned() }
}

/// A candidate that waits for its proof.
struct Candidate {
    choices: Choices,
    /// How many conversations the candidate it was made from fails: the fewer, the sooner it is tried.
    parent: usize,
}

fn search(wire: &Wire, proof: &Proof<'_>, options: &Options, field: &str) -> Option<Attempt> {
    let mut waiting = vec![Candidate { choices: Choices::default(), parent: 0 }];
    let mut refuted: HashSet<String> = HashSet::new();
    let mut known: HashSet<Choices> = HashSet::from([Choices::default()]);
    let mut best: Option<Attempt> = None;
    let mut proofs = 0;
    while let Some(at) = next(&waiting) {
        let candidate = waiting.swap_remove(at);
        let compiled = compile(wire, &candidate.choices, field);
        if !refuted.insert(compiled.to_string()) {
            continue;
        }
        let Ok(loaded) = Template::from_value(&compiled) else { continue };
        let template = loaded.template;
        let attempt = Attempt::of(&template, proof, options);
        proofs += 1;
        let failed = attempt.verdict.failed();
        let mut topics = topics(&attempt.verdict.failures);
        if !attempt.explained.departures.is_empty() {
            topics.extend([Topic::Content, Topic::Reasoning, Topic::Calls]);
        }
        if attempt.is_whole() {
            return Some(attempt);
        }
        if best.as_ref().is_none_or(|best| attempt.rank() < best.rank()) {
            best = Some(attempt);
        }
        if proofs == MOST_PROOFS {
            break;
        }
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

/// What the failures are about.
fn topics(failures: &[super::proof::Failure]) -> Vec<Topic> {
    let mut topics = Vec::new();
    for failure in failures {
        let field = failure.boundary.as_ref().map(|boundary| boundary.field.as_str());
        let topic = match field {
            Some("tool_calls") => Topic::Calls,
            Some("content") => Topic::Content,
            Some(_) => Topic::Reasoning,
            None => Topic::Calls,
        };
        if !topics.contains(&topic) {
            topics.push(topic);
        }
    }
    topics
}
