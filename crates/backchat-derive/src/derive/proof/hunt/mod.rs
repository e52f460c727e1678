//! The proof's question asked longer: random conversations, parsed back like those of the proof, guided by the conditions
//! that have not gone both ways.
//!
//! Each conversation is judged as the proof judges its own, so a hunt finds only what would refute a proof. A conversation
//! that is misread is reduced to the smallest one that still is. Memory does not grow with the number of conversations.

mod excuses;
mod hunted;
mod random;
mod shown;
mod texts;
mod trials;

use super::case::{Case, Cutter, TurnStarts};
use super::conversations::{self, History, Reach, TestAnswer};
use super::judge::Judge;
use super::request::Request;
use super::turn_start::Cut;
use super::verdict::{Branching, Failure, Fate, Verdict};
use super::{Proof, marks};
use backchat_chat::ended;
use backchat_core::push_new;
use backchat_core::text::shrunk;
use backchat_parser::template::Template;
use backchat_probe::coverage::{Coverage, Place, places, suggestions};
use backchat_probe::probe::{Answer, Message, Prober, Setting};
use excuses::Excuses;
pub use hunted::{Hunt, Hunted};
use texts::Texts;
use trials::{Shape, Trial, Trials, smaller};

/// After how many conversations what renders remember is forgotten.
const BATCH: usize = 200;

/// In how many batches conversations are made for conditions that went one way only, and how many for each.
const GUIDED: usize = 5;
const MOST_SUGGESTED: usize = 6;

/// From how many known conversations they are made.
const MOST_BASES: usize = 4;

/// How many conversations are kept from the beginning, whatever they take.
const FIRST_KEPT: usize = 20;

/// How many conversations are tried to reduce one that is misread, and how many are reduced.
const MOST_TRIES: usize = 600;
const MOST_REDUCED: usize = 12;

/// How many settings of the branches are tried besides those of the proof.
const MOST_SETTINGS: usize = 40;

/// How many of their histories.
const MOST_HISTORIES: usize = 6;

/// What conversations of one batch are rendered and judged with.
struct Bench<'b, 't> {
    cutter: Cutter<'b, 't>,
    judge: Judge<'b, 't>,
}

/// The hunt for one draft.
struct Hunter<'p, 't> {
    proof: &'p Proof<'t>,
    excuses: Excuses,
    trials: Trials,
    coverage: Coverage,
    hunted: Hunted,
    /// The failures, one for each cause.
    verdict: Verdict,
    reduced: usize,
}

/// The result of one conversation.
enum Tried {
    /// The chat template refuses it, or shows only a part of it.
    Refused,
    Read,
    Lost,
    Excused,
    Failed(Box<Failure>),
}

impl Proof<'_> {
    /// Tries random conversations with a template whose verdict holds. `on_tried` is called with the number so far.
    pub fn hunt(&self, template: &Template, verdict: &Verdict, hunt: Hunt, on_tried: &mut dyn FnMut(usize)) -> Hunted {
        let mut request = self.request.clone();
        let excuses = Excuses::new(self, template, verdict);
        for (branch, _) in self.branch_fates(template) {
            if request.usage.settings.len() < MOST_SETTINGS {
                push_new(&mut request.usage.settings, branch.case.setting.clone());
            }
        }
        let mut histories = conversations::histories(request.calls.named_ids, request.calls.several);
        histories.extend(self.read_histories(template, &histories));
        let shape = self.shape(&request, &histories, &excuses);
        let mut delimiters = marks(template);
        delimiters.extend(excuses::inner(template));
        let patterns = template.fields().iter().flat_map(|field| field.open.iter().chain(&field.close));
        delimiters.extend(patterns.flat_map(|delimiter| delimiter.pattern().examples().iter().take(3).cloned()));
        let texts = Texts::new(&delimiters, self.plain.template().literals());
        let trials = Trials::new(hunt.seed, texts, shape);
        let (coverage, verdict, hunted) = (Coverage::default(), Verdict::default(), Hunted::new(hunt));
        let mut hunter = Hunter { proof: self, excuses, trials, coverage, hunted, verdict, reduced: 0 };
        hunter.watch_own();
        let mut turn_starts = TurnStarts::default();
        while hunter.hunted.attempts < hunt.conversations && ended().is_none() {
            hunter.guide();
            let (plain, offering) = (self.plain.forgetful(), self.offering.forgetful());
            let judge = Judge::new(template, self.tools.clone(), &plain, &offering);
            let (histories, tokens) = (histories.clone(), self.tokens);
            let cutter =
                Cutter { plain: &plain, offering: &offering, request: &request, histories, tokens, turn_starts };
            let mut bench = Bench { cutter: cutter.with_openings(), judge };
            hunter.batch(&mut bench, on_tried);
            turn_starts = bench.cutter.turn_starts;
        }
        hunter.finish()
    }

    /// The histories of branches whose turns the template reads, besides known ones.
    fn read_histories(&self, template: &Template, known: &[History]) -> Vec<History> {
        let fates = self.branch_fates(template);
        let is_read = |messages: &[Message]| {
            let mut after = fates.iter().filter(|(branch, _)| branch.case.history == messages);
            after.all(|(branch, fate)| branch.case.tools.is_none() && matches!(fate, Fate::Passed))
        };
        let mut found: Vec<History> = Vec::new();
        for (branch, _) in &fates {
            let messages = &branch.case.history;
            let is_known = known.iter().chain(&found).any(|history| history.messages == *messages);
            if found.len() < MOST_HISTORIES && !is_known && is_read(messages) {
                found.push(History::main(format!("after {}", branch.words), messages.clone()));
            }
        }
        found
    }

    /// The structures of its conversations.
    fn shape(&self, request: &Request, histories: &[History], excuses: &Excuses) -> Shape {
        let mut names = Vec::new();
        for call in self.branches().found.iter().flat_map(|branch| &branch.case.said.calls) {
            push_new(&mut names, call.name.clone());
        }
        let settings = request.usage.settings.iter().enumerate();
        Shape {
            calls: request.calls.shown,
            several: request.calls.several,
            reasoning: request.reasoning_input.is_some(),
            named_ids: request.calls.named_ids,
            names,
            histories: histories.iter().map(|history| !history.is_brief).collect(),
            settings: settings.filter(|(_, setting)| !excuses.settings.contains(setting)).map(|(at, _)| at).collect(),
        }
    }
}

impl Hunter<'_, '_> {
    /// Records which branches the conversations of the proof take.
    fn watch_own(&mut self) {
        let proof = self.proof;
        let found = proof.branches().found.iter().map(|branch| &branch.case);
        for case in proof.cases.iter().chain(found).take_while(|_| ended().is_none()) {
            let prober = case.prober(&proof.plain, &proof.offering);
            self.watch(&prober, case);
        }
        let mut histories: Vec<&[Message]> = Vec::new();
        for case in &proof.cases {
            if push_new(&mut histories, &case.history) {
                let prober = if proof.request.always_tools { &proof.offering } else { &proof.plain };
                let ran = prober.ran(&case.history, &Setting::new(), true).unwrap_or_default();
                self.coverage.add(ran, &Answer::default());
            }
        }
        self.hunted.before = self.branching();
    }

    /// Records which branches a conversation takes.
    fn watch(&mut self, prober: &Prober<'_>, case: &Case) {
        let ran = prober.ran(&case.with(case.said.clone()), &case.setting, false).unwrap_or_default();
        self.coverage.add(ran, &case.said);
    }

    fn branching(&self) -> Branching {
        Branching::new(&self.coverage.conditions(), |_| None)
    }

    /// Makes conversations for conditions that went one way only.
    fn guide(&mut self) {
        if self.hunted.attempts >= GUIDED * BATCH {
            return;
        }
        let source = self.proof.plain.template().source();
        let bases: Vec<Trial> = self.trials.kept().iter().rev().take(MOST_BASES).cloned().collect();
        for goal in self.coverage.goals() {
            let condition = source.get(goal.span.clone()).unwrap_or_default();
            for base in &bases {
                let made = suggestions(&goal, condition, (&base.answer, &[]), &[]);
                let is_shown = |answer: &Answer| self.trials.shape.several || answer.calls.len() < 2;
                let made = made.into_iter().filter(|made| is_shown(&made.answer)).take(MOST_SUGGESTED);
                self.trials.next.extend(made.map(|made| Trial { answer: made.answer, ..base.clone() }));
            }
        }
        self.trials.next.truncate(BATCH / 2);
    }

    fn batch(&mut self, bench: &mut Bench<'_, '_>, on_tried: &mut dyn FnMut(usize)) {
        let count = BATCH.min(self.hunted.wanted - self.hunted.attempts);
        for _ in 0..count {
            let trial = self.trials.make();
            let before = self.branching();
            let tried = self.tried(bench, &trial, true);
            if ended().is_some() {
                // What it gave may be due to the end.
                return;
            }
            let is_new = self.branching() != before || self.trials.kept().len() < FIRST_KEPT;
            if is_new && matches!(tried, Tried::Read | Tried::Lost) {
                self.trials.keep(&trial);
            }
            self.hunted.attempts += 1;
            match tried {
                Tried::Refused => self.hunted.refused += 1,
                Tried::Read => self.hunted.read += 1,
                Tried::Lost => self.hunted.lost += 1,
                Tried::Excused => self.hunted.excused += 1,
                Tried::Failed(failure) => self.fail(bench, trial, *failure),
            }
            on_tried(self.hunted.attempts);
        }
    }

    fn tried(&mut self, bench: &mut Bench<'_, '_>, trial: &Trial, watches: bool) -> Tried {
        let named_ids = self.trials.shape.named_ids;
        let said = TestAnswer::new("a conversation", trial.answer.clone(), Reach::Value, named_ids);
        let case = bench.cutter.case(&said, trial.history, trial.setting);
        let is_whole = |case: &Case| case.cut <= Cut::Shared && shown::is_whole(case);
        let Some(case) = case.filter(is_whole) else { return Tried::Refused };
        if watches {
            let prober = case.prober(bench.cutter.plain, bench.cutter.offering);
            self.watch(&prober, &case);
        }
        match bench.judge.fate(&case) {
            Fate::Passed => Tried::Read,
            Fate::Lost(_) => Tried::Lost,
            Fate::Failed(failure) => {
                let is_excused = self.excuses.has_delimiter(&case)
                    || !self.proof.is_meant(&case)
                    || self.excuses.names_a_branch_of(&case, self.proof);
                if is_excused { Tried::Excused } else { Tried::Failed(failure) }
            }
        }
    }

    /// Adds a failure, the first ones of each cause with the smallest conversation that still fails.
    fn fail(&mut self, bench: &mut Bench<'_, '_>, trial: Trial, failure: Failure) {
        self.hunted.misread += 1;
        let is_reduced = self.reduced < MOST_REDUCED && !self.verdict.knows(&failure);
        self.reduced += usize::from(is_reduced);
        let failure = if is_reduced { self.smallest(bench, trial, failure) } else { failure };
        if ended().is_none() {
            self.verdict.fail(failure);
        }
    }

    /// The smallest conversation found that is misread in the same part.
    fn smallest(&mut self, bench: &mut Bench<'_, '_>, mut trial: Trial, failure: Failure) -> Failure {
        let part = failure.part;
        let mut best = failure;
        let mut tries = MOST_TRIES;
        let mut fails = |trial: &Trial| match self.tried(bench, trial, false) {
            Tried::Failed(failure) if failure.part == part && ended().is_none() => Some(*failure),
            _ => None,
        };
        while let Some((made, failure)) = smaller(&trial).into_iter().find_map(|made| {
            tries = tries.checked_sub(1)?;
            let failure = fails(&made)?;
            Some((made, failure))
        }) {
            (trial, best) = (made, failure);
        }
        let reducible = |place: &Place| matches!(place, Place::Content | Place::Reasoning | Place::Value(..));
        let found: Vec<(Place, String)> =
            places(&trial.answer).into_iter().map(|(place, text)| (place, text.to_owned())).collect();
        for (place, text) in found.into_iter().filter(|(place, _)| reducible(place)) {
            let with = |text: &str| Trial { answer: place.replaced(&trial.answer, text), ..trial.clone() };
            let smallest = shrunk(&text, &mut tries, &mut |made| fails(&with(made)).is_some());
            trial = with(&smallest);
        }
        fails(&trial).unwrap_or(best)
    }

    fn finish(mut self) -> Hunted {
        self.hunted.after = self.branching();
        self.verdict.failures.sort_by_key(|failure| failure.text.len());
        self.hunted.failures = self.verdict.failures;
        self.hunted.ended = ended();
        self.hunted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{ANSWER, CHAT, template, with_proof};
    use backchat_core::json::Value;

    fn hunted(chat_template: &str, answer: &str, seed: u64) -> Hunted {
        with_proof(chat_template, |proof| {
            let template = template(answer);
            let verdict = proof.with_branches(&template, proof.judge(&template));
            assert!(verdict.holds(), "{:?}", verdict.failures);
            proof.hunt(&template, &verdict, Hunt { conversations: 400, seed }, &mut |_| {})
        })
    }

    #[test]
    fn nothing_refutes_a_proof_that_is_true() {
        let hunted = hunted(CHAT, ANSWER, 0);
        assert!(!hunted.refutes(), "{}", hunted.failures[0].describe());
        assert_eq!((hunted.attempts, hunted.ended), (400, None));
        assert!(hunted.read > 300, "{:?}", hunted.details());
        // Whole delimiters in a text are the conversation's fault.
        assert!(hunted.excused > 0, "{:?}", hunted.details());
    }

    #[test]
    fn a_false_proof_is_refuted_by_a_small_conversation() {
        // No conversation of the proof has an answer with three of these.
        let odd =
            CHAT.replace("{{ m.content }}", "{{ m.content }}{{ '<odd>' if (m.content or '').count('`') in [3] }}");
        let hunted = hunted(&odd, ANSWER, 0);
        let failure = hunted.failures.first().expect("the template writes more than the content");
        let content = failure.expected.get("content").and_then(Value::as_str).unwrap();
        assert!(content.len() < 10, "{content:?} is not small");
        assert!(hunted.headline().starts_with("refuted by the hunt: "), "{}", hunted.headline());
    }

    #[test]
    fn a_false_proof_is_refuted_after_the_history_of_a_branch() {
        let odd = "{{ '<odd>' if messages[0].role == 'system' and 'loud' in messages[0].content and m.content.count('`') > 1 }}";
        let hunted = hunted(&CHAT.replace("{{ m.content }}", &format!("{{{{ m.content }}}}{odd}")), ANSWER, 0);
        let failure = hunted.failures.first().expect("the template writes more than the content there");
        assert!(failure.case.contains("after the system message \"Answer in one line. loud"), "{}", failure.case);
    }

    #[test]
    fn what_a_filter_changes_in_a_text_refutes_no_proof() {
        for filtered in [
            "(m.content or '') | replace('<', '&lt;')",
            "(m.content or '').split() | join(' ')",
            "(m.content or '') | striptags",
        ] {
            let chat = CHAT.replace("m.content", filtered);
            for seed in 0..3 {
                let hunted = hunted(&chat, ANSWER, seed);
                assert!(!hunted.refutes(), "{filtered}: {}", hunted.failures[0].describe());
                assert!(hunted.lost > 0, "{filtered}: {:?}", hunted.details());
            }
        }
    }

    #[test]
    fn a_seed_repeats_a_hunt() {
        assert_eq!(hunted(CHAT, ANSWER, 3), hunted(CHAT, ANSWER, 3));
        assert_ne!(hunted(CHAT, ANSWER, 3).read, hunted(CHAT, ANSWER, 4).read);
    }
}
