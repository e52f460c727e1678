//! What a template takes: the forms of conversations that every other question builds on.

use super::frames::Frames;
use super::said::{answer, called, result, system, user, without};
use crate::doctor::messages::{tools, with};
use crate::doctor::probe::{Chat, Outcome, Probe};
use crate::probe::{REASONING_KEYS, needle, text_part};
use backchat_core::json::Value;

/// How a template takes calls.
#[derive(Clone, Debug)]
pub struct Calls {
    /// Whether arguments are JSON text.
    pub as_text: bool,
    /// The tools that have to be offered.
    pub tools: Option<Value>,
    /// Whether it shows results.
    pub results: bool,
}

/// A template, and the forms that it takes.
pub struct Base<'p, 't> {
    pub probe: &'p Probe<'t>,
    /// Whether it takes content in parts only.
    pub in_parts: bool,
    pub system: bool,
    pub chat: bool,
    pub calls: Option<Calls>,
    pub tools: bool,
    /// Whether it shows tools, but only beside a system message.
    pub tools_with_system: bool,
    /// The keys under which it reads reasoning, the first one first.
    pub reasoning: Vec<&'static str>,
    pub frames: Frames,
}

impl<'p, 't> Base<'p, 't> {
    /// `None` if the template shows no user message.
    pub fn find(probe: &'p Probe<'t>) -> Option<Self> {
        let mut base = Self {
            probe,
            in_parts: false,
            system: false,
            chat: false,
            calls: None,
            tools: false,
            tools_with_system: false,
            reasoning: Vec::new(),
            frames: Frames::default(),
        };
        base.in_parts = [false, true].into_iter().find(|in_parts| {
            base.in_parts = *in_parts;
            base.text(vec![user(needle::USER)])
                .is_some_and(|text| text.contains(needle::USER) && !text.contains("'type'"))
        })?;
        base.system = base.shows(vec![system(needle::SYSTEM), user(needle::USER)], &[needle::SYSTEM, needle::USER]);
        let chat = vec![user(needle::USER), answer(needle::CONTENT), user(needle::LATER)];
        base.chat = base.shows(chat, &[needle::USER, needle::CONTENT, needle::LATER]);
        base.calls = base.find_calls();
        base.find_tools();
        base.reasoning = REASONING_KEYS.into_iter().filter(|key| base.reads_reasoning(key)).collect();
        let render = |messages, prompt| base.outcome(messages, None, prompt).ok();
        let frames = Frames::find(&render, probe.bos_token());
        base.frames = frames;
        Some(base)
    }

    /// Messages whose texts have the form that the template takes.
    pub fn formed(&self, messages: Vec<Value>) -> Vec<Value> {
        if !self.in_parts {
            return messages;
        }
        let formed = |message: Value| match message.get("content").and_then(Value::as_str).map(str::to_owned) {
            Some(text) if text.is_empty() => with(message, [("content", Value::List(Vec::new()))]),
            Some(text) => with(message, [("content", Value::List(vec![text_part(&text)]))]),
            None => message,
        };
        messages.into_iter().map(formed).collect()
    }

    /// A conversation in the form that the template takes.
    pub fn conversation(&self, messages: Vec<Value>, tools: Option<&Value>, prompt: bool) -> Chat {
        Chat { prompt, ..Chat::new(self.formed(messages)).offered(tools) }
    }

    pub fn outcome(&self, messages: Vec<Value>, tools: Option<&Value>, prompt: bool) -> Outcome {
        self.probe.exactly(&self.conversation(messages, tools, prompt))
    }

    /// The render of a conversation without tools and without a prompt, if it renders.
    pub fn text(&self, messages: Vec<Value>) -> Option<String> {
        self.outcome(messages, None, false).ok()
    }

    /// The same with a prompt.
    pub fn prompted(&self, messages: Vec<Value>) -> Option<String> {
        self.outcome(messages, None, true).ok()
    }

    /// The render with the tools that calls need.
    pub fn with_tools(&self, messages: Vec<Value>, prompt: bool) -> Option<String> {
        self.outcome(messages, self.call_tools(), prompt).ok()
    }

    pub fn call_tools(&self) -> Option<&Value> {
        self.calls.as_ref().and_then(|calls| calls.tools.as_ref())
    }

    fn shows(&self, messages: Vec<Value>, words: &[&str]) -> bool {
        self.text(messages).is_some_and(|text| words.iter().all(|word| text.contains(word)))
    }

    /// A message that calls, in the form that the template takes.
    pub fn calling(&self, content: &str, calls: usize) -> Value {
        called(content, calls, self.calls.as_ref().is_some_and(|calls| calls.as_text))
    }

    /// The first form that shows a call and its result.
    fn find_calls(&self) -> Option<Calls> {
        let offered = tools();
        for results in [true, false] {
            for tools in [Some(&offered), None] {
                for as_text in [false, true] {
                    if self.shows_call(as_text, tools, results) {
                        return Some(Calls { as_text, tools: tools.cloned(), results });
                    }
                }
            }
        }
        None
    }

    fn shows_call(&self, as_text: bool, tools: Option<&Value>, results: bool) -> bool {
        let mut messages = vec![user(needle::USER), called("", 1, as_text)];
        messages.extend(results.then(|| result(0, needle::RESULT)));
        let Ok(text) = self.outcome(messages.clone(), tools, false) else { return false };
        let mut words = vec![needle::USER, needle::KEYS[0], needle::VALUES[0], needle::NAMES[0]];
        words.extend(results.then_some(needle::RESULT));
        let misprints = [format!("\\\"{}", needle::KEYS[0]), format!("{{'{}", needle::KEYS[0])];
        if !words.iter().all(|word| text.contains(word)) || misprints.iter().any(|misprint| text.contains(misprint)) {
            return false;
        }
        let Some(call) = messages.get_mut(1) else { return false };
        *call = without(call.clone(), "tool_calls");
        self.outcome(messages, tools, false).map_or(true, |text| !text.contains(needle::VALUES[0]))
    }

    fn find_tools(&mut self) {
        let offered = tools();
        let shows =
            |messages| self.outcome(messages, Some(&offered), false).is_ok_and(|text| text.contains(needle::NAMES[0]));
        let (alone, beside) = (vec![user(needle::USER)], vec![system(needle::SYSTEM), user(needle::USER)]);
        let tools = shows(alone);
        let with_system = !tools && shows(beside);
        (self.tools, self.tools_with_system) = (tools, with_system);
    }

    fn reads_reasoning(&self, key: &str) -> bool {
        let think = |message: Value| with(message, [(key, needle::REASONING.into())]);
        let shows = |text: Option<String>| text.is_some_and(|text| text.contains(needle::REASONING));
        shows(self.text(vec![user(needle::USER), think(answer(needle::CONTENT))])) || {
            let offered = tools();
            let offered = self.calls.as_ref().map_or(Some(&offered), |calls| calls.tools.as_ref());
            shows(self.outcome(vec![user(needle::USER), think(self.calling("", 1))], offered, false).ok())
        }
    }
}
