//! The search: candidates compiled from one wire, the cheapest first, each held against the proof until one holds.
//!
//! A failed proof says which field is wrong at which place; only the choices about that field are varied next. What a
//! candidate is, is its compiled template: choices that compile alike are proved once.

use std::collections::HashSet;

use super::compile::{Choices, Topic, compile};
use super::findings;
use super::probe::Prober;
use super::proof::Proof;
use super::{Attempt, Options, reads};
use crate::chat::ChatTemplate;
use crate::template::Template;
use crate::wire::conversation::Carrier;
use crate::wire::{self, structure::Wire};

/// How many candidates are proved at most.
const MOST_PROOFS: usize = 32;

/// Finds the candidate that reads the wire of this chat template best.
pub(super) fn choose(template: &ChatTemplate, proof: &Proof<'_>, options: &Options) -> Option<Attempt> {
    let mut prober = Prober::new(template, &options.variables, options.now.clone());
    findings::settle_content(&mut prober)?;
    let reads = reads::find(template, &mut prober, &options.variables);
    let wire = wire::infer(&mut prober, &reads)?;
    let field = options.reasoning_field.clone().unwrap_or_else(|| reasoning_field(&wire));
    search(&wire, proof, options, &field)
}

/// What the chat template calls reasoning.
fn reasoning_field(wire: &Wire) -> String {
    let carriers = wire.reasoning.iter().flat_map(|reasoning| &reasoning.carriers);
    let keys: Vec<&String> = carriers
        .filter_map(|carrier| match carrier {
            Carrier::Key(key) => Some(key),
            Carrier::Block { .. } => None,
        })
        .collect();
    let usual = "reasoning_content".to_owned();
    if keys.contains(&&usual) { usual } else { keys.first().map_or(usual, |key| (*key).clone()) }
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
        let topics = topics(&attempt.verdict.failures);
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
