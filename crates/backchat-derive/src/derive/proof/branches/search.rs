//! The search for conversations that take branches, and the answers that are proved about each: what reached a goal, alone and
//! among other parts.

use super::super::Proof;
use super::super::case::{Case, Cutter, TurnStarts, offering};
use super::super::conversations::{self, History, Reach, TestAnswer};
use super::super::turn_start::Cut;
use super::super::verdict::Branching;
use super::{Branch, Branches};
use backchat_chat::ended;
use backchat_core::diagnostic::line_column;
use backchat_core::push_new;
use backchat_probe::coverage::{Coverage, Goal, Likeness, Place, Sought, Suggested, argument_keys, suggestions};
use backchat_probe::probe::{Answer, Message, Setting};
use std::rc::Rc;

/// How many conversations are rendered at most to find those that take a branch.
const MOST_RENDERS: usize = 56;

/// How many of them are mere guesses.
const MOST_GUESSES: usize = 12;

/// From how many conversations suggestions for one goal are made.
const MOST_WITNESSES: usize = 3;

/// How many conversations that take a branch are proved.
const MOST_FOUND: usize = 24;

/// A conversation whose branches are known.
#[derive(Clone)]
struct Known {
    answer: Answer,
    history: Rc<[Message]>,
    setting: Setting,
    offers_tools: bool,
}

/// A conversation that reached a goal.
struct Reached {
    goal: Goal,
    suggested: Suggested,
    known: Known,
}

/// The search for conversations that take branches.
struct Search<'p, 't> {
    proof: &'p Proof<'t>,
    coverage: Coverage,
    known: Vec<Known>,
    /// How many more conversations may be rendered.
    left: usize,
    reached: Vec<Reached>,
    /// The arguments that the chat template looks up by name.
    argument_keys: Vec<String>,
}

/// A history after this many more turns of the user, each with an answer. A system message stays first.
fn after_rounds(history: &[Message], rounds: usize) -> Vec<Message> {
    let at = usize::from(matches!(history.first(), Some(Message::System(_))));
    let (first, rest) = history.split_at_checked(at).unwrap_or((history, &[]));
    let round = [Message::User("And then?".to_owned()), Message::Assistant(Answer::content("We will see."))];
    [first, &vec![round; rounds].concat(), rest].concat()
}

impl<'p, 't> Search<'p, 't> {
    fn new(proof: &'p Proof<'t>) -> Self {
        let (coverage, known, reached) = Default::default();
        let argument_keys = argument_keys(proof.plain.template().source());
        Self { proof, coverage, known, left: MOST_RENDERS, reached, argument_keys }
    }

    /// Records which branches the proof's own conversations take.
    fn watch_cases(&mut self) {
        let mut seen: Vec<(&Answer, &Setting)> = Vec::new();
        let mut histories: Vec<(&[Message], bool)> = Vec::new();
        for case in &self.proof.cases {
            // The same answer after another history shows only what the history decides.
            let is_new = push_new(&mut seen, (&case.said, &case.setting));
            let is_other = push_new(&mut histories, (&case.history, case.said.calls.is_empty()));
            if !is_new && !is_other {
                continue;
            }
            let known = Known {
                answer: case.said.clone(),
                history: case.history.clone().into(),
                setting: case.setting.clone(),
                offers_tools: case.offers_tools,
            };
            self.watch(&known, None);
        }
        for (history, _) in histories {
            let prober = if self.proof.request.always_tools { &self.proof.offering } else { &self.proof.plain };
            let ran = prober.ran(history, &Setting::new(), true).unwrap_or_default();
            self.coverage.add(ran, &Answer::default());
            let (answer, setting) = Default::default();
            self.known.push(Known { answer, history: history.into(), setting, offers_tools: false });
        }
    }

    /// Renders a conversation and records the branches it takes.
    fn watch(&mut self, known: &Known, tool: Option<&str>) {
        let Proof { plain, offering: offers, .. } = self.proof;
        let prober = if known.offers_tools || tool.is_some() { offering(offers, tool) } else { plain.clone() };
        let messages = [&known.history[..], &[Message::Assistant(known.answer.clone())]].concat();
        self.coverage.add(prober.ran(&messages, &known.setting, false).unwrap_or_default(), &known.answer);
        self.known.push(known.clone());
    }

    fn seek(&mut self) {
        let source = self.proof.plain.template().source();
        let variables = self.proof.plain.switches();
        let variables: Vec<&str> = variables.iter().map(String::as_str).collect();
        for likeness in [Likeness::Part, Likeness::Mentioned, Likeness::Earlier, Likeness::Guess] {
            // What is only guessed must not use up the renders.
            self.left = if likeness == Likeness::Guess { self.left.min(MOST_GUESSES) } else { self.left };
            for goal in self.coverage.goals() {
                if self.left == 0 || self.reached.len() == MOST_FOUND || ended().is_some() {
                    return;
                }
                let condition = source.get(goal.span.clone()).unwrap_or("");
                self.reach(goal, condition, &variables, likeness);
            }
        }
    }

    /// Seeks the texts that alone decide a condition among other parts: what surrounds them may differ there.
    fn seek_beside(&mut self, own: usize) {
        for goal in self.coverage.rare() {
            let known = goal.witnesses.iter().filter(|witness| **witness < own).find_map(|at| self.known.get(*at));
            let Some(known) = known.filter(|known| known.answer.calls.is_empty() && known.answer.reasoning.is_none())
            else {
                continue;
            };
            let Some(content) = &known.answer.content else { continue };
            let suggested = Suggested::again(known.answer.clone(), Place::Content, content);
            if self.reached.len() < MOST_FOUND && !self.reached.iter().any(|reached| reached.suggested == suggested) {
                self.reached.push(Reached { goal, suggested, known: known.clone() });
            }
        }
    }

    /// A suggestion and, for a tool that a template knows, the same with the arguments that the template looks up.
    fn with_own_keys(&self, suggested: Suggested) -> Vec<Suggested> {
        let keys = &self.argument_keys;
        if suggested.tool.is_none() || keys.is_empty() {
            return vec![suggested];
        }
        let mut own = suggested.clone();
        for call in own.answer.calls.iter_mut().filter(|call| Some(&call.name) == suggested.tool.as_ref()) {
            call.arguments = keys.iter().map(|key| (key.clone(), "print(7)\nprint(\"Ghent\")".into())).collect();
        }
        vec![suggested, own]
    }

    fn reach(&mut self, goal: Goal, condition: &str, variables: &[&str], likeness: Likeness) {
        let mut tried: Vec<Suggested> = Vec::new();
        let parts = |known: &&Known| {
            let Answer { content, reasoning, calls } = &known.answer;
            calls.len() + usize::from(content.is_some()) + usize::from(reasoning.is_some())
        };
        // What an answer does not have may be from its history: the one with most parts shows most.
        let mut bases: Vec<&Known> = goal.witnesses.iter().filter_map(|witness| self.known.get(*witness)).collect();
        bases.sort_by_key(|known| std::cmp::Reverse(parts(known)));
        let bases: Vec<Known> = bases.into_iter().take(MOST_WITNESSES).cloned().collect();
        for base in bases {
            let made = suggestions(&goal, condition, (&base.answer, &base.history), variables);
            let made: Vec<Suggested> = made.into_iter().flat_map(|suggested| self.with_own_keys(suggested)).collect();
            for suggested in made {
                if self.left == 0 || self.coverage.has(&goal) {
                    return;
                }
                if suggested.likeness != likeness || tried.contains(&suggested) {
                    continue;
                }
                self.left -= 1;
                let mut setting = base.setting.clone();
                setting.extend(suggested.setting.iter().map(|(name, value)| (name.to_owned(), value.clone())));
                let history = suggested.history.as_deref().unwrap_or(&base.history);
                let history = after_rounds(history, suggested.rounds).into();
                let known = Known { answer: suggested.answer.clone(), history, setting, ..base.clone() };
                self.watch(&known, suggested.tool.as_deref());
                if self.coverage.has(&goal) {
                    self.reached.push(Reached { goal: goal.clone(), suggested, known });
                    return;
                }
                tried.push(suggested);
            }
        }
    }
}

impl Reached {
    fn is_change(&self) -> bool {
        matches!(self.goal.sought, Sought::Change(..))
    }

    /// The answers to parse back under a setting that reached a goal, those that reached other goals among them; or the
    /// answer that did.
    fn said(&self, proof: &Proof<'_>, all: &[Reached]) -> Vec<TestAnswer> {
        let named_ids = proof.request.calls.named_ids;
        let usual = conversations::answers(named_ids, &[]).into_iter().filter(|said| said.reach == Reach::Settings);
        if self.suggested.history.is_some() {
            return usual.collect();
        }
        if self.suggested.setting.is_empty() {
            // A tool may have a mark instead of its name, and so may one with a certain argument.
            let has_mark = |place: &Place| matches!(place, Place::Name(_) | Place::Key(..));
            let keeps = self.suggested.place.filter(|place| self.is_change() || has_mark(place));
            let name = format!("an answer with {}", self.suggested.words);
            let tested =
                |name: &str, answer| TestAnswer { keeps, ..TestAnswer::new(name, answer, Reach::Value, named_ids) };
            let is_usual = self.suggested.rounds == 0 && self.suggested.tool.is_none();
            let is_own = is_usual && proof.cases.iter().any(|case| case.said == self.suggested.answer);
            let (itself, others): (Vec<_>, Vec<_>) =
                self.companions().into_iter().partition(|(_, answer, _)| *answer == self.suggested.answer);
            let reach = itself.first().map_or(Reach::Value, |(_, _, reach)| *reach);
            let mut said: Vec<TestAnswer> = Vec::new();
            if !is_own {
                said.push(TestAnswer { reach, ..tested(&name, self.suggested.answer.clone()) });
            }
            if matches!(self.suggested.place, Some(Place::Name(_))) && self.suggested.answer.calls.len() > 1 {
                let mut last = self.suggested.answer.clone();
                last.calls.reverse();
                said.push(tested(&format!("{name} after others"), last));
            }
            said.extend(
                others
                    .into_iter()
                    .map(|(beside, answer, reach)| TestAnswer { reach, ..tested(&format!("{name} {beside}"), answer) }),
            );
            return said;
        }
        let said = usual.map(|said| TestAnswer {
            name: format!("{} with {}", said.name, self.suggested.words),
            reach: Reach::Histories,
            ..said
        });
        let others = all.iter().filter(|other| other.suggested.setting.is_empty() && !other.is_change());
        let others = others.filter_map(|other| {
            let (_, answer, _) = other.companions().into_iter().next()?;
            let name = format!("an answer with {} and with {}", other.suggested.words, self.suggested.words);
            Some(TestAnswer::new(name, answer, Reach::Value, named_ids))
        });
        said.chain(others).collect()
    }

    /// The text that reached the goal among other parts: what surrounds it may be written in another way there, or after
    /// another history.
    fn companions(&self) -> Vec<(&'static str, Answer, Reach)> {
        let Answer { content, reasoning, calls } = &self.suggested.answer;
        let call = || calls.first().cloned().unwrap_or_else(conversations::plain_call);
        let (none, value) = (Answer::default, Reach::Value);
        match self.suggested.place {
            Some(Place::Content) => {
                let alone = Answer { content: content.clone(), ..none() };
                let thought = alone.clone().with_reasoning(conversations::PLAIN_THOUGHT);
                let called = Answer { calls: vec![call()], ..alone.clone() };
                vec![
                    ("alone", alone, Reach::Settings),
                    ("and reasoning", thought, value),
                    ("and a call", called, value),
                ]
            }
            Some(Place::Reasoning) => {
                let thought = |rest: Answer| Answer { reasoning: reasoning.clone(), ..rest };
                let [short, called] = [Answer::content("Yes, 43 km."), Answer::calls(vec![call()])].map(thought);
                vec![("alone", short, value), ("and a call", called, value)]
            }
            Some(Place::Name(at)) => {
                let Some(called) = calls.get(at).map(|call| Answer::calls(vec![call.clone()])) else {
                    return Vec::new();
                };
                let said = called.clone().with_content("Let me look that up.");
                vec![("alone", called, value), ("and an answer", said, value)]
            }
            _ => Vec::new(),
        }
    }

    fn branches(&self, proof: &Proof<'_>, all: &[Reached]) -> Vec<Branch> {
        let Proof { plain, request, tokens, .. } = proof;
        let said = self.said(proof, all);
        let Suggested { rounds, tool, history, .. } = &self.suggested;
        let is_after_known = *rounds == 0 && history.is_none();
        if self.known.setting.is_empty() && tool.is_none() && is_after_known {
            return self.listed(proof, proof.cut(|cutter| cutter.cases(&said)));
        }
        let calls = request.calls;
        let histories = match history {
            Some(history) => vec![History::main(format!("after {}", self.suggested.words), history.clone())],
            None => conversations::histories(calls.named_ids, calls.several)
                .into_iter()
                .filter(|history| history.is_main)
                .map(|history| History { messages: after_rounds(&history.messages, *rounds), ..history })
                .collect(),
        };
        let offers = offering(&proof.offering, tool.as_deref());
        let mut request = request.clone();
        request.usage.settings = vec![self.known.setting.clone()];
        let turn_starts = TurnStarts::default();
        let cutter = Cutter { plain, offering: &offers, request: &request, histories, tokens: *tokens, turn_starts };
        self.listed(proof, cutter.with_openings().cases(&said))
    }

    fn listed(&self, proof: &Proof<'_>, cases: Vec<Case>) -> Vec<Branch> {
        let plain = &proof.plain;
        let line = line_column(plain.template().source(), self.goal.span.start).0;
        let words = &self.suggested.words;
        let tool = &self.suggested.tool;
        let is_exact = !self.is_change();
        let branch = |case: Case| Branch {
            case: Case { tool: tool.clone(), ..case },
            words: words.clone(),
            line,
            goal: self.goal.clone(),
            is_exact,
        };
        // No prompt leads to the others.
        cases.into_iter().filter(|case| case.cut <= Cut::Shared).map(branch).collect()
    }
}

impl Branches {
    pub(in crate::derive::proof) fn find(proof: &Proof<'_>) -> Self {
        let mut search = Search::new(proof);
        search.watch_cases();
        let own = search.known.len();
        search.seek();
        search.seek_beside(own);
        let (conditions, both) = search.coverage.conditions();
        let found = search.reached.iter().flat_map(|reached| reached.branches(proof, &search.reached)).collect();
        let source = proof.plain.template().source();
        let outcomes = search.coverage.goals().into_iter().filter(|goal| matches!(goal.sought, Sought::Outcome(_)));
        let mut open: Vec<usize> = outcomes.map(|goal| line_column(source, goal.span.start).0).collect();
        open.dedup();
        Self { found, branching: Branching { conditions, both, open } }
    }
}
