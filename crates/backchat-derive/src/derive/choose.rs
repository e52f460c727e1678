//! The search: compiles candidates from one wire, the cheapest first, until the proof passes one.
//!
//! A failed proof names the field that is wrong; only choices about that field are varied next. Choices that compile to
//! the same template are proved once.

use std::collections::{HashMap, HashSet};

use super::compile::{Choices, Topic, compile};
use super::needed::holds_probe;
use super::{Attempt, Job, keep};
use crate::wire::{self, Reading, structure::WireFormat};
use backchat_core::distinct;
use backchat_core::json::{Step, Value};
use backchat_probe::probe::steady::Varying;

/// How many candidates are proved at most.
const MOST_PROOFS: usize = 32;

/// How many candidates in a row may fail to improve on the best before the search ends.
const MOST_IN_VAIN: usize = 10;

/// How many more candidates are proved after one that reads everything but that some reader refuses.
const MORE_PROOFS: usize = 4;

/// A structure and the candidate that reads it best.
pub(super) struct Chosen {
    pub wire: WireFormat,
    /// The varying texts that the wire has placeholder characters for.
    pub varying: Varying,
    pub reasoning_field: String,
    pub attempt: Attempt,
}

/// Infers the structure and finds the candidate that reads it best; `None` if no content shows or nothing compiles.
pub(super) fn choose(job: &Job<'_>) -> Option<Chosen> {
    let proof = &job.proof;
    let mut trials = Trials { job, made: HashMap::new() };
    let varying = wire::varying::find(&proof.prober, &proof.request.usage);
    // Comparing calls shows a number between the values of a call, but not one in its mark.
    let counted = wire::varying::with_calls(&varying, &proof.prober);
    let known = std::iter::once(&varying).chain(Some(&counted).filter(|counted| **counted != varying));
    let readings: Vec<Reading> = Reading::ordered(proof.prober.template().literals()).collect();
    let mut best: Option<(usize, Chosen)> = None;
    let mut postponed = Vec::new();
    // Renders leave several readings open. The next one is tried if the earlier ones do not read everything.
    let readings = known.flat_map(|varying| readings.iter().map(move |reading| (varying, *reading)));
    for (place, (varying, reading)) in readings.enumerate() {
        #[cfg(test)]
        if super::ablation::leaves_out_reading(reading) {
            continue;
        }
        let Some(mut search) = Search::infer(varying, reading, job) else { continue };
        search.step(&mut trials);
        if search.fails_most() {
            // No choice is likely to repair a turn that is cut wrongly: try other readings first.
            postponed.push((place, search));
        } else if keep_better(&mut best, place, search.finish(&mut trials)) {
            return best.map(|(_, best)| best);
        }
    }
    for (place, search) in postponed {
        if keep_better(&mut best, place, search.finish(&mut trials)) {
            break;
        }
    }
    best.map(|(_, best)| best)
}

/// Keeps the better result, of equals that of the earlier reading. Returns whether the best is whole.
fn keep_better(best: &mut Option<(usize, Chosen)>, place: usize, found: Option<Chosen>) -> bool {
    let rank = |place: usize, chosen: &Chosen| (chosen.attempt.rank(), place);
    if let Some(found) = found
        && best.as_ref().is_none_or(|(earlier, best)| rank(place, &found) < rank(*earlier, best))
    {
        *best = Some((place, found));
    }
    best.as_ref().is_some_and(|(_, best)| best.attempt.is_whole())
}

/// The drafts proved so far. Several readings may compile to the same draft.
struct Trials<'p, 't> {
    job: &'p Job<'t>,
    made: HashMap<String, Option<Attempt>>,
}

impl Trials<'_, '_> {
    /// The result of a draft with this text; `None` if it does not load.
    fn attempt(&mut self, draft: Value, text: String) -> Option<Attempt> {
        self.made.entry(text).or_insert_with(|| Attempt::for_readers(draft, self.job)).clone()
    }
}

/// A candidate that waits for its proof.
struct Candidate {
    choices: Choices,
    /// How many conversations its parent candidate fails: the fewer, the sooner it is tried.
    parent: usize,
}

/// The search for the candidate that reads one structure best.
struct Search {
    wire: WireFormat,
    varying: Varying,
    reasoning_field: String,
    waiting: Vec<Candidate>,
    refuted: HashSet<String>,
    known: HashSet<Choices>,
    best: Option<Attempt>,
    /// How many more candidates may be proved.
    left: usize,
    /// How many in a row did not improve on the best.
    in_vain: usize,
}

impl Search {
    /// Infers the structure in one reading; `None` if no content shows.
    fn infer(varying: &Varying, reading: Reading, job: &Job<'_>) -> Option<Self> {
        let Job { proof, options, readers } = job;
        let mut wire = wire::infer(&proof.prober.steady(varying), &proof.request.usage, reading)?;
        let keys: Vec<&str> = wire.reasoning.iter().flat_map(|reasoning| reasoning.keys()).collect();
        let reasoning_field = readers.reasoning_field(options, &keys);
        // A template cannot contain marks that change with the values of a message.
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
        Some(Self::for_wire(wire, varying.clone(), reasoning_field))
    }

    fn for_wire(wire: WireFormat, varying: Varying, reasoning_field: String) -> Self {
        Self {
            wire,
            varying,
            reasoning_field,
            waiting: vec![Candidate { choices: Choices::default(), parent: 0 }],
            refuted: HashSet::new(),
            known: HashSet::from([Choices::default()]),
            best: None,
            left: MOST_PROOFS,
            in_vain: 0,
        }
    }

    /// Whether most conversations have been misread so far.
    fn fails_most(&self) -> bool {
        self.best.as_ref().is_some_and(|best| 2 * best.verdict.failed() > best.verdict.cases)
    }

    /// Proves candidates until one reads everything and suits every reader, or until that is unlikely. Returns the best.
    fn finish(mut self, trials: &mut Trials<'_, '_>) -> Option<Chosen> {
        while self.step(trials) {}
        let Self { wire, varying, reasoning_field, best, .. } = self;
        Some(Chosen { wire, varying, reasoning_field, attempt: best? })
    }

    /// Proves the next candidate; returns false if there is none.
    fn step(&mut self, trials: &mut Trials<'_, '_>) -> bool {
        let is_over = self.left == 0 || self.in_vain >= MOST_IN_VAIN;
        let Some(at) = next(&self.waiting).filter(|_| !is_over) else { return false };
        let candidate = self.waiting.swap_remove(at);
        let compiled = compile(&self.wire, &candidate.choices, &self.reasoning_field);
        let text = compiled.to_string();
        if !self.refuted.insert(text.clone()) {
            return true;
        }
        self.left -= 1;
        let Some(attempt) = trials.attempt(compiled, text) else { return true };
        if attempt.is_whole() && attempt.refusals.is_empty() {
            self.best = Some(attempt);
            self.left = 0;
            return true;
        }
        if attempt.reads_all() {
            self.left = self.left.min(MORE_PROOFS);
        }
        let failed = attempt.verdict.failed() + attempt.verdict.misplaced();
        let mut topics = topics(&attempt);
        if !attempt.explained.departures.is_empty() {
            topics.extend([Topic::Content, Topic::Reasoning, Topic::Calls]);
        }
        let is_better = self.best.as_ref().is_none_or(|best| attempt.rank() < best.rank());
        self.in_vain = if is_better { 0 } else { self.in_vain + 1 };
        keep(&mut self.best, attempt);
        for choices in candidate.choices.neighbors(&self.wire, &topics) {
            if self.known.insert(choices) {
                self.waiting.push(Candidate { choices, parent: failed });
            }
        }
        true
    }
}

/// The candidate to prove next: the cheapest of those whose parent failed least.
fn next(waiting: &[Candidate]) -> Option<usize> {
    let rank = |candidate: &Candidate| (candidate.parent, candidate.choices.cost());
    (0..waiting.len()).min_by_key(|at| waiting.get(*at).map(rank))
}

/// The subjects of a candidate's failures and refusals.
fn topics(attempt: &Attempt) -> Vec<Topic> {
    let boundaries = attempt.verdict.failures.iter().map(|failure| failure.boundary.as_ref());
    let fields = boundaries.map(|boundary| boundary.map(|boundary| boundary.field.clone()));
    let refused = attempt.refusals.iter().filter_map(|refusal| match refusal.place.steps().get(1) {
        Some(Step::Key(field)) => Some(Some(field.to_string())),
        _ => None,
    });
    distinct(fields.chain(refused).map(|field| match field.as_deref() {
        Some("tool_calls") | None => Topic::Calls,
        Some("content") => Topic::Content,
        Some(_) => Topic::Reasoning,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{ANSWER, CHAT, object_body, prompt, reasoning, value, wire_with, with_job};
    use crate::derive::readers::Fitted;

    #[test]
    fn the_cheapest_child_of_the_best_parent_is_next() {
        let of = |parent, cut| Candidate { choices: Choices { cut, ..Choices::default() }, parent };
        assert_eq!(next(&[of(3, 0), of(1, 2), of(1, 1)]), Some(2));
        assert_eq!(next(&[]), None);
    }

    fn with_attempt<T>(json: &str, work: impl FnOnce(&Attempt) -> T) -> T {
        with_job(CHAT, |job| {
            let way = Fitted { template: value(json), dropped: Vec::new() };
            work(&Attempt::prove(way, job).unwrap())
        })
    }

    #[test]
    fn the_field_of_a_failure_decides_what_to_vary() {
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
        with_job(CHAT, |job| {
            let mut trials = Trials { job, made: HashMap::new() };
            let search = Search::for_wire(wire.clone(), Varying::default(), "reasoning_content".to_owned());
            (search.finish(&mut trials).unwrap().attempt, job.proof.tried().len())
        })
    }

    #[test]
    fn a_search_ends_with_the_first_candidate_that_reads_everything_for_all_readers() {
        let (plainest, refuted) = searched(["", "<call>", "</call>", "", ""]);
        assert!(plainest.is_whole() && plainest.refusals.is_empty());
        assert_eq!(refuted, 0);
        // Marks of a section need look-arounds, which one reader refuses: other candidates are tried.
        let (later, refuted) = searched(["<call>", "", "", "", "</call>"]);
        assert!(later.is_whole() && later.refusals.is_empty(), "{}", later.draft);
        assert!(refuted > 0);
    }

    #[test]
    fn a_search_without_success_returns_the_candidate_that_fails_least() {
        let (best, refuted) = searched(["", "<tool>", "</tool>", "", ""]);
        assert!(!best.is_whole() && best.verdict.passed > 0);
        assert!((1..=MOST_PROOFS).contains(&refuted), "{refuted}");
    }

    #[test]
    fn a_draft_that_several_readings_share_is_proved_once() {
        let mut wire = wire_with(["", "<tool>", "</tool>", "", ""], object_body());
        wire.prompts = vec![prompt("<assistant>")];
        with_job(CHAT, |job| {
            let mut trials = Trials { job, made: HashMap::new() };
            let mut found = || {
                let search = Search::for_wire(wire.clone(), Varying::default(), "thinking".to_owned());
                let found = search.finish(&mut trials).unwrap();
                (found.attempt.draft, job.proof.tried().len())
            };
            let first = found();
            assert!(first.1 > 0);
            assert_eq!(found(), first);
        });
    }

    #[test]
    fn the_plainest_candidate_shows_that_a_reading_fails_most_conversations() {
        let fails_most = |header: &str| {
            let mut wire = wire_with(["", "<call>", "</call>", "", ""], object_body());
            wire.prompts = vec![prompt(header)];
            wire.content.close = "<end>".to_owned();
            with_job(CHAT, |job| {
                let mut trials = Trials { job, made: HashMap::new() };
                let mut search = Search::for_wire(wire.clone(), Varying::default(), "thinking".to_owned());
                search.step(&mut trials);
                search.fails_most()
            })
        };
        assert!(!fails_most("<assistant>"));
        assert!(fails_most("<user>"));
    }

    #[test]
    fn of_equally_good_readings_the_first_one_is_taken() {
        let found = |json: &str, thought: &str| {
            let attempt = with_attempt(json, Attempt::clone);
            let (wire, varying) = (wire_with(["", "<call>", "</call>", "", ""], object_body()), Varying::default());
            Some(Chosen { wire, varying, reasoning_field: thought.to_owned(), attempt })
        };
        let misses = ANSWER.replace("<call>", "<never>");
        let mut best = None;
        assert!(!keep_better(&mut best, 1, found(&misses, "second")));
        assert!(!keep_better(&mut best, 0, found(&misses, "first")));
        assert!(!keep_better(&mut best, 2, found(&misses, "third")));
        assert!(!keep_better(&mut best, 3, None));
        assert_eq!(best.as_ref().unwrap().1.reasoning_field, "first");
        assert!(keep_better(&mut best, 4, found(ANSWER, "whole")));
        assert_eq!(best.unwrap().1.reasoning_field, "whole");
    }
}
