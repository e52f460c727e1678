//! The messages of a chat request, from APIs in which text, reasoning, calls and results are pieces of their own.

use crate::api_error::ApiError;
use crate::messages::part_text;
use backchat_core::REASONING_KEYS;
use backchat_core::json::{Object, Value};

/// The conversation so far.
#[derive(Debug, Default)]
pub struct Conversation {
    messages: Vec<Value>,
    /// The turn of the assistant that is still open.
    turn: Option<Turn>,
    /// The id and the name of each call.
    calls: Vec<(String, String)>,
}

/// A turn of the assistant.
#[derive(Debug, Default)]
struct Turn {
    reasoning: String,
    /// How much of the reasoning came before the last text or call.
    reasoned: usize,
    content: Option<String>,
    calls: Vec<Value>,
}

fn message<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::from(members)
}

impl Conversation {
    /// Adds a message that is no turn of the assistant. Instructions at the beginning are one message: many chat templates
    /// take only one.
    pub fn message(&mut self, role: &str, content: Value) {
        self.end_turn();
        let is_instruction = |role: Option<&str>| matches!(role, Some("system" | "developer"));
        let leads = is_instruction(Some(role)) && self.messages.len() == 1;
        if let (true, Some(Value::Object(first)), Value::String(more)) = (leads, self.messages.first_mut(), &content)
            && is_instruction(first.get("role").and_then(Value::as_str))
            && let Some(Value::String(text)) = first.get_mut("content")
        {
            text.push_str("\n\n");
            text.push_str(more);
            return;
        }
        self.messages.push(message([("role", role.into()), ("content", content)]));
    }

    pub fn reasoning(&mut self, text: &str) {
        self.turn.get_or_insert_default().reasoning.push_str(text);
    }

    /// Adds a text of the assistant.
    pub fn text(&mut self, text: &str) {
        let turn = self.turn.get_or_insert_default();
        turn.content.get_or_insert_default().push_str(text);
        turn.reasoned = turn.reasoning.len();
    }

    /// Adds a call, with its arguments as JSON text.
    pub fn call(&mut self, id: &str, name: &str, arguments: &str) {
        self.add_call(id, "function", [("name", name.into()), ("arguments", arguments.into())]);
    }

    /// Adds a call of a custom tool.
    pub fn custom_call(&mut self, id: &str, name: &str, input: &str) {
        self.add_call(id, "custom", [("name", name.into()), ("input", input.into())]);
    }

    fn add_call(&mut self, id: &str, kind: &str, own: [(&str, Value); 2]) {
        let name = own[0].1.as_str().unwrap_or_default().to_owned();
        let call = message([("id", id.into()), ("type", kind.into()), (kind, message(own))]);
        let turn = self.turn.get_or_insert_default();
        turn.calls.push(call);
        turn.reasoned = turn.reasoning.len();
        self.calls.push((id.to_owned(), name));
    }

    /// Adds the result of a call. Its name, which some chat templates print, is that of the call.
    pub fn result(&mut self, id: &str, content: Value) {
        self.end_turn();
        let mut result = Object::new();
        result.insert("role", "tool".into());
        result.insert("tool_call_id", id.into());
        if let Some((_, name)) = self.calls.iter().rev().find(|(known, _)| known == id) {
            result.insert("name", name.as_str().into());
        }
        result.insert("content", content);
        self.messages.push(Value::Object(result));
    }

    /// Ends the turn of the assistant if it has text. Reasoning after all else belongs to the next turn.
    pub fn end_text(&mut self) {
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.content.is_some()) else { return };
        let reasoning = turn.reasoning.split_off(turn.reasoned);
        self.end_turn();
        if !reasoning.is_empty() {
            self.reasoning(&reasoning);
        }
    }

    /// Ends the turn of the assistant, if one is open.
    pub fn end_turn(&mut self) {
        let Some(turn) = self.turn.take() else { return };
        let mut entries = Object::new();
        entries.insert("role", "assistant".into());
        entries.insert(
            "content",
            if turn.calls.is_empty() { turn.content.unwrap_or_default().into() } else { turn.content.into() },
        );
        if !turn.reasoning.is_empty() {
            entries.insert(REASONING_KEYS[0], turn.reasoning.into());
        }
        if !turn.calls.is_empty() {
            entries.insert("tool_calls", Value::List(turn.calls));
        }
        self.messages.push(Value::Object(entries));
    }

    pub fn into_messages(mut self) -> Value {
        self.end_turn();
        Value::List(self.messages)
    }
}

/// The content of a message: text, or a list of parts of these types, which become parts of the chat API. Others are
/// refused by name.
pub fn content(value: &Value, types: &[&str], place: &str) -> Result<Value, ApiError> {
    let texts = texts(value, types, place)?;
    Ok(match texts.as_slice() {
        [text] => (*text).into(),
        texts => {
            let part = |text: &&str| message([("type", "text".into()), ("text", (*text).into())]);
            Value::List(texts.iter().map(part).collect())
        }
    })
}

/// The texts of a content.
pub fn texts<'v>(value: &'v Value, types: &[&str], place: &str) -> Result<Vec<&'v str>, ApiError> {
    let wrong = |message: String| ApiError::param(place, message);
    match value {
        Value::String(text) => Ok(vec![text]),
        Value::List(parts) => parts
            .iter()
            .map(|part| {
                let kind = part.get("type").and_then(Value::as_str).unwrap_or("without a type");
                let text = part_text(part).filter(|_| types.contains(&kind));
                text.ok_or_else(|| wrong(format!("`{place}` has a part of type `{kind}`: this server reads only text")))
            })
            .collect(),
        other => Err(wrong(format!("`{place}` must be text or a list of text parts, not {}", other.kind()))),
    }
}

/// The text of a member, which must be there.
pub fn text_of<'v>(value: &'v Value, name: &str, place: &str) -> Result<&'v str, ApiError> {
    value.get(name).and_then(Value::as_str).ok_or_else(|| {
        let param = format!("{place}.{name}");
        ApiError::param(param.clone(), format!("`{param}` must be text"))
    })
}
