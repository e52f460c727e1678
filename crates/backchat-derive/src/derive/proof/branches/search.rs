//! The search for conversations that take branches.

use super::super::Proof;
use super::super::conversations::{self, History, Reach, TestAnswer};
use super::super::request::Request;
use super::super::verdict::Branching;
use super::Branches;
use super::reached::{Known, LINES, Reached, suggested_after, with_lists};
use super::unsent::unsent;
use super::untaken::untaken;
use backchat_chat::{Decision, LISTS, NodeKind, Relation, ended, nodes};
use backchat_core::diagnostic::line_column;
use backchat_core::json::Value;
use backchat_core::push_new;
use backchat_probe::coverage::{
    Coverage, Form, Goal, Likeness, Offers, OtherTools, Place, Sought, Suggested, UsualHistories, argument_keys, forms,
    offers, suggestions,
};
use backchat_probe::probe::{Answer, Message, Setting};
use std::ops::{Range, RangeInclusive};
use std::rc::Rc;

/// How many conversations are rendered at most to find those that take a branch.
const MOST_RENDERS: usize = 56;

/// How many of them for one goal.
const MOST_TRIES: usize = 10;

/// How many more for one that only turns before the answer reach.
const MOST_IN_TURN: usize = 4;

/// How many of them the chat template may refuse for one goal: what it refuses is no branch.
const MOST_REFUSED: usize = 3;

/// How many of them are mere guesses.
const MOST_GUESSES: usize = 12;

/// How many conversations with other tools on offer are asked what they take.
const MOST_OFFERED: usize = 12;

/// How many of them may have the same turn as with the usual tools, which most conditions on tools leave as it is: for one
/// goal, so that it does not use up what others need, and in all.
const MOST_SAME_OF_GOAL: usize = 4;
const MOST_SAME: usize = 20;

/// How many conversations with messages in another form are rendered at most, and how many times the goals are asked for
/// them.
const MOST_FORMS: usize = 12;
const MOST_STEPS: usize = 3;

/// From how many conversations suggestions for one goal are made.
const MOST_WITNESSES: usize = 3;

/// How many conversations that take a branch are proved.
const MOST_FOUND: usize = 24;

/// A history of the proof's own conversations.
struct Before {
    history: Rc<[Message]>,
    /// The conditions that run in it.
    conditions: Vec<Range<usize>>,
}

/// The search for conversations that take branches.
struct Search<'p, 't> {
    proof: &'p Proof<'t>,
    coverage: Coverage,
    known: Vec<Known>,
    /// How many more conversations may be rendered.
    left: usize,
    reached: Vec<Reached>,
    /// The conditions for which a conversation was refused.
    refused: Vec<Range<usize>>,
    /// Conversations with other tools on offer whose turn is the same as with the usual ones.
    same_turns: Vec<Known>,
    /// Goals that only turns before the answer reached, each with a conversation whose last turn asks about the condition.
    before: Vec<(Goal, Known)>,
    histories: Vec<Before>,
    /// The arguments that the chat template looks up by name.
    argument_keys: Vec<String>,
    offers: Offers,
}

/// What was tried to reach one goal.
struct Tries {
    /// How many renders are left when it has had its share.
    enough: usize,
    /// How many conversations with other tools on offer had the usual turn.
    same: usize,
    /// The first conversation in which turns before the answer reached it.
    before: Option<(Suggested, Known)>,
}

/// The tools on offer, and what the chat template looks up in their definitions.
fn usual_offers(proof: &Proof<'_>) -> Offers {
    let offering = &proof.offering;
    let tools = offering.offered().and_then(Value::as_list).unwrap_or_default().to_vec();
    let said = Message::Assistant(Answer::calls(vec![conversations::plain_call()]));
    let messages = [Message::User(conversations::QUESTION.to_owned()), said];
    let paths = offering.paths(offering.request_shape(), &messages, &Setting::new());
    let read = paths.iter().filter_map(|path| path.strip_prefix("tools[].").map(str::to_owned));
    Offers { tools, read: read.collect() }
}

impl<'p, 't> Search<'p, 't> {
    fn new(proof: &'p Proof<'t>) -> Self {
        let (coverage, known, reached, refused, histories) = Default::default();
        let (same_turns, before) = Default::default();
        let argument_keys = argument_keys(proof.plain.template().source());
        let offers = usual_offers(proof);
        let left = MOST_RENDERS;
        Self { proof, coverage, known, left, reached, refused, same_turns, before, histories, argument_keys, offers }
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
                tools: None,
            };
            self.watch(&known);
            if is_new && case.is_begun() {
                let ran = case.prober(&self.proof.plain, &self.proof.offering).ran(&case.history, &case.setting, true);
                self.coverage.add_under(&case.setting, ran.unwrap_or_default(), &Answer::default());
                self.known.push(Known { answer: Answer::default(), ..known });
            }
        }
        for (history, _) in histories {
            let offers_tools = self.proof.request.offers_tools(history, &Answer::default());
            let prober = if offers_tools { &self.proof.offering } else { &self.proof.plain };
            let ran = prober.ran(history, &Setting::new(), true).unwrap_or_default();
            let history: Rc<[Message]> = history.into();
            let conditions = ran.decisions.iter().map(|decision| decision.span.clone()).collect();
            self.histories.push(Before { history: history.clone(), conditions });
            self.coverage.add(ran, &Answer::default());
            let (answer, setting, tools) = Default::default();
            self.known.push(Known { answer, history, setting, offers_tools, tools });
        }
    }

    /// Renders a conversation and records the branches it takes.
    fn watch(&mut self, known: &Known) {
        self.coverage.add_under(&known.setting, known.ran_after(&known.history, self.proof), &known.answer);
        self.known.push(known.clone());
    }

    /// Watches an answer of all parts under a setting: what the template asks only there is asked of each part.
    fn watch_setting(&mut self, setting: &Setting) {
        let Some(history) = self.histories.first().map(|usual| usual.history.clone()) else { return };
        let answer = self.proof.answer_of_all_parts().answer;
        let offers_tools = self.proof.request.offers_tools(&history, &answer);
        let known = Known { answer, history, setting: setting.clone(), offers_tools, tools: None };
        if !self.known.contains(&known) {
            self.watch(&known);
        }
    }

    /// Whether the chat template refuses a conversation as it is, without a remedy.
    fn is_refused(&self, known: &Known) -> bool {
        let messages = [&known.history[..], &[Message::Assistant(known.answer.clone())]].concat();
        let prober = known.prober(self.proof);
        prober.render_in(prober.request_shape(), &messages, &known.setting, false).is_none()
    }

    /// Messages before an answer in a form that a condition asks for, after which an answer of all parts is written
    /// differently.
    fn seek_forms(&mut self) {
        let source = self.proof.plain.template().source();
        let Request { calls, .. } = self.proof.request;
        let main =
            conversations::histories(calls.named_ids, calls.several).into_iter().filter(|history| history.is_main);
        let mut main = main.map(|history| history.messages);
        let (question, result) = (main.next().unwrap_or_default(), main.next().unwrap_or_default());
        let read = self.keys_read(&result);
        let result = if calls.shown { result } else { Vec::new() };
        let usual = UsualHistories { question: &question, result: &result, read: &read };
        let mut tried: Vec<Form> = Vec::new();
        for _ in 0..MOST_STEPS {
            let before = tried.len();
            for goal in self.coverage.goals() {
                let condition = source.get(goal.span.clone()).unwrap_or("");
                let reworded = self.reworded(&goal, condition, &tried);
                for form in forms(&goal, condition, &usual).into_iter().chain(reworded) {
                    if tried.len() == MOST_FORMS || self.reached.len() == MOST_FOUND || ended().is_some() {
                        return;
                    }
                    if push_new(&mut tried, form.clone()) && self.is_written_anew(&goal, form) {
                        break;
                    }
                }
            }
            if tried.len() == before {
                break;
            }
        }
    }

    /// Messages in such a form with another text, if a condition asks about the text of one.
    fn reworded(&self, goal: &Goal, condition: &str, tried: &[Form]) -> Vec<Form> {
        let known = goal.witnesses.iter().filter_map(|witness| self.known.get(*witness));
        let known = known.filter(|known| tried.iter().any(|form| form.history == *known.history));
        let made = known.flat_map(|known| suggestions(goal, condition, (&known.answer, &known.history), &[]));
        let made = made.filter(|suggested| suggested.likeness == Likeness::Earlier);
        made.filter_map(|Suggested { history, words, .. }| Some(Form { history: history?, words, is_in_parts: false }))
            .collect()
    }

    /// The keys that the chat template looks up in messages, but for those of which it takes the items: what these are is
    /// not known.
    fn keys_read(&self, history: &[Message]) -> Vec<String> {
        let offering = &self.proof.offering;
        let paths = offering.paths(offering.request_shape(), history, &Setting::new());
        let looped = keys_looped_over(self.proof.plain.template().source());
        let keys = paths.iter().filter_map(|path| path.strip_prefix("messages[].")).map(str::to_owned);
        keys.filter(|key| !looped.contains(key)).collect()
    }

    /// Whether an answer of all parts reaches a goal after messages in another form, and is written differently there than
    /// after the usual ones.
    fn is_written_anew(&mut self, goal: &Goal, Form { history, words, is_in_parts }: Form) -> bool {
        let answer = self.proof.answer_of_all_parts().answer;
        let after = |history: &Rc<[Message]>| Known {
            answer: answer.clone(),
            history: history.clone(),
            setting: Setting::new(),
            offers_tools: self.proof.request.offers_tools(history, &answer),
            tools: None,
        };
        let known = after(&history.clone().into());
        if self.is_refused(&known) {
            return false;
        }
        let turn = |known: &Known| known.turn(self.proof).map(|turn| without_quotes(&turn).to_owned());
        let written = turn(&known);
        let is_usual = self.histories.iter().any(|usual| turn(&after(&usual.history)) == written);
        let ran = known.ran_after(&known.history, self.proof);
        let mut reached = Coverage::default();
        reached.add(ran.clone(), &known.answer);
        let is_reached = reached.has(goal);
        // Content in parts is asked about its parts, and a message in another role may be asked what it says.
        if is_usual && !is_in_parts && !is_reached {
            return false;
        }
        self.coverage.add(ran, &known.answer);
        self.known.push(known.clone());
        let is_new = is_reached && !is_usual;
        if is_reached && is_usual {
            // The messages before the answer have it, which may have it as well.
            let usual = self.histories.first().map(|usual| after(&usual.history));
            self.before.extend(usual.map(|usual| (goal.clone(), usual)));
        }
        if is_new {
            let suggested = Suggested::after(answer, history, &words);
            self.reached.push(Reached { goal: goal.clone(), suggested, known });
        }
        is_new
    }

    fn seek(&mut self) {
        let source = self.proof.plain.template().source();
        let template = self.proof.plain.template();
        let switches = self.proof.plain.switches();
        let lists = LISTS.into_iter().filter(|list| template.variables().iter().any(|name| name == list));
        let variables: Vec<&str> = switches.iter().map(String::as_str).chain(lists).collect();
        let mut asked: Vec<Range<usize>> = Vec::new();
        let every = [Likeness::Part, Likeness::Mentioned, Likeness::Earlier, Likeness::Guess, Likeness::Offered];
        for likeness in every {
            // What is only guessed must not use up the renders.
            self.left = match likeness {
                Likeness::Guess => self.left.min(MOST_GUESSES),
                Likeness::Offered => MOST_OFFERED,
                _ => self.left,
            };
            // Where one condition of several is reached, the next one is asked for the first time.
            loop {
                let before = self.reached.len();
                for goal in self.goals(likeness) {
                    if self.reached.len() == MOST_FOUND || ended().is_some() {
                        return;
                    }
                    if self.left == 0 {
                        break;
                    }
                    let condition = source.get(goal.span.clone()).unwrap_or("");
                    // A condition that ran only now is first asked what likelier reasons suggest.
                    let least = if asked.contains(&goal.span) { likeness } else { Likeness::Part };
                    self.reach(goal, condition, &variables, least..=likeness);
                }
                if self.reached.len() == before {
                    break;
                }
            }
            asked = self.coverage.goals().into_iter().map(|goal| goal.span).collect();
        }
    }

    /// What no conversation had. Where other tools are offered, that of the turn comes before that of the prompt, which
    /// describes them.
    fn goals(&self, likeness: Likeness) -> Vec<Goal> {
        let mut goals = self.coverage.goals();
        if likeness == Likeness::Offered {
            let question = [Message::User(conversations::QUESTION.to_owned())];
            let described = self.proof.offering.ran(&question, &Setting::new(), true).unwrap_or_default().decisions;
            goals.sort_by_key(|goal| described.iter().any(|decision| decision.span == goal.span));
        }
        goals
    }

    /// The texts that decide a condition, among the parts beside which no answer had its outcome: what surrounds them may
    /// differ there.
    fn seek_beside(&mut self, own: usize) {
        let source = self.proof.plain.template().source();
        for goal in self.coverage.unmixed() {
            let condition = source.get(goal.span.clone()).unwrap_or("");
            // A number may be the length of a text, or a count of what is in it.
            let is_number = matches!(goal.sought, Sought::Outcome(Relation::Less | Relation::Greater));
            let is_about = is_number && condition.contains("content") && !condition.contains("messages");
            if !goal.is_own && !is_about {
                continue;
            }
            let is_plain = |known: &&Known| known.answer.calls.is_empty() && known.answer.reasoning.is_none();
            let witnesses = goal.witnesses.iter().filter(|witness| **witness < own);
            let known = witnesses.filter_map(|witness| self.known.get(*witness)).find(is_plain);
            let Some((known, content)) = known.and_then(|known| Some((known, known.answer.content.as_ref()?))) else {
                continue;
            };
            let suggested = Suggested::again(known.answer.clone(), Place::Content, content);
            if self.reached.len() < MOST_FOUND && !self.reached.iter().any(|reached| reached.suggested == suggested) {
                self.reached.push(Reached { goal, suggested, known: known.clone() });
            }
        }
    }

    /// The messages that decide a condition, if only the plainest answers follow them: other parts may be written differently
    /// there. Of several conditions the last one is named, which is the nearest to the turn.
    fn seek_after(&mut self, own: usize) {
        let goals = self.coverage.unmixed();
        for (history, answer) in self.proof.written_anew() {
            let is_after = |witness: &usize| {
                *witness < own && self.known.get(*witness).is_some_and(|known| *known.history == history.messages[..])
            };
            let goal = goals.iter().rfind(|goal| !goal.is_own && goal.witnesses.iter().any(is_after)).cloned();
            let witness = goal.as_ref().and_then(|goal| goal.witnesses.iter().find(|witness| is_after(witness)));
            let known = witness.and_then(|witness| self.known.get(*witness)).cloned();
            if let (Some(goal), Some(known), true) = (goal, known, self.reached.len() < MOST_FOUND) {
                let words = history.name.strip_prefix("after ").unwrap_or(&history.name);
                let suggested = Suggested::after(answer, history.messages.clone(), words);
                self.reached.push(Reached { goal, suggested, known });
            }
        }
    }

    /// A suggestion and, for a tool that a template knows, the same with the arguments that the template looks up.
    fn with_own_keys(&self, suggested: Suggested) -> Vec<Suggested> {
        let keys = &self.argument_keys;
        let Some(name) = suggested.tools.as_ref().and_then(OtherTools::name).filter(|_| !keys.is_empty()) else {
            return vec![suggested];
        };
        let mut own = suggested.clone();
        for call in own.answer.calls.iter_mut().filter(|call| call.name == name) {
            // Code may be written bare up to its close: the line break before that is asked about by itself.
            call.arguments = keys.iter().map(|key| (key.clone(), LINES.trim_end().into())).collect();
        }
        vec![suggested, own]
    }

    fn reach(&mut self, goal: Goal, condition: &str, variables: &[&str], likeness: RangeInclusive<Likeness>) {
        let parts = |known: &&Known| {
            let Answer { content, reasoning, calls } = &known.answer;
            calls.len() + usize::from(content.is_some()) + usize::from(reasoning.is_some())
        };
        // What an answer does not have may be from its history: the one with most parts shows most.
        let sorted = |witnesses: &[usize]| {
            let mut bases: Vec<&Known> = witnesses.iter().filter_map(|witness| self.known.get(*witness)).collect();
            bases.sort_by_key(|known| (self.ran_before(&goal, &known.history), std::cmp::Reverse(parts(known))));
            bases
        };
        let bases =
            sorted(&goal.witnesses).into_iter().take(MOST_WITNESSES).chain(sorted(&goal.beside).into_iter().take(1));
        let mut bases: Vec<Known> = bases.cloned().collect();
        if *likeness.end() == Likeness::Offered {
            bases.sort_by_key(|base| base.answer.calls.is_empty());
        }
        let mut tries = Tries { enough: self.left.saturating_sub(MOST_TRIES), same: 0, before: None };
        let about = (&goal, condition);
        if bases.iter().any(|base| self.reach_from(base, about, variables, &likeness, &mut tries)) {
            return;
        }
        let Some((suggested, known)) = tries.before.take().filter(|_| !self.coverage.has(&goal)) else { return };
        // Turns before the answer had it. The answer has it where the condition is about the answer.
        let own = self.in_turn(&goal, &known.setting);
        tries.enough = self.left.saturating_sub(MOST_IN_TURN);
        let every = Likeness::Part..=*likeness.end();
        if own.as_ref().is_some_and(|own| self.reach_from(own, about, variables, &every, &mut tries)) {
            return;
        }
        if self.is_reached_by(&goal, &suggested, known) {
            self.before.extend(own.map(|own| (goal, own)));
        }
    }

    /// Whether a conversation like this one reaches a goal.
    fn reach_from(
        &mut self,
        base: &Known,
        (goal, condition): (&Goal, &str),
        variables: &[&str],
        likeness: &RangeInclusive<Likeness>,
        tries: &mut Tries,
    ) -> bool {
        let mut made = suggestions(goal, condition, (&base.answer, &base.history), variables);
        if likeness.contains(&Likeness::Offered) {
            made.extend(offers(goal, condition, &base.answer, &self.offers));
        }
        let made = made.into_iter().map(|suggested| with_lists(suggested, &base.setting));
        let made: Vec<Suggested> = made.flat_map(|suggested| self.with_own_keys(suggested)).collect();
        for suggested in made.into_iter().filter(|suggested| likeness.contains(&suggested.likeness)) {
            let refused = self.refused.iter().filter(|span| **span == goal.span).count();
            if self.left == tries.enough || refused == MOST_REFUSED || self.coverage.has(goal) {
                break;
            }
            let known = suggested_after(&suggested, base);
            if self.known.contains(&known) {
                continue;
            }
            if suggested.likeness == Likeness::Offered && self.is_idle(base, &known, &mut tries.same) {
                continue;
            }
            self.left -= 1;
            // What every history asks about is not about the answer.
            let is_own = || self.histories.iter().any(|usual| !usual.conditions.contains(&goal.span));
            let is_after_others = suggested.history.is_some() || suggested.rounds > 0 && is_own();
            if is_after_others && self.is_reached_before(goal, &known) {
                tries.before.get_or_insert((suggested, known));
            } else if self.is_reached_by(goal, &suggested, known) {
                return true;
            }
        }
        false
    }

    /// An answer of all parts whose own turn asks about the condition, and none before it.
    fn in_turn(&self, goal: &Goal, setting: &Setting) -> Option<Known> {
        let answer = self.proof.answer_of_all_parts().answer;
        let usual = self.histories.iter().filter(|usual| !usual.conditions.contains(&goal.span));
        let mut made = usual.take(MOST_WITNESSES).map(|usual| Known {
            answer: answer.clone(),
            history: usual.history.clone(),
            setting: setting.clone(),
            offers_tools: self.proof.request.offers_tools(&usual.history, &answer),
            tools: None,
        });
        made.find(|known| {
            let ran = |decisions: Vec<Decision>| decisions.iter().any(|decision| decision.span == goal.span);
            let before = self.proof.plain.ran(&known.history, setting, false).unwrap_or_default();
            !ran(before.decisions) && ran(known.ran_after(&known.history, self.proof).decisions)
        })
    }

    /// Whether other tools on offer have the turn written as the usual ones do, which is not asked if too many have had.
    fn is_idle(&mut self, base: &Known, known: &Known, same: &mut usize) -> bool {
        if *same == MOST_SAME_OF_GOAL || self.same_turns.len() == MOST_SAME || self.same_turns.contains(known) {
            return true;
        }
        let usual = Known { offers_tools: true, ..base.clone() };
        let is_same = usual.turn(self.proof) == known.turn(self.proof);
        if is_same {
            *same += 1;
            self.same_turns.push(known.clone());
        }
        is_same
    }

    /// Whether the turns before an answer ask about the condition, so that the answer may not be what it asks about.
    fn ran_before(&self, goal: &Goal, history: &[Message]) -> bool {
        let known = self.histories.iter().find(|known| *known.history == *history);
        known.is_some_and(|known| known.conditions.contains(&goal.span))
    }

    /// Whether the turns before an answer have the outcome already: then the answer may have another one.
    fn is_reached_before(&self, goal: &Goal, known: &Known) -> bool {
        let mut coverage = Coverage::default();
        let ran = self.proof.plain.ran(&known.history, &known.setting, false);
        coverage.add(ran.unwrap_or_default(), &Answer::default());
        coverage.has(goal)
    }

    /// Whether a conversation has the outcome, which is proved then.
    fn is_reached_by(&mut self, goal: &Goal, suggested: &Suggested, known: Known) -> bool {
        self.watch(&known);
        let is_reached = self.coverage.has(goal);
        if !is_reached && self.is_refused(&known) {
            self.refused.push(goal.span.clone());
        }
        if is_reached {
            if !suggested.setting.is_empty() {
                self.watch_setting(&known.setting);
            }
            self.reached.push(Reached { goal: goal.clone(), suggested: suggested.clone(), known });
        }
        is_reached
    }
}

/// The keys by which a chat template looks up what it loops over.
fn keys_looped_over(source: &str) -> Vec<String> {
    let nodes = nodes(source);
    let loops = nodes.iter().filter_map(|node| match &node.kind {
        NodeKind::For { over, .. } => Some(over),
        _ => None,
    });
    let within = |over: &Range<usize>| {
        let over = over.clone();
        nodes.iter().filter(move |node| over.start <= node.span.start && node.span.end <= over.end)
    };
    let keys = loops.flat_map(within).filter_map(|node| match &node.kind {
        NodeKind::Lookup { key, .. } | NodeKind::Str(key) => Some(key.clone()),
        _ => None,
    });
    keys.collect()
}

/// A turn from the end of the last word before it, without the signs that end the text of that word.
fn without_quotes(turn: &str) -> &str {
    let ends = |c: char| c.is_alphanumeric() || "-?\"'}]\\".contains(c);
    turn.trim_start_matches(ends)
}

impl Proof<'_> {
    /// An answer with all the parts that the chat template shows.
    fn answer_of_all_parts(&self) -> TestAnswer {
        let Request { calls, reasoning_input, .. } = &self.request;
        let mut answer = Answer::content("Let me look.");
        answer.calls.extend(calls.shown.then(conversations::plain_call));
        answer.reasoning = reasoning_input.as_ref().map(|_| conversations::PLAIN_THOUGHT.to_owned());
        TestAnswer::new("an answer of all parts", answer, Reach::Value, calls.named_ids)
    }

    /// The histories that only the plainest answers follow and after which an answer of all parts is written differently, with
    /// that answer.
    fn written_anew(&self) -> Vec<(History, Answer)> {
        let said = self.answer_of_all_parts();
        let turns: Vec<(History, Option<String>)> = self.cut(|cutter| {
            let histories = cutter.histories.clone().into_iter().enumerate();
            histories.map(|(at, history)| (history, cutter.case(&said, at, 0).map(|case| case.text))).collect()
        });
        let (brief, usual): (Vec<_>, Vec<_>) = turns.into_iter().partition(|(history, _)| history.is_brief);
        let is_new = |turn: &Option<String>| turn.is_some() && !usual.iter().any(|(_, known)| known == turn);
        let found = brief.into_iter().filter(|(_, turn)| is_new(turn));
        found.map(|(history, _)| (history, said.answer.clone())).collect()
    }
}

impl Branches {
    pub(in crate::derive::proof) fn find(proof: &Proof<'_>) -> Self {
        let mut search = Search::new(proof);
        search.watch_cases();
        let own = search.known.len();
        search.seek();
        search.seek_beside(own);
        search.seek_after(own);
        // Other messages than the answer may have other keys then.
        let unsent = unsent(proof, &search.coverage);
        search.seek_forms();
        let found = search.reached.iter().flat_map(|reached| reached.branches(proof, &search.reached)).collect();
        let source = proof.plain.template().source();
        let line = |span: &Range<usize>| Some(line_column(source, span.start).0);
        let branching = Branching::new(&search.coverage.conditions(), line);
        let untaken = untaken(proof, &search.coverage, &search.known, search.before);
        Self { found, untaken, unsent, alone: proof.reasoning_alone(), branching }
    }
}

#[cfg(test)]
mod tests;
