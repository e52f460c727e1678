//! Judges a candidate by renders: what it cures, and whether every other conversation keeps its bytes.

use backchat_chat::{ChatTemplate, RenderError, RenderOptions, ended};
use backchat_core::json::{Object, Value};
use backchat_core::text::common_start;
use backchat_probe::doctor::agents::{Case, Problem};

use backchat_probe::probe::role_of;

/// A conversation, and what a candidate may make of it.
pub(super) struct Test {
    pub context: Object,
    pub shows: Vec<Problem>,
    /// The render before any repair; `None` if the template raised.
    pub before: Option<String>,
    /// The texts that a repair must not lose.
    pub needles: Vec<String>,
    /// What it should become, if it is a problem's.
    pub goal: Option<Goal>,
}

impl Test {
    /// Whether an outcome lacks a text of the conversation, which was shown before any repair or refused.
    fn is_lost(&self, outcome: &Result<String, RenderError>) -> bool {
        let Ok(text) = outcome else { return self.before.is_some() };
        let is_due = |needle: &str| self.before.as_ref().is_none_or(|before| before.contains(needle));
        self.needles.iter().any(|needle| is_due(needle) && !text.contains(needle))
    }
}

/// What a conversation should become.
pub(super) struct Goal {
    pub case: Case,
    /// Whether it only tells whether a repair is general: it may stay as it is, but not become anything else.
    pub is_extra: bool,
}

/// A conversation, and its beginning, whose render must begin the other.
pub(super) struct Chain {
    pub shorter: Object,
    pub longer: Object,
    /// The thoughts that the longer render must hold.
    pub thoughts: Vec<&'static str>,
}

/// What became of the tests with one template.
#[derive(Clone)]
pub(super) struct Standing {
    pub outcomes: Vec<Result<String, RenderError>>,
    /// The chains that hold.
    pub chains: Vec<bool>,
}

/// What a candidate gains.
#[derive(Clone, Copy, Default)]
pub(super) struct Gain {
    /// How many tests of the problem are healthy, and chains hold.
    pub healthy: usize,
    /// Extra tests that stay ill.
    pub missed: usize,
    /// Conversations of other problems that render now, and not well.
    pub aside: usize,
    /// Whether a refusal moved to another place.
    pub moved: bool,
}

/// What a candidate gains, and what became of the tests.
pub(super) struct Tried {
    pub gain: Gain,
    pub standing: Standing,
}

/// Everything that a repair is judged by.
pub(super) struct Trial {
    pub options: RenderOptions,
    pub tests: Vec<Test>,
    pub chains: Vec<Chain>,
    /// What a prompt and a stop that were missing write.
    pub endings: Endings,
}

/// What a template should write at the end of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Endings {
    /// After the last answer, without white space around it; empty if it is unknown.
    pub stop: String,
    /// Before the next answer, one of these; none if it is unknown.
    pub prompts: Vec<String>,
}

impl Endings {
    /// Whether a render is another one, and then a stop, a prompt, or both; or with a prompt before what a switch writes.
    pub fn extend(&self, before: &str, now: &str) -> bool {
        if self.prompts.iter().any(|prompt| is_inserted(prompt, before, now)) {
            return true;
        }
        let Some(added) = now.strip_prefix(before.trim_end()).map(str::trim) else { return false };
        let after_stop = added.strip_prefix(self.stop.as_str()).map_or(added, str::trim_start);
        after_stop.is_empty() || self.prompts.iter().any(|prompt| after_stop == prompt.trim())
    }
}

/// Whether a text is another one with a part inserted once.
fn is_inserted(part: &str, before: &str, now: &str) -> bool {
    now.match_indices(part).any(|(at, _)| {
        let (start, end) = (now.get(..at), now.get(at + part.len()..));
        start.is_some_and(|start| before.strip_prefix(start) == end)
    })
}

/// Whether a text is another one with texts inserted.
fn is_extension(before: &str, now: &str) -> bool {
    let mut rest = now.chars();
    before.chars().all(|wanted| rest.any(|character| character == wanted))
}

impl Trial {
    pub fn render(&self, template: &ChatTemplate, context: &Object) -> Result<String, RenderError> {
        template.render(context, &self.options).map(|rendered| rendered.text)
    }

    pub fn standing(&self, template: &ChatTemplate) -> Standing {
        let outcomes = self.tests.iter().map(|test| self.render(template, &test.context)).collect();
        Standing { outcomes, chains: self.chains.iter().map(|chain| self.holds(template, chain)).collect() }
    }

    fn holds(&self, template: &ChatTemplate, chain: &Chain) -> bool {
        let (Ok(shorter), Ok(longer)) = (self.render(template, &chain.shorter), self.render(template, &chain.longer))
        else {
            return false;
        };
        longer.starts_with(&shorter) && chain.thoughts.iter().all(|thought| longer.contains(thought))
    }

    /// Whether every chain holds with a variable set.
    pub fn all_hold_with(&self, template: &ChatTemplate, name: &str, value: &Value) -> bool {
        let set = |context: &Object| {
            let mut context = context.clone();
            context.insert(name, value.clone());
            context
        };
        self.chains.iter().all(|chain| {
            let (shorter, longer) = (set(&chain.shorter), set(&chain.longer));
            self.holds(template, &Chain { shorter, longer, thoughts: chain.thoughts.clone() })
        })
    }

    /// The conversations in which a problem shows; `None` if there are none.
    pub fn unfinished(&self, problem: Problem, now: &Standing) -> Option<Vec<&Object>> {
        let ill = self.curable(problem, now).into_iter().filter_map(|at| Some(&self.tests.get(at)?.context));
        let broken = self.chains.iter().zip(&now.chains).filter(|(_, holds)| !**holds && problem == Problem::Prefix);
        let broken = broken.flat_map(|(chain, _)| [&chain.shorter, &chain.longer]);
        let found: Vec<&Object> = ill.chain(broken).collect();
        (!found.is_empty()).then_some(found)
    }

    /// The place in the source that writes the first byte at which a chain breaks.
    pub fn departure(&self, template: &ChatTemplate, now: &Standing) -> Option<usize> {
        let chain = self.chains.get(now.chains.iter().position(|holds| !holds)?)?;
        let shorter = self.render(template, &chain.shorter).ok()?;
        let longer = template.render(&chain.longer, &self.options.clone().origins(true)).ok()?;
        let byte = common_start(&shorter, &longer.text).len();
        longer.origins.iter().find(|origin| origin.text.contains(&byte)).map(|origin| origin.source.start)
    }

    /// Whether a conversation renders before any repair and holds an answer.
    pub fn is_answered(&self, at: usize) -> bool {
        self.tests.get(at).is_some_and(|test| {
            let messages = test.context.get("messages").and_then(Value::as_list).unwrap_or_default();
            test.before.is_some() && messages.iter().any(|message| role_of(message) == Some("assistant"))
        })
    }

    /// Whether a conversation is one of a problem.
    pub fn has_goal(&self, at: usize) -> bool {
        self.tests.get(at).is_some_and(|test| test.goal.is_some())
    }

    /// A conversation without a problem that rendered to this text before any repair.
    pub fn rendering(&self, text: &str) -> Option<usize> {
        self.tests.iter().position(|test| test.goal.is_none() && test.before.as_deref() == Some(text))
    }

    /// How many conversations of one turn have the bytes that they had, and how many only gained a stop or a prompt.
    pub fn of_one_turn(&self, now: &Standing) -> (usize, usize) {
        let pairs = self.tests.iter().zip(&now.outcomes).filter(|(test, _)| !test.shows.contains(&Problem::Prefix));
        let pairs = pairs.filter_map(|(test, outcome)| Some((test.before.as_ref()?, outcome.as_ref().ok()?)));
        let (same, changed): (Vec<_>, Vec<_>) = pairs.partition(|(before, now)| before == now);
        (same.len(), changed.into_iter().filter(|(before, now)| self.endings.extend(before, now)).count())
    }

    /// The tests of a problem that are ill.
    pub fn ill(&self, problem: Problem, now: &Standing) -> Vec<usize> {
        let is_ill = |(test, outcome): (&Test, &Result<String, RenderError>)| {
            let goal = test.goal.as_ref().filter(|goal| goal.case.problem == problem && !goal.is_extra)?;
            Some(goal.case.fate(outcome).is_problem())
        };
        let tests = self.tests.iter().zip(&now.outcomes).enumerate();
        tests.filter(|(_, pair)| is_ill(*pair).unwrap_or(false)).map(|(at, _)| at).collect()
    }

    /// Those that have a healthy render.
    pub fn curable(&self, problem: Problem, now: &Standing) -> Vec<usize> {
        let mut ill = self.ill(problem, now);
        ill.retain(|at| {
            self.tests.get(*at).and_then(|test| test.goal.as_ref()).is_some_and(|goal| goal.case.has_healthy_render())
        });
        ill
    }

    /// What a candidate gains over the template before it; `None` if it does harm, or gains nothing.
    pub fn judge(
        &self,
        template: &ChatTemplate,
        problem: Problem,
        repaired: &[Problem],
        now: &Standing,
    ) -> Option<Tried> {
        let mut gain = Gain::default();
        let chains = self.chains_with(template, problem, now)?;
        let gained = chains.iter().zip(&now.chains).filter(|(holds, held)| **holds && !**held).count();
        gain.healthy += gained;
        let mut order = self.curable(problem, now);
        let ill = order.len();
        let mut is_ill = vec![false; self.tests.len()];
        order.iter().filter_map(|at| is_ill.get_mut(*at).map(|is_ill| *is_ill = true)).for_each(drop);
        order.extend(is_ill.iter().enumerate().filter(|(_, is_ill)| !**is_ill).map(|(at, _)| at));
        let mut changed = Vec::new();
        for (position, at) in order.into_iter().enumerate() {
            if position == ill && gain.healthy == 0 && !gain.moved {
                return None;
            }
            let (test, was) = (self.tests.get(at)?, now.outcomes.get(at)?);
            let outcome = self.render(template, &test.context);
            self.admits(test, problem, repaired, (was, &outcome), &mut gain)?;
            if *was != outcome {
                changed.push((at, outcome));
            }
        }
        // Renders after the end of the budget prove nothing.
        if ended().is_some() {
            return None;
        }
        let mut standing = Standing { chains, ..now.clone() };
        for (at, outcome) in changed {
            *standing.outcomes.get_mut(at)? = outcome;
        }
        Some(Tried { gain, standing })
    }

    /// The chains that hold with a candidate; `None` if one broke, or if none of those that were broken holds now.
    fn chains_with(&self, template: &ChatTemplate, problem: Problem, now: &Standing) -> Option<Vec<bool>> {
        if problem != Problem::Prefix {
            return Some(now.chains.clone());
        }
        let mut chains = now.chains.clone();
        let pairs = || self.chains.iter().zip(&now.chains).enumerate();
        for (at, (chain, _)) in pairs().filter(|(_, (_, held))| !**held) {
            *chains.get_mut(at)? = self.holds(template, chain);
        }
        let gains = chains != now.chains;
        (gains && pairs().filter(|(_, (_, held))| **held).all(|(_, (chain, _))| self.holds(template, chain)))
            .then_some(chains)
    }

    /// Counts what a test gains; `None` if it does not admit the new outcome.
    fn admits(
        &self,
        test: &Test,
        problem: Problem,
        repaired: &[Problem],
        (was, outcome): (&Result<String, RenderError>, &Result<String, RenderError>),
        gain: &mut Gain,
    ) -> Option<()> {
        let is_healthy = |goal: &Goal, outcome: &Result<String, RenderError>| {
            outcome.as_ref().is_ok_and(|text| goal.case.is_healthy(text))
        };
        let is_same = match (was, outcome) {
            (Ok(was), Ok(text)) => was == text,
            (was, outcome) => was.is_err() && outcome.is_err(),
        };
        if let Some(goal) = test.goal.as_ref().filter(|goal| goal.case.problem == problem) {
            if is_healthy(goal, outcome) {
                gain.healthy += usize::from(!goal.is_extra && !is_healthy(goal, was));
            } else if is_same {
                gain.missed += usize::from(goal.is_extra);
                let line = |outcome: &Result<String, RenderError>| outcome.as_ref().err().and_then(|error| error.line);
                gain.moved |= line(was) != line(outcome);
            } else {
                return None;
            }
            return Some(());
        }
        let changed = || repaired.iter().chain([&problem]).filter(|changed| test.shows.contains(changed));
        let kept = |goal: &Goal| !is_healthy(goal, was) || is_healthy(goal, outcome);
        if changed().any(|changed| changed.is_by_name_only()) {
            let goes_on = changed().any(|changed| *changed == Problem::Prefix);
            // What was misprinted is no measure of the render with another turn after it.
            let is_free = goes_on
                && test
                    .goal
                    .as_ref()
                    .zip(test.before.as_deref())
                    .is_some_and(|(goal, before)| !goal.case.is_healthy(before) && kept(goal));
            return (is_free || self.allows(test, outcome, goes_on)).then_some(());
        }
        if test.is_lost(outcome) {
            return None;
        }
        if changed().next().is_some() {
            return test.goal.as_ref().is_none_or(kept).then_some(());
        }
        match &test.before {
            Some(before) => outcome.as_ref().is_ok_and(|text| text == before).then_some(()),
            None => {
                let renders_badly = |goal: &Goal| outcome.is_ok() && !is_healthy(goal, outcome);
                gain.aside += usize::from(!is_same && test.goal.as_ref().is_some_and(renders_badly));
                Some(())
            }
        }
    }

    /// Whether a repair by name may turn a render into this one. With turns after an answer it may insert text; else it may
    /// only add the stop or the prompt that was missing.
    fn allows(&self, test: &Test, outcome: &Result<String, RenderError>, goes_on: bool) -> bool {
        let Some(before) = &test.before else { return true };
        outcome.as_ref().is_ok_and(|now| match goes_on {
            true => is_extension(before, now),
            false => self.endings.extend(before, now),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_of_one_turn_gains_a_stop_or_a_prompt_and_nothing_else() {
        let endings = Endings { stop: "</>".to_owned(), prompts: vec!["<a>".to_owned()] };
        for (before, now, wanted) in [
            ("<u>Q</><a>A", "<u>Q</><a>A", true),
            ("<u>Q</><a>A", "<u>Q</><a>A</>\n", true),
            ("<u>Q</><a>A\n", "<u>Q</><a>A</>\n<a>", true),
            ("<u>Q</>\n", "<u>Q</>\n<a>", true),
            ("<u>Q</><think></think>", "<u>Q</><a><think></think>", true),
            ("<u>Q</><a>A", "<u>Q</><a>A</></>", false),
            ("<u>Q</><a>A", "<u>Q</><a>B</>", false),
            ("<u>Q</><a>A", "<u>Q</><a>", false),
        ] {
            assert_eq!(endings.extend(before, now), wanted, "{before} {now}");
        }
    }

    #[test]
    fn text_may_be_inserted_but_not_lost() {
        for (before, now, wanted) in [("ab", "a<think></think>b", true), ("ab", "ba", false), ("ab", "a", false)] {
            assert_eq!(is_extension(before, now), wanted, "{before} {now}");
        }
    }
}
