//! The search for a repair of one problem: edits in place first, then rules of the prelude, then both. The smallest change
//! that renders prove wins.

use super::branches::Taken;
use super::candidates::Workshop;
use super::edit::{Candidate, changed_lines};
use super::places::Places;
use super::prelude::{self, Rule};
use super::trial::{Gain, Standing, Trial};
use backchat_chat::{ChatTemplate, ended};
use backchat_core::json::Object;
use backchat_core::push_new;
use backchat_probe::doctor::agents::{Base, Problem};

/// How many edits in place a repair of one problem may have.
const MOST_STEPS: usize = 4;
/// The longest prelude.
const MOST_PRELUDE: usize = 25;

/// A template while it is being repaired.
#[derive(Clone)]
pub(super) struct Draft {
    /// The normalized source without a prelude.
    pub body: String,
    pub rules: Vec<Rule>,
    pub standing: Standing,
    /// What was done: the place in `body`, unless it is the prelude, and the words.
    pub steps: Vec<String>,
}

impl Draft {
    /// The normalized source.
    pub fn source(&self) -> String {
        prelude::text(&self.rules, &self.body) + &self.body
    }
}

/// A draft after one step towards the repair of a problem.
struct Step {
    draft: Draft,
    gain: Gain,
    lines: usize,
    /// How many lines its edit is away from where the template goes wrong.
    distance: usize,
}

impl Step {
    /// Better steps have smaller ranks.
    fn rank(&self) -> (usize, usize, usize, usize, usize, usize) {
        let Gain { healthy, missed, aside, .. } = self.gain;
        (usize::MAX - healthy, usize::from(missed > 0), aside, self.lines, missed, self.distance)
    }
}

pub(super) struct Search<'s, 'p, 't> {
    pub base: &'s Base<'p, 't>,
    pub trial: &'s Trial,
    /// The source before any repair, and what became of the tests with it.
    pub original: &'s str,
    pub first: &'s Standing,
    pub repaired: Vec<Problem>,
    /// The special tokens that were not given, by their names, and the texts in their place.
    pub stand_ins: &'s Object,
    /// How many lines the prelude has that the template came with.
    pub head: usize,
}

impl Search<'_, '_, '_> {
    /// The draft in which as many conversations of a problem as possible are cured.
    pub fn cure(&self, problem: Problem, draft: &Draft) -> Option<Draft> {
        let wanted = self.wanted(problem, &draft.standing);
        let found = self.most(problem, draft, wanted)?;
        let is_whole =
            self.wanted(problem, &found.standing) == 0 && self.trial.ill(problem, &found.standing).is_empty();
        (is_whole || !needs_all(problem)).then_some(found)
    }

    fn most(&self, problem: Problem, draft: &Draft, wanted: usize) -> Option<Draft> {
        if wanted == 0 {
            return None;
        }
        let in_place = self.in_place(problem, draft, wanted);
        if in_place.as_ref().is_some_and(|step| self.is_whole(step, wanted) && step.lines <= 2) {
            return in_place.map(|step| step.draft);
        }
        let preludes = self.preludes(problem, draft);
        let best = in_place.into_iter().chain(preludes).min_by_key(Step::rank)?;
        if self.is_whole(&best, wanted) {
            return Some(best.draft);
        }
        // Both: edits in place for what the rest of the prelude left.
        let rest = wanted - best.gain.healthy.min(wanted);
        let both = self.in_place(problem, &best.draft, rest);
        let further = self.preludes(problem, &best.draft).into_iter().min_by_key(Step::rank);
        let more = both.into_iter().chain(further).min_by_key(Step::rank);
        Some(more.map_or(best.draft, |step| step.draft))
    }

    fn wanted(&self, problem: Problem, standing: &Standing) -> usize {
        let chains = standing.chains.iter().filter(|holds| !**holds).count();
        self.trial.curable(problem, standing).len() + if problem == Problem::Prefix { chains } else { 0 }
    }

    fn is_whole(&self, step: &Step, wanted: usize) -> bool {
        step.gain.healthy >= wanted && step.gain.missed == 0
    }

    /// The best result of edits in place, one after the other.
    fn in_place(&self, problem: Problem, draft: &Draft, wanted: usize) -> Option<Step> {
        let mut best: Option<Step> = None;
        let mut current = draft.clone();
        let mut healthy = 0;
        for _ in 0..MOST_STEPS {
            let Some(mut step) = self.next_step(problem, &current) else { break };
            healthy += step.gain.healthy;
            step.gain.healthy = healthy;
            let is_done = healthy >= wanted;
            current = step.draft.clone();
            if step.gain.healthy > best.as_ref().map_or(0, |best| best.gain.healthy) {
                best = Some(step);
            }
            if is_done {
                break;
            }
        }
        best
    }

    fn next_step(&self, problem: Problem, draft: &Draft) -> Option<Step> {
        let places = Places::after(&draft.body, self.head);
        let prelude = prelude::text(&draft.rules, &draft.body);
        let refusals = self.trial.curable(problem, &draft.standing).into_iter();
        let refusals = refusals.filter_map(|at| draft.standing.outcomes.get(at)?.as_ref().err().cloned());
        let refusals = refusals.filter_map(|mut error| {
            let span = error.span?;
            error.span = Some(span.start.checked_sub(prelude.len())?..span.end.checked_sub(prelude.len())?);
            Some(error)
        });
        let taken = self.taken(problem, draft, prelude.len());
        let workshop = Workshop { places: &places, base: self.base, problem, refusals: refusals.collect(), taken };
        let wrong = self.goes_wrong(problem, draft, &workshop, prelude.len()).map(|at| places.line(at));
        let mut best: Option<Step> = None;
        for candidate in workshop.candidates() {
            if ended().is_some() {
                break;
            }
            let Some(mut step) = self.try_edit(problem, draft, &candidate) else { continue };
            let line = candidate.edits.first().map(|edit| places.line(edit.span.start));
            step.distance = line.zip(wrong).map_or(0, |(line, wrong)| line.abs_diff(wrong));
            if best.as_ref().is_none_or(|best| step.rank() < best.rank()) {
                best = Some(step);
            }
        }
        best
    }

    /// The place in the body where the template refuses a conversation, or writes the first byte that breaks a prefix.
    fn goes_wrong(
        &self,
        problem: Problem,
        draft: &Draft,
        workshop: &Workshop<'_, '_, '_>,
        prelude: usize,
    ) -> Option<usize> {
        if problem != Problem::Prefix {
            return workshop.refusals.first()?.span.as_ref().map(|span| span.start);
        }
        let template = ChatTemplate::compile(&draft.source()).ok()?;
        self.trial.departure(&template, &draft.standing)?.checked_sub(prelude)
    }

    /// Which way the conditions of the body go in the conversations that a repair by name has to change.
    fn taken(&self, problem: Problem, draft: &Draft, prelude: usize) -> Option<Taken> {
        let contexts = self.trial.unfinished(problem, &draft.standing).filter(|_| problem.is_by_name_only())?;
        let template = ChatTemplate::compile(&draft.source()).ok()?;
        Some(Taken::find(&template, &contexts, &self.trial.options, prelude))
    }

    /// A text with the names of special tokens in place of the texts that stand for them.
    fn spelled(&self, mut text: String) -> String {
        for (name, value) in self.stand_ins.iter() {
            let Some(value) = value.as_str().filter(|value| text.contains(value)) else { continue };
            text = text.replace(value, &format!("' + {name} + '"));
            text = text.replace(&format!("'' + {name}"), name).replace(&format!("{name} + ''"), name);
        }
        text
    }

    fn try_edit(&self, problem: Problem, draft: &Draft, candidate: &Candidate) -> Option<Step> {
        let body = self.spelled(candidate.apply(&draft.body)?);
        let mut steps = draft.steps.clone();
        steps.push(candidate.what.clone());
        let mut step = self.judge(problem, draft, Draft { body, steps, ..draft.clone() })?;
        step.lines += candidate.idle;
        Some(step)
    }

    fn judge(&self, problem: Problem, before: &Draft, mut draft: Draft) -> Option<Step> {
        let source = draft.source();
        let template = ChatTemplate::compile(&source).ok()?;
        let verdict = self.trial.judge(&template, problem, &self.repaired, &before.standing)?;
        draft.standing = verdict.standing;
        let lines = changed_lines(self.original, &source);
        Some(Step { draft, gain: verdict.gain, lines, distance: 0 })
    }

    fn preludes(&self, problem: Problem, draft: &Draft) -> Vec<Step> {
        let ill = self.trial.curable(problem, &draft.standing);
        let shapes: Vec<&str> =
            ill.iter().filter_map(|at| self.trial.tests.get(*at)?.goal.as_ref().map(|goal| goal.case.shape)).collect();
        let mut found = Vec::new();
        for rules in prelude::rules(problem, &shapes, self.base) {
            let new = rules.into_iter().map(|rule| rule.map(|text| self.spelled(text)));
            let mut rules = draft.rules.clone();
            for rule in new {
                push_new(&mut rules, rule);
            }
            let steps =
                draft.steps.iter().cloned().chain([format!("a prelude rewrites {}", problem.words())]).collect();
            if prelude::text(&rules, &draft.body).lines().count() > MOST_PRELUDE || ended().is_some() {
                continue;
            }
            // A refusal is lines further down behind a prelude, without any other change.
            let step = self.judge(problem, draft, Draft { rules, steps, ..draft.clone() });
            found.extend(step.filter(|step| step.gain.healthy > 0));
        }
        found
    }
}

/// Whether half a repair is worse than none: an engine that sees some forms taken would not look at the others, and a
/// conversation that keeps some of its turns does not keep its prefix.
fn needs_all(problem: Problem) -> bool {
    matches!(problem, Problem::ArgsText | Problem::CallKeys | Problem::Prefix)
}
