//! The conversations of a hunt: random answers in every structure that the chat template shows, and changes of answers
//! that took a new branch.

use super::random::Random;
use super::texts::{ANSWERS, THOUGHTS, Texts, VALUES};
use crate::derive::proof::conversations::{name_ids, typed_tools};
use backchat_core::json::{Object, Value};
use backchat_core::push_new;
use backchat_probe::probe::{Answer, Call};

/// The most calls of a turn.
const MOST_CALLS: usize = 3;

/// How many answers that took a new branch are kept.
const MOST_KEPT: usize = 300;

/// A conversation to try: an answer after one of the histories, under one of the settings.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Trial {
    pub answer: Answer,
    pub history: usize,
    pub setting: usize,
}

/// The structures that a chat template shows, and what surrounds an answer.
pub(super) struct Shape {
    pub calls: bool,
    pub several: bool,
    pub reasoning: bool,
    pub named_ids: bool,
    /// Names of tools that the chat template knows.
    pub names: Vec<String>,
    /// Which histories take any answer, and which only the plainest.
    pub histories: Vec<bool>,
    /// The settings that the draft is proved for.
    pub settings: Vec<usize>,
}

/// Makes conversations.
pub(super) struct Trials {
    pub random: Random,
    pub texts: Texts,
    pub shape: Shape,
    kept: Vec<Trial>,
    /// Conversations to try before random ones.
    pub next: Vec<Trial>,
}

impl Trials {
    pub fn new(seed: u64, texts: Texts, shape: Shape) -> Self {
        Self { random: Random::new(seed), texts, shape, kept: Vec::new(), next: Vec::new() }
    }

    /// Keeps a conversation that took a new branch: others are made from it.
    pub fn keep(&mut self, trial: &Trial) {
        if self.kept.len() < MOST_KEPT {
            push_new(&mut self.kept, trial.clone());
        }
    }

    pub fn kept(&self) -> &[Trial] {
        &self.kept
    }

    /// The next conversation.
    pub fn make(&mut self) -> Trial {
        if let Some(next) = self.next.pop() {
            return next;
        }
        let is_changed = self.random.percent(40);
        if let Some(base) = self.random.pick(&self.kept).filter(|_| is_changed).cloned() {
            return self.changed(base);
        }
        let answer = self.answer();
        self.placed(answer)
    }

    /// An answer after a random history, under a random setting.
    fn placed(&mut self, answer: Answer) -> Trial {
        let is_brief = answer.reasoning.is_none() && (answer.calls.is_empty() || answer.content.is_none());
        let histories: Vec<usize> =
            self.shape.histories.iter().enumerate().filter(|(_, any)| **any || is_brief).map(|(at, _)| at).collect();
        let history = self.random.pick(&histories).copied().unwrap_or(0);
        // Most conversations have no setting.
        let setting = if self.random.percent(30) { self.random.pick(&self.shape.settings).copied() } else { None };
        Trial { answer, history, setting: setting.unwrap_or(0) }
    }

    fn answer(&mut self) -> Answer {
        let (calls, reasoning) = (self.shape.calls, self.shape.reasoning);
        let with_calls = calls && self.random.percent(55);
        let mut answer = Answer::default();
        if with_calls {
            let count =
                if self.shape.several && self.random.percent(35) { 2 + self.random.below(MOST_CALLS - 1) } else { 1 };
            answer.calls = (0..count).map(|_| self.call()).collect();
            name_ids(&mut answer.calls, self.shape.named_ids, 0);
        }
        if !with_calls || self.random.percent(40) {
            answer.content = Some(self.texts.text(&ANSWERS, &mut self.random));
        }
        if reasoning && self.random.percent(40) {
            answer.reasoning = Some(self.texts.text(&THOUGHTS, &mut self.random));
        }
        answer
    }

    fn call(&mut self) -> Call {
        let id = (0..9).map(|_| self.random.pick(b"aBcD3f7h9").map_or('a', |byte| char::from(*byte))).collect();
        let random = &mut self.random;
        let Some((name, keys)) = random.pick(typed_tools()) else {
            return Call { id, name: String::new(), arguments: Object::new() };
        };
        let name = if random.percent(8) { random.pick(&self.shape.names).cloned() } else { None }
            .unwrap_or_else(|| (*name).to_owned());
        let mut arguments = Object::new();
        for (key, kind) in *keys {
            if random.percent(50) {
                arguments.insert(*key, self.texts.value(kind, random));
            }
        }
        Call { id, name, arguments }
    }

    /// A conversation with one text or value changed, or after another history.
    fn changed(&mut self, mut trial: Trial) -> Trial {
        let Self { random, texts, .. } = self;
        let mut nasty = |text: &str, words: &[&str]| match random.below(4) {
            0 => texts.text(words, random),
            1 => format!("{}{text}", texts.text(words, random)),
            2 => format!("{text}{}", texts.string(random)),
            _ => text.to_owned(),
        };
        let Answer { content, reasoning, calls } = &mut trial.answer;
        for (text, words) in [(content, &ANSWERS), (reasoning, &THOUGHTS)] {
            *text = text.as_deref().map(|text| nasty(text, words));
        }
        for value in calls.iter_mut().flat_map(|call| call.arguments.values_mut()) {
            if let Value::String(text) = value {
                *value = nasty(text, &VALUES).into();
            }
        }
        if self.random.percent(50) {
            return Trial { setting: trial.setting, ..self.placed(trial.answer) };
        }
        trial
    }
}

/// The conversations with one thing less, the largest things first.
pub(super) fn smaller(trial: &Trial) -> Vec<Trial> {
    let Trial { answer, history, setting } = trial;
    let with = |answer: Answer| Trial { answer, ..trial.clone() };
    let mut made = Vec::new();
    if *setting > 0 {
        made.push(Trial { setting: 0, ..trial.clone() });
    }
    if *history > 0 {
        made.push(Trial { history: 0, ..trial.clone() });
    }
    if answer.reasoning.is_some() {
        made.push(with(Answer { reasoning: None, ..answer.clone() }));
    }
    if answer.content.is_some() {
        made.push(with(Answer { content: None, ..answer.clone() }));
    }
    for at in 0..answer.calls.len() {
        let mut fewer = answer.clone();
        fewer.calls.remove(at);
        made.push(with(fewer));
        for (key, value) in answer.calls.get(at).into_iter().flat_map(|call| &call.arguments) {
            let others = simpler(value).into_iter().map(Some).chain([None]);
            for other in others {
                let mut fewer = answer.clone();
                let Some(call) = fewer.calls.get_mut(at) else { continue };
                match other {
                    Some(value) => drop(call.arguments.insert(key, value)),
                    None => drop(call.arguments.shift_remove(key)),
                }
                made.push(with(fewer));
            }
        }
    }
    made
}

/// Lists and objects with one item less.
fn simpler(value: &Value) -> Vec<Value> {
    match value {
        Value::List(items) => (0..items.len())
            .map(|at| {
                let mut items = items.clone();
                items.remove(at);
                Value::List(items)
            })
            .collect(),
        Value::Object(entries) => entries
            .keys()
            .map(|key| {
                let mut entries = entries.clone();
                entries.shift_remove(key);
                Value::Object(entries)
            })
            .collect(),
        _ => Vec::new(),
    }
}
