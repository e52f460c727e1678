//! The search: compiles candidates from one wire, the cheapest first, until the proof passes one.
//!
//! A failed proof names the field that is wrong; only choices about that field are varied next. Choices that compile to
//! the same template are proved once.

use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};
use std::iter;

use super::compile::{CallRegion, Choices, Topic, are_python_list, compile};
use super::needed::holds_probe;
use super::readers::Fitted;
use super::{Attempt, Job, keep};
use crate::wire::{self, Reading, structure::WireFormat};
use backchat_chat::{charge, ended};
use backchat_core::json::{Step, Value};
use backchat_core::{distinct, push_new};
use backchat_probe::probe::steady::Varying;

/// What a byte of a candidate costs that is written, loaded and shown to its readers, in steps of the evaluator.
const PROVING: usize = 4;

/// How many candidates are proved at most.
const MOST_PROOFS: usize = 32;

/// How many candidates in a row may fail to improve on the best before the search ends.
const MOST_IN_VAIN: usize = 10;

/// How many more candidates are proved after one that reads everything but that some reader refuses.
const MORE_PROOFS: usize = 4;

/// A structure and the candidate that reads it best.
#[derive(Clone)]
pub(super) struct Chosen {
    pub wire: WireFormat,
    /// The varying texts that the wire has placeholder characters for.
    pub varying: Varying,
    pub reasoning_field: String,
    pub attempt: Attempt,
    /// A draft that reads more, but that some reader refuses.
    pub refused: Option<Attempt>,
    /// If this one takes a word of a mark for any word and does not read everything, the best in which no word varies.
    pub exact: Option<Box<Chosen>>,
}

impl Chosen {
    /// This choice, or the exact one if that reads more, each with what samples and branches teach.
    pub fn taught(self, job: &Job<'_>) -> Self {
        let mut taught = Self { attempt: self.attempt.taught(job), ..self };
        let Some(exact) = taught.exact.take().filter(|_| !taught.attempt.is_whole()) else { return taught };
        let attempt = exact.attempt.taught(job);
        if attempt.rank() < taught.attempt.rank() { Self { attempt, ..*exact } } else { taught }
    }
}

/// Infers the structure and finds the candidate that reads it best; `None` if no content shows or nothing compiles.
pub(super) fn choose(job: &Job<'_>) -> Option<Chosen> {
    let proof = &job.proof;
    let mut trials = Trials { job, made: HashMap::new() };
    let varying = wire::varying::find(&proof.prober, &proof.request.usage);
    // Comparing calls shows a number between the values of a call, but not one in its mark.
    let counted = wire::varying::with_calls(&varying, &proof.prober);
    // What marks repeat of the turn's own values is searched for only if the draft without it does not read everything.
    let echoed = LazyCell::new(|| wire::echoes::of_turn(&counted, &proof.prober, &proof.request.usage));
    // A mark that is another one for other values looks like a word that varies: then only numbers vary, or nothing does.
    let (numbers, none) = (counted.without_words(), Varying::default());
    let mut seen = Vec::new();
    let known = [&varying, &counted].into_iter().chain(iter::once_with(|| &*echoed)).chain([&numbers, &none]);
    let known = known.filter(|varying| push_new(&mut seen, *varying));
    let readings: Vec<Reading> = Reading::ordered(proof.prober.template().literals()).collect();
    let (mut best, mut exact) = (None, None);
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
        } else if keep_best(&mut best, &mut exact, place, search.finish(&mut trials)) {
            return best.map(|(_, best)| best);
        }
    }
    for (place, search) in postponed {
        if keep_best(&mut best, &mut exact, place, search.finish(&mut trials)) {
            return best.map(|(_, best)| best);
        }
    }
    let exact = exact.map(|(_, exact)| Box::new(exact));
    best.map(|(_, best)| Chosen { exact: exact.filter(|_| best.varying.has_words()), ..best })
}

/// Keeps the best result, and the best in which no word varies. Returns whether the best is whole.
fn keep_best(
    best: &mut Option<(usize, Chosen)>,
    exact: &mut Option<(usize, Chosen)>,
    place: usize,
    found: Option<Chosen>,
) -> bool {
    if found.as_ref().is_some_and(|found| !found.varying.has_words()) {
        keep_better(exact, place, found.clone());
    }
    keep_better(best, place, found)
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
    /// The choices of the best.
    chosen: Choices,
    /// How many more candidates may be proved.
    left: usize,
    /// How many in a row did not improve on the best.
    in_vain: usize,
}

impl Search {
    /// Infers the structure in one reading; `None` if no content shows, or if the examination ends.
    fn infer(varying: &Varying, reading: Reading, job: &Job<'_>) -> Option<Self> {
        let Job { proof, options, readers } = job;
        let wire = wire::infer(&proof.prober.steady(varying), &proof.request.usage, reading)?;
        // A structure of some of its renders is none.
        let mut wire = Some(wire).filter(|_| ended().is_none())?;
        let keys: Vec<&str> = wire.reasoning.iter().flat_map(|reasoning| reasoning.keys()).collect();
        let reasoning_field = readers.reasoning_field(options, &keys);
        // A template cannot contain marks that change with the values of a message.
        let holds_needles = |wire: &WireFormat| {
            let text = compile(wire, &Choices::default(), &reasoning_field).to_string();
            charge(PROVING * text.len()) && holds_probe(&text)
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
            chosen: Choices::default(),
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
        let mut refused = self.list(trials.job);
        let mut best = self.best?;
        // A draft that the readers refuse is better than none that reads calls, unless they were requested.
        let is_only = |list: &mut Attempt| list.refusals.is_empty() || list.requested == 0 && !best.reads_calls();
        if let Some(list) = refused.take_if(is_only) {
            best = Attempt { avoided: best.avoided, ..list };
        }
        let Self { wire, varying, reasoning_field, .. } = self;
        Some(Chosen { wire, varying, reasoning_field, attempt: best, refused, exact: None })
    }

    /// The draft that reads all calls as one list, if it reads more than the best and requested readers accept it.
    fn list(&self, job: &Job<'_>) -> Option<Attempt> {
        let best = self.best.as_ref().filter(|best| best.verdict.passed < best.verdict.cases)?;
        let choices = Choices { region: CallRegion::List, ..self.chosen };
        if !are_python_list(&self.wire, &choices) {
            return None;
        }
        let template = compile(&self.wire, &choices, &self.reasoning_field);
        let list = Attempt::prove(Fitted { template, dropped: Vec::new() }, job)?;
        let is_of_use = list.refusals.is_empty() || list.requested == 0;
        (is_of_use && list.reads_more_than(best)).then_some(list)
    }

    /// Proves the next candidate; returns false if there is none.
    fn step(&mut self, trials: &mut Trials<'_, '_>) -> bool {
        let is_over = self.left == 0 || self.in_vain >= MOST_IN_VAIN || ended().is_some();
        let Some(at) = next(&self.waiting).filter(|_| !is_over) else { return false };
        let candidate = self.waiting.swap_remove(at);
        let compiled = compile(&self.wire, &candidate.choices, &self.reasoning_field);
        let text = compiled.to_string();
        if !self.refuted.insert(text.clone()) {
            return true;
        }
        self.left -= 1;
        charge(PROVING * text.len());
        let Some(attempt) = trials.attempt(compiled, text) else { return true };
        if attempt.is_whole() && attempt.refusals.is_empty() && attempt.verdict.excuses().next().is_none() {
            self.best = Some(attempt);
            self.chosen = candidate.choices;
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
        if is_better {
            self.chosen = candidate.choices;
        }
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
    let excused = attempt.verdict.excuses().next().map(|_| None);
    distinct(fields.chain(refused).chain(excused).map(|field| match field.as_deref() {
        Some("tool_calls") | None => Topic::Calls,
        Some("content") => Topic::Content,
        Some(_) => Topic::Reasoning,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{
        ANSWER, CHAT, object_body, prompt, python_list, reasoning, value, wire_with, with_job,
    };
    use crate::derive::proof::Proof;
    use crate::derive::{Options, Target};
    use backchat_chat::ChatTemplate;

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

    /// Calls as Python writes them, with a piece of Jinja between a name and its arguments.
    fn python_calls(before_arguments: &str) -> String {
        let (before, rest) = CHAT.split_once("{% for c in m.tool_calls or [] %}").unwrap();
        let after = rest.split_once("{% endfor %}").unwrap().1;
        let calls = "{% if m.tool_calls %}<calls>[{% for c in m.tool_calls %}{{ c.function.name }}BEFORE(\
            {% for k, v in c.function.arguments.items() %}{{ k }}={{ ([v] | string)[1:-1] }}\
            {{ ', ' if not loop.last }}{% endfor %}){{ ', ' if not loop.last }}{% endfor %}]</calls>{% endif %}";
        format!("{before}{}{after}", calls.replace("BEFORE", before_arguments))
    }

    /// The content parser of calls in the draft, and that of the draft that some reader refuses.
    fn parsers_of_calls(source: &str, target: Option<&'static Target>) -> (String, Option<String>) {
        let options = Options::default().targets(target.into_iter().collect());
        let template = ChatTemplate::compile(source).unwrap();
        let job = Job::new(Proof::new(&template, &options).unwrap(), &options);
        let mut wire = python_list();
        wire.prompts = vec![prompt("<assistant>")];
        wire.reasoning = Some(reasoning("<weigh>", "</weigh>"));
        let search = Search::for_wire(wire, Varying::default(), "reasoning_content".to_owned());
        let found = search.finish(&mut Trials { job: &job, made: HashMap::new() }).unwrap();
        let parser = |attempt: &Attempt| {
            let field = attempt.draft.get("fields").unwrap().get("tool_calls").unwrap();
            field.get("content").unwrap().as_str().unwrap().to_owned()
        };
        (parser(&found.attempt), found.refused.as_ref().map(parser))
    }

    #[test]
    fn a_list_of_calls_is_read_whole_for_readers_that_can_and_by_default_if_nothing_else_reads_it() {
        let list = || "python-call-list".to_owned();
        let (keyed, spaced) = (python_calls(""), python_calls(" "));
        for (source, target, taken, refused) in [
            // Most readers load only the draft that loses the escapes of strings.
            (&keyed, None, "xml-inline".to_owned(), Some(list())),
            (&keyed, Some("transformers"), list(), None),
            (&keyed, Some("transformers-5.23"), "xml-inline".to_owned(), None),
            // The wire lacks the space before the arguments, so no other draft reads a call.
            (&spaced, None, list(), None),
        ] {
            let found = parsers_of_calls(source, target.and_then(Target::named));
            assert_eq!(found, (taken, refused), "{target:?}");
        }
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
            Some(Chosen { wire, varying, reasoning_field: thought.to_owned(), attempt, refused: None, exact: None })
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
