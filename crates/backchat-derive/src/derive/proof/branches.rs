//! The branches of a chat template that the proof's own conversations do not take, and conversations that take them.
//!
//! Such a conversation is parsed back like the others. If it comes back differently, that is a loss of the template, named
//! with what distinguishes the conversation: the draft is proved for everything else.

use std::rc::Rc;
use std::sync::Arc;

use super::case::{Case, Cutter, TurnStarts, offering};
use super::conversations::{self, History, Reach, TestAnswer};
use super::judge::Judge;
use super::turn_start::Cut;
use super::verdict::{Branching, Fate, Loss, Verdict};
use super::{Part, Proof, judge};
use backchat_chat::ended;
use backchat_core::diagnostic::line_column;
use backchat_core::json::Value;
use backchat_core::push_new;
use backchat_parser::parser::Tools;
use backchat_parser::template::Template;
use backchat_probe::coverage::{Coverage, Goal, Likeness, Place, Sought, Suggested, suggestions};
use backchat_probe::probe::marks::Segmentation;
use backchat_probe::probe::{Answer, Message, Setting};

/// How many conversations are rendered at most to find those that take a branch.
const MOST_RENDERS: usize = 56;

/// How many of them are mere guesses.
const MOST_GUESSES: usize = 12;

/// From how many conversations suggestions for one goal are made.
const MOST_WITNESSES: usize = 3;

/// How many arguments a tool that the template knows is called with.
const MOST_KEYS: usize = 6;

/// How many conversations that take a branch are proved.
const MOST_FOUND: usize = 24;

/// A turn that takes a branch.
pub(in crate::derive) struct Branch {
    pub case: Case,
    /// What distinguishes its conversation, in words that follow "with".
    pub words: String,
    /// The 1-based line of the condition.
    pub line: usize,
    /// The outcome that it has.
    pub goal: Goal,
    /// Whether a template can be expected to read exactly what was said: no filter changes it.
    pub is_exact: bool,
}

/// The branches of a chat template.
#[derive(Default)]
pub(in crate::derive) struct Branches {
    /// Turns that take a branch that the proof's own conversations do not take.
    pub found: Vec<Branch>,
    /// The conditions that ran.
    pub branching: Branching,
}

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

/// The names that an expression looks up in the arguments of calls.
fn argument_keys(source: &str) -> Vec<String> {
    const METHODS: [&str; 5] = ["items", "keys", "values", "get", "pop"];
    let key = |rest: &str| -> Option<String> {
        let rest = rest.strip_prefix("']").or_else(|| rest.strip_prefix("\"]")).unwrap_or(rest);
        let rest = rest.strip_prefix('.').or_else(|| rest.strip_prefix("['")).or_else(|| rest.strip_prefix("[\""))?;
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        rest.get(..end).filter(|key| !key.is_empty() && !METHODS.contains(key)).map(str::to_owned)
    };
    let mut keys = Vec::new();
    for rest in source.split("arguments").skip(1) {
        if let Some(key) = key(rest) {
            push_new(&mut keys, key);
        }
    }
    keys.truncate(MOST_KEYS);
    keys
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
        for likeness in [Likeness::Part, Likeness::Mentioned, Likeness::Guess] {
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
            let made = suggestions(&goal, condition, (&base.answer, base.history.len() + 1), variables);
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
                let history = after_rounds(&base.history, suggested.rounds).into();
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
        if self.suggested.setting.is_empty() {
            // A tool may have a mark instead of its name.
            let keeps = self.suggested.place.filter(|place| self.is_change() || matches!(place, Place::Name(_)));
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
        let said = conversations::answers(named_ids, &[]).into_iter().filter(|said| said.reach == Reach::Settings);
        let said = said.map(|said| TestAnswer {
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
        let rounds = self.suggested.rounds;
        if self.known.setting.is_empty() && self.suggested.tool.is_none() && rounds == 0 {
            return self.listed(proof, proof.cut(|cutter| cutter.cases(&said)));
        }
        let calls = request.calls;
        let histories: Vec<_> = conversations::histories(calls.named_ids, calls.several)
            .into_iter()
            .filter(|history| history.is_main)
            .map(|history| History { messages: after_rounds(&history.messages, rounds), ..history })
            .collect();
        let offers = offering(&proof.offering, self.suggested.tool.as_deref());
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
    pub(super) fn find(proof: &Proof<'_>) -> Self {
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

    /// The tools of the conversations, as the parser takes them.
    pub fn tools(&self) -> Value {
        let mut names: Vec<&str> = self.found.iter().filter_map(|branch| branch.case.tool.as_deref()).collect();
        names.sort_unstable();
        names.dedup();
        let Value::List(mut tools) = conversations::tools() else { return Value::Null };
        tools.extend(names.into_iter().map(|name| conversations::one_tool(name, "A tool.", Vec::new())));
        Value::List(tools)
    }
}

impl Proof<'_> {
    /// The branches of the chat template, found once.
    pub fn branches(&self) -> &Branches {
        self.branches.get_or_init(|| Branches::find(self))
    }

    /// How a template reads each conversation that takes a branch.
    pub fn branch_fates(&self, template: &Template) -> Vec<(&Branch, Fate)> {
        let marks: Vec<String> = super::marks(template);
        let fates = self.known_fates(template);
        let fates = self.branches().found.iter().zip(fates.iter().cloned());
        // No template reads an answer that contains its own marks.
        fates.filter(|(branch, fate)| matches!(fate, Fate::Passed) || !branch.contains_one_of(&marks)).collect()
    }

    /// The same for each of them, which is asked several times of the last template.
    fn known_fates(&self, template: &Template) -> Rc<[Fate]> {
        let draft = template.to_value();
        if let Some((known, fates)) = &*self.fates.borrow()
            && *known == draft
        {
            return fates.clone();
        }
        let judge = Judge::new(template, self.branch_tools(), &self.plain, &self.offering);
        let fates: Rc<[Fate]> = self.branches().found.iter().map(|branch| judge.fate(&branch.case)).collect();
        self.fates.replace(Some((draft, fates.clone())));
        fates
    }

    /// Which of these turns a template reads.
    pub fn reads(&self, template: &Template, turns: &[&Case]) -> Vec<bool> {
        let judge = Judge::new(template, self.branch_tools(), &self.plain, &self.offering);
        turns.iter().map(|case| matches!(judge.fate(case), Fate::Passed)).collect()
    }

    /// Whether a template can mean the values of a setting: not true or false where it prints the value or compares it
    /// with others.
    pub(super) fn is_meant(&self, case: &Case) -> bool {
        case.setting.iter().all(|(name, value)| match value {
            Value::Bool(value) => {
                let spelled = if *value { "True" } else { "False" };
                let compared = self.plain.template().compared_constants().get(name).into_iter().flatten();
                let found = self.branches().found.iter().filter_map(|branch| branch.case.setting.get(name));
                !case.text.contains(spelled) && compared.chain(found).all(|value| value.as_bool().is_some())
            }
            _ => true,
        })
    }

    /// The turns that a template misreads: the proof's own, unless it holds, and those that take branches.
    pub fn unread_turns(&self, template: &Template, holds: bool) -> Vec<(Part, Case)> {
        let judge = self.judge_with(template);
        let own = self.cases.iter().filter(|_| !holds).filter_map(|case| match judge.fate(case) {
            Fate::Failed(failure) if self.is_meant(case) => Some((failure.part, case.clone())),
            Fate::Failed(_) => None,
            Fate::Passed | Fate::Lost(_) => None,
        });
        let branches = self.branch_fates(template).into_iter().filter_map(|(branch, fate)| match fate {
            Fate::Failed(failure) => Some((failure.part, branch.case.clone())),
            Fate::Lost(loss) if branch.is_exact => Some((loss.part, branch.case.clone())),
            Fate::Passed | Fate::Lost(_) => None,
        });
        own.chain(branches).collect()
    }

    fn branch_tools(&self) -> Arc<Tools> {
        judge::tools_of(&self.branches().tools()).unwrap_or_else(|| self.tools.clone())
    }

    /// The conversations that a verdict counts besides the proof's own, given the fates of those: text like delimiters, and
    /// branches if all of the own ones are read.
    pub fn other_branches(&self, template: &Template, own: &[Fate]) -> (Vec<Case>, Vec<Fate>) {
        let judge = self.judge_with(template);
        let like = self.cases_like(template).into_iter().map(|case| (judge.fate(&case), case));
        let mut found: Vec<(Fate, Case)> = like.collect();
        if !own.iter().any(|fate| matches!(fate, Fate::Failed(_))) {
            found.extend(self.branch_fates(template).into_iter().map(|(branch, fate)| (fate, branch.case.clone())));
        }
        found.retain(|(fate, _)| !matches!(fate, Fate::Failed(_)));
        found.into_iter().map(|(fate, case)| (case, fate)).unzip()
    }

    /// Makes losses of failures under settings only: the default ones are proved by themselves.
    fn excuse_settings(&self, template: &Template, verdict: &mut Verdict) {
        let judge = self.judge_with(template);
        let own = self.cases_about(template);
        let mut lost = Vec::new();
        for case in self.cases.iter().chain(&own) {
            if let Fate::Failed(failure) = judge.fate(case) {
                lost.push((case, failure));
            }
        }
        let is_proved = |part: Part| verdict.scope.proved.contains(&part.topic());
        let is_only_set = lost.iter().all(|(case, failure)| !case.setting.is_empty() && is_proved(failure.part));
        // A name that the chat template does not read fails no case.
        if !is_only_set || lost.len() != verdict.failed() {
            return;
        }
        verdict.failures.clear();
        for (case, failure) in lost {
            verdict.cases -= 1;
            if !self.is_meant(case) {
                continue;
            }
            let words = setting_words(&case.setting);
            if self.has_own_prompt(case) {
                verdict.unread_setting.get_or_insert_with(|| words.clone());
            }
            let message = unread_words(&case.setting, &words, "");
            verdict.lose(Loss { is_assumed: true, ..Loss::new(failure.part, message, &failure.text) });
        }
    }

    /// Whether a setting shows in the prompt: none that says less has the same. After a known prompt a model writes as
    /// usual, however a setting has its earlier turns written.
    fn has_own_prompt(&self, case: &Case) -> bool {
        let says_less = |other: &Setting| {
            other.len() < case.setting.len() && other.iter().all(|(name, value)| case.setting.get(name) == Some(value))
        };
        let is_known = |other: &Case| other.prompted == case.prompted && says_less(&other.setting);
        !case.setting.is_empty() && !case.prompted.is_empty() && !self.cases.iter().any(is_known)
    }

    /// Adds the conversations that take branches to the verdict of a template that reads the proof's own conversations.
    /// Those that it misreads are losses.
    pub fn with_branches(&self, template: &Template, mut verdict: Verdict) -> Verdict {
        if !verdict.holds() {
            self.excuse_settings(template, &mut verdict);
        }
        if !verdict.holds() {
            return verdict;
        }
        for loss in std::mem::take(&mut verdict.excused) {
            verdict.lose(loss);
        }
        for (branch, fate) in self.branch_fates(template) {
            if let Some(failure) = verdict.count_read(fate).filter(|_| !branch.is_assumed(&verdict)) {
                let setting = &branch.case.setting;
                if branch.is_exact && self.has_own_prompt(&branch.case) && self.is_meant(&branch.case) {
                    verdict.unread_setting.get_or_insert_with(|| setting_words(setting));
                }
                verdict.lose(branch.loss(failure.part, &failure.text));
            }
        }
        verdict.branching = self.branches().branching.clone();
        verdict.losses.sort_by(|a, b| (a.part, &a.message).cmp(&(b.part, &b.message)));
        verdict
    }
}

/// The variables of a setting, in words that follow "with".
fn setting_words(setting: &Setting) -> String {
    let words: Vec<String> = setting.iter().map(|(name, value)| format!("`{name}` set to {value}")).collect();
    words.join(" and ")
}

/// What a draft does not read, with the option that proves it.
fn unread_words(setting: &Setting, words: &str, place: &str) -> String {
    let options: Vec<String> = setting.iter().map(|(name, value)| format!("--set '{name}={value}'")).collect();
    let shown = if options.is_empty() { String::new() } else { format!("; `{}` shows them", options.join(" ")) };
    format!("with {words}, the template writes turns that the draft does not read{place}{shown}")
}

impl Branch {
    fn contains_one_of(&self, marks: &[String]) -> bool {
        let said = &self.case.said;
        let mut texts = said.content.iter().chain(&said.reasoning);
        let is_mark = |mark: &&String| Segmentation::Words.is_distinctive(mark);
        texts.any(|text| marks.iter().filter(is_mark).any(|mark| text.contains(mark.trim())))
    }

    /// Whether a loss of the verdict names the variable of its setting already.
    fn is_assumed(&self, verdict: &Verdict) -> bool {
        let assumed = || verdict.losses.iter().filter(|loss| loss.is_assumed && loss.message.contains("depends on"));
        self.case.setting.keys().any(|name| assumed().any(|loss| loss.message.contains(&format!("`{name}`"))))
    }

    /// The loss of a template that misreads it.
    pub fn loss(&self, part: Part, text: &str) -> Loss {
        let Self { case, words, line, .. } = self;
        let message = unread_words(&case.setting, words, &format!(" (line {line})"));
        Loss { is_assumed: true, ..Loss::new(part, message, text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{ANSWER, CHAT, template, with_proof};

    /// The losses of a template, and how many conversations take a branch.
    fn proved(chat_template: &str) -> (Vec<String>, usize) {
        with_proof(chat_template, |proof| {
            let template = template(ANSWER);
            let verdict = proof.with_branches(&template, proof.judge(&template));
            assert!(verdict.holds(), "{:?}", verdict.failures);
            (verdict.losses.iter().map(|loss| loss.message.clone()).collect(), proof.branches().found.len())
        })
    }

    #[test]
    fn a_branch_that_no_other_conversation_takes_is_proved_or_named() {
        let (losses, found) =
            proved(&CHAT.replace("{{ m.content }}", "{{ m.content }}{{ '' if m.content.endswith('?') }}"));
        let why = "it is read beside reasoning and calls, and alone after each history";
        assert_eq!((losses.as_slice(), found), (&[][..], 9), "{why}");
        let raw = "{% for c in m.tool_calls or [] %}{% if c.function.name == 'python' %}<raw>{{ c.function.arguments.code }}</raw>\
                   {% else %}";
        let tool = CHAT.replacen("{% for c in m.tool_calls or [] %}", raw, 1).replacen(
            "{% endfor %}<end>",
            "{% endif %}{% endfor %}<end>",
            1,
        );
        assert_ne!(tool, CHAT);
        let (losses, _) = proved(&tool);
        assert!(
            losses.iter().any(|loss| loss.starts_with("with a call of \"python\", the template writes")),
            "{losses:?}"
        );
    }

    #[test]
    fn a_branch_of_a_long_conversation_is_named_by_how_many_messages_come_before() {
        let late = "{{ '<late>' if messages | length > 6 }}{{ m.content }}";
        let (losses, found) = proved(&CHAT.replacen("{{ m.content }}", late, 1));
        assert!(found > 0);
        assert!(losses.iter().any(|loss| loss.starts_with("with 6 earlier messages, the template")), "{losses:?}");
    }

    #[test]
    fn the_names_that_a_template_looks_up_in_arguments_are_found() {
        let source =
            "{{ c.arguments.code }}{{ c['arguments']['sql'] }}{% for k, v in c.arguments.items() %}{{ arguments }}";
        assert_eq!(argument_keys(source), ["code", "sql"]);
        assert_eq!(argument_keys("{{ c.arguments['sql'] }}"), ["sql"]);
    }
}
