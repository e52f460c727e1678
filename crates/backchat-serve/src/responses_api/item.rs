//! An item of a response: reasoning, a message or a call, whole or as it stands while it is written.

use super::PLAIN;
use crate::parts::Part;
use backchat_core::json::{Object, Value};

/// How far an item is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It begins, and has no text yet.
    Begun,
    Complete,
    /// The engine reached its limit inside it.
    CutOff,
}

/// An item, which is a part of the message.
#[derive(Clone, Copy, Debug)]
pub struct Item<'i> {
    /// Its place among the items.
    pub index: usize,
    pub id: &'i str,
    pub part: &'i Part,
    /// Whether the client gets reasoning also in the form in which it sends it back.
    pub wants_reasoning: bool,
}

/// The beginning of the id of an item for this part.
pub fn lead(part: &Part) -> &'static str {
    match part {
        Part::Reasoning(_) => "rs_",
        Part::Content(_) => "msg_",
        Part::Call(call) if call.is_custom => "ctc_",
        Part::Call(_) => "fc_",
    }
}

impl Item<'_> {
    /// The name of the events about its text, without their ends.
    pub fn event(self) -> &'static str {
        match self.part {
            Part::Reasoning(_) => "response.reasoning_text",
            Part::Content(_) => "response.output_text",
            Part::Call(call) if call.is_custom => "response.custom_tool_call_input",
            Part::Call(_) => "response.function_call_arguments",
        }
    }

    /// The members of an event about it.
    pub fn place(self) -> Vec<(&'static str, Value)> {
        let mut members = vec![("item_id", self.id.into()), ("output_index", self.index.into())];
        if !matches!(self.part, Part::Call(_)) {
            members.push(("content_index", 0.into()));
        }
        members
    }

    /// The members of the event with all of its text.
    pub fn text(self) -> Vec<(&'static str, Value)> {
        match self.part {
            Part::Reasoning(text) => vec![("text", text.as_str().into())],
            Part::Content(text) => vec![("text", text.as_str().into()), ("logprobs", Value::List(Vec::new()))],
            Part::Call(call) if call.is_custom => vec![("input", call.arguments.as_str().into())],
            Part::Call(call) => {
                vec![("name", call.name.as_str().into()), ("arguments", call.arguments.as_str().into())]
            }
        }
    }

    /// The part of its content, of which each item has one; a call has none.
    pub fn content(self, stage: Stage) -> Option<Value> {
        let written = |text: &str| Value::from(if stage == Stage::Begun { "" } else { text });
        let list = || Value::List(Vec::new());
        Some(match self.part {
            Part::Reasoning(text) => Value::from([("type", "reasoning_text".into()), ("text", written(text))]),
            Part::Content(text) => Value::from([
                ("type", "output_text".into()),
                ("text", written(text)),
                ("annotations", list()),
                ("logprobs", list()),
            ]),
            Part::Call(_) => return None,
        })
    }

    pub fn value(self, stage: Stage) -> Value {
        let status = match stage {
            Stage::Begun => "in_progress",
            Stage::Complete => "completed",
            Stage::CutOff => "incomplete",
        };
        let content = Value::List(self.content(stage).filter(|_| stage != Stage::Begun).into_iter().collect());
        let mut item = Object::new();
        let mut add = |name: &str, value: Value| drop(item.insert(name, value));
        add("id", self.id.into());
        match self.part {
            Part::Reasoning(text) => {
                add("type", "reasoning".into());
                add("summary", Value::List(Vec::new()));
                add("content", content);
                if self.wants_reasoning && stage != Stage::Begun {
                    add("encrypted_content", format!("{PLAIN}{text}").into());
                }
            }
            Part::Content(_) => {
                add("type", "message".into());
                add("role", "assistant".into());
                add("content", content);
            }
            Part::Call(call) => {
                let (kind, text) =
                    if call.is_custom { ("custom_tool_call", "input") } else { ("function_call", "arguments") };
                add("type", kind.into());
                add("call_id", call.id.as_str().into());
                add("name", call.name.as_str().into());
                add(text, if stage == Stage::Begun { "" } else { call.arguments.as_str() }.into());
            }
        }
        add("status", status.into());
        Value::Object(item)
    }
}
