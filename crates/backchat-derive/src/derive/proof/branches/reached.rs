//! The conversations that reached a branch, and the answers that are proved about each: what reached it, alone and among
//! other parts.

use super::super::Proof;
use super::super::case::{Case, Cutter, TurnStarts, offering};
use super::super::conversations::{self, History, Reach, TestAnswer};
use super::super::request::setting_words;
use super::super::turn_start::Cut;
use super::Branch;
use backchat_chat::Ran;
use backchat_core::diagnostic::line_column;
use backchat_core::json::Value;
use backchat_probe::coverage::{Coverage, Goal, OtherTools, Place, Sought, Suggested};
use backchat_probe::probe::{Answer, Message, Prober, Setting};
use std::rc::Rc;

/// An argument whose line breaks and quotes show how it is written.
pub(super) const LINES: &str = "print(7)\nprint(\"Ghent\")\n";

/// A conversation whose branches are known.
#[derive(Clone, PartialEq)]
pub(super) struct Known {
    pub answer: Answer,
    pub history: Rc<[Message]>,
    pub setting: Setting,
    pub offers_tools: bool,
    pub tools: Option<OtherTools>,
}

impl Known {
    pub fn prober<'t>(&self, proof: &Proof<'t>) -> Prober<'t> {
        match self.offers_tools || self.tools.is_some() {
            true => offering(&proof.offering, self.tools.as_ref()),
            false => proof.plain.clone(),
        }
    }

    /// What runs when the answer follows a history.
    pub fn ran_after(&self, history: &[Message], proof: &Proof<'_>) -> Ran {
        let messages = [history, &[Message::Assistant(self.answer.clone())]].concat();
        self.prober(proof).ran(&messages, &self.setting, false).unwrap_or_default()
    }

    /// The text from the end of its history on.
    pub fn turn(&self, proof: &Proof<'_>) -> Option<String> {
        self.written_by(&self.prober(proof))
    }

    /// The same by a prober: the text of the turn or, without an answer, of the prompt.
    pub fn written_by(&self, prober: &Prober<'_>) -> Option<String> {
        let (messages, is_prompt) = self.messages();
        let text = prober.render(&messages, &self.setting, is_prompt)?;
        let last = History::main(String::new(), self.history.to_vec()).last;
        text.get(text.rfind(&*last)?..).map(str::to_owned)
    }

    /// What runs then.
    pub fn ran_by(&self, prober: &Prober<'_>) -> Ran {
        let (messages, is_prompt) = self.messages();
        prober.ran(&messages, &self.setting, is_prompt).unwrap_or_default()
    }

    /// The messages, and whether they end with those before a prompt.
    fn messages(&self) -> (Vec<Message>, bool) {
        match self.has_answer() {
            true => ([&self.history[..], &[Message::Assistant(self.answer.clone())]].concat(), false),
            false => (self.history.to_vec(), true),
        }
    }

    /// Whether it is more than a prompt.
    pub fn has_answer(&self) -> bool {
        self.answer != Answer::default()
    }
}

/// A suggested conversation, made from a known one.
pub(super) fn suggested_after(suggested: &Suggested, base: &Known) -> Known {
    let mut setting = base.setting.clone();
    setting.extend(suggested.setting.iter().map(|(name, value)| (name.to_owned(), value.clone())));
    let history = suggested.history.as_deref().unwrap_or(&base.history);
    let history = after_rounds(history, suggested.rounds).into();
    let Suggested { answer, tools, .. } = suggested.clone();
    Known { answer, history, setting, tools, ..base.clone() }
}

/// A suggestion in which variables that are lists in a known conversation are lists.
pub(super) fn with_lists(mut suggested: Suggested, known: &Setting) -> Suggested {
    let mut is_changed = false;
    for (name, value) in suggested.setting.iter_mut() {
        if known.get(name).is_some_and(|known| known.as_list().is_some()) && value.as_list().is_none() {
            *value = Value::List(vec![value.clone()]);
            is_changed = true;
        }
    }
    if is_changed {
        suggested.words = setting_words(&suggested.setting);
    }
    suggested
}

/// A conversation that reached a goal.
pub(super) struct Reached {
    pub goal: Goal,
    pub suggested: Suggested,
    pub known: Known,
}

/// A history after this many more turns of the user, each with an answer. A system message stays first.
fn after_rounds(history: &[Message], rounds: usize) -> Vec<Message> {
    let at = usize::from(matches!(history.first(), Some(Message::System(_))));
    let (first, rest) = history.split_at_checked(at).unwrap_or((history, &[]));
    let round = [Message::User("And then?".to_owned()), Message::Assistant(Answer::content("We will see."))];
    [first, &vec![round; rounds].concat(), rest].concat()
}

impl Reached {
    fn is_change(&self) -> bool {
        matches!(self.goal.sought, Sought::Change(..))
    }

    /// The answers to parse back under a setting that reached a goal, those that reached other goals among them; or the
    /// answer that did.
    fn said(&self, proof: &Proof<'_>, all: &[Reached]) -> Vec<TestAnswer> {
        let named_ids = proof.request.calls.named_ids;
        let usual = conversations::answers(named_ids, &[]).into_iter();
        let is_usual = |said: &TestAnswer| matches!(said.reach, Reach::Settings | Reach::Rewritten);
        let usual = usual.filter(|said| is_usual(said) || said.is_reasoning_alone());
        // So does a tool that is only on offer.
        let tools = &self.suggested.tools;
        if self.suggested.history.is_some() || tools.is_some() && self.suggested.place.is_none() {
            let has = |name: &str| tools.as_ref().is_none_or(|tools| tools.has(name));
            return usual.filter(|said| said.answer.calls.iter().all(|call| has(&call.name))).collect();
        }
        if self.suggested.setting.is_empty() {
            // A tool may have a mark instead of its name, and so may one with a certain argument.
            let has_mark = |place: &Place| matches!(place, Place::Name(_) | Place::Key(..));
            let keeps = self.suggested.place.filter(|place| self.is_change() || has_mark(place));
            let name = format!("an answer with {}", self.suggested.words);
            let tested =
                |name: &str, answer| TestAnswer { keeps, ..TestAnswer::new(name, answer, Reach::Value, named_ids) };
            let is_usual = self.suggested.rounds == 0 && self.suggested.tools.is_none();
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
            reach: if said.reach == Reach::Settings { Reach::Histories } else { said.reach },
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
        let calls = if calls.is_empty() { vec![conversations::plain_call()] } else { calls.clone() };
        let (none, value) = (Answer::default, Reach::Value);
        let thought = |answer: &Answer| answer.clone().with_reasoning(conversations::PLAIN_THOUGHT);
        match self.suggested.place {
            Some(Place::Content) => {
                let alone = Answer { content: content.clone(), ..none() };
                let called = Answer { calls, ..alone.clone() };
                vec![
                    ("alone", alone.clone(), Reach::Settings),
                    ("and reasoning", thought(&alone), value),
                    ("and a call", called.clone(), value),
                    ("and reasoning and a call", thought(&called), value),
                ]
            }
            Some(Place::Reasoning) => {
                let thought = |rest: Answer| Answer { reasoning: reasoning.clone(), ..rest };
                let [short, called] = [Answer::content("Yes, 43 km."), Answer::calls(calls)].map(thought);
                vec![("alone", short, value), ("and a call", called, value)]
            }
            Some(Place::Name(at)) => {
                let Some(called) = calls.get(at).map(|call| Answer::calls(vec![call.clone()])) else {
                    return Vec::new();
                };
                let said = Answer::calls(calls).with_content("Let me look that up.");
                vec![
                    ("alone", called.clone(), value),
                    ("and lines", Place::Value(0, 0).replaced(&called, LINES), value),
                    ("and reasoning", thought(&called), value),
                    ("and an answer", said.clone(), value),
                    ("and an answer and reasoning", thought(&said), value),
                ]
            }
            Some(Place::Key(at, index)) => {
                vec![("and lines", Place::Value(at, index).replaced(&self.suggested.answer, LINES), value)]
            }
            Some(place @ Place::Value(at, index)) => {
                let answer = &self.suggested.answer;
                let known = answer.calls.get(at).and_then(|call| call.arguments.values().nth(index)?.as_str());
                let known = known.unwrap_or_default();
                vec![("and lines", place.replaced(answer, &format!("{known}\n{LINES}")), value)]
            }
            _ => Vec::new(),
        }
    }

    /// Whether the answer has the outcome after another history as well.
    fn is_reached_after(&self, history: &[Message], proof: &Proof<'_>) -> bool {
        let mut coverage = Coverage::default();
        coverage.add(self.known.ran_after(history, proof), &self.known.answer);
        coverage.has(&self.goal)
    }

    pub fn branches(&self, proof: &Proof<'_>, all: &[Reached]) -> Vec<Branch> {
        let Proof { plain, request, tokens, .. } = proof;
        let said = self.said(proof, all);
        let Suggested { rounds, tools, history, .. } = &self.suggested;
        let is_after_known = *rounds == 0 && history.is_none();
        if self.known.setting.is_empty() && tools.is_none() && is_after_known {
            return self.listed(proof, proof.cut(|cutter| cutter.cases(&said)));
        }
        let calls = request.calls;
        let histories = match history {
            Some(history) => vec![History::main(format!("after {}", self.suggested.words), history.clone())],
            None => {
                let usual = conversations::histories(calls.named_ids, calls.several).into_iter();
                let usual = usual.filter(|history| history.is_main);
                let usual =
                    usual.map(|history| History { messages: after_rounds(&history.messages, *rounds), ..history });
                let mut histories: Vec<History> = usual.collect();
                // A setting may decide only about turns after another history.
                if !histories.iter().any(|history| self.is_reached_after(&history.messages, proof)) {
                    histories.push(History::main("after other messages".to_owned(), self.known.history.to_vec()));
                }
                histories
            }
        };
        let offers = offering(&proof.offering, tools.as_ref());
        let mut request = request.clone();
        request.usage.settings = vec![self.known.setting.clone()];
        let turn_starts = TurnStarts::default();
        let cutter = Cutter { plain, offering: &offers, request: &request, histories, tokens: *tokens, turn_starts };
        self.listed(proof, cutter.with_openings().cases(&said))
    }

    fn listed(&self, proof: &Proof<'_>, cases: Vec<Case>) -> Vec<Branch> {
        let plain = &proof.plain;
        let line = line_column(plain.template().source(), self.goal.span.start).0;
        let Suggested { words, setting, tools, .. } = &self.suggested;
        let earlier = self.known.setting.iter().filter(|(name, _)| !setting.contains_key(name));
        let earlier: Setting = earlier.map(|(name, value)| (name.to_owned(), value.clone())).collect();
        let words = match earlier.is_empty() {
            true => words.clone(),
            false => format!("{words} and {}", setting_words(&earlier)),
        };
        let is_exact = !self.is_change();
        let branch = |case: Case| Branch {
            case: Case { tools: tools.clone(), ..case },
            words: words.clone(),
            line,
            goal: self.goal.clone(),
            is_exact,
        };
        // No prompt leads to the others.
        cases.into_iter().filter(|case| case.cut <= Cut::Shared).map(branch).collect()
    }
}
