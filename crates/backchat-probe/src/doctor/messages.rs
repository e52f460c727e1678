//! The conversations the examination renders. Every text in them is a needle: a word that no template contains.

use crate::probe::{self, Message, RequestShape, needle, said, schema, text_part};
use backchat_core::json::{Object, Value};

/// The forms of a call's arguments, each with the fact that says whether it shows the call.
pub(crate) const ARGUMENTS: [(&str, RequestShape); 2] = [
    ("call_arguments_object", RequestShape::USUAL),
    ("call_arguments_text", RequestShape { arguments_text: true, ..RequestShape::USUAL }),
];

pub(crate) fn user() -> Value {
    said("user", needle::USER)
}

pub(crate) fn later() -> Value {
    said("user", needle::LATER)
}

pub(crate) fn system() -> Value {
    said("system", needle::SYSTEM)
}

pub(crate) fn answer() -> Value {
    said("assistant", needle::CONTENT)
}

/// One call among a message's `tool_calls`.
pub(crate) fn call(index: usize, shape: RequestShape) -> Value {
    shape.call(&probe::call(index, 1))
}

/// A message of the assistant that calls tools.
pub(crate) fn calling(content: impl Into<Value>, calls: Vec<Value>) -> Value {
    Value::from([("role", "assistant".into()), ("content", content.into()), ("tool_calls", Value::List(calls))])
}

/// A tool's result.
pub(crate) fn result() -> Value {
    let probe::Call { id, name, .. } = probe::call(0, 1);
    RequestShape::USUAL.message(&Message::Tool { id, name, content: needle::RESULT.to_owned() }, None)
}

/// Two tools, each with a name, a description and one described parameter.
pub fn tools() -> Value {
    let tool = |name: &str, description: &str, key: &str| {
        let parameter = Value::from([("type", "string".into()), ("description", "One value.".into())]);
        schema::tool(name, description, schema::object([(key, parameter)], &[key]))
    };
    let names = needle::NAMES.iter().zip(needle::DESCRIPTIONS).zip(needle::KEYS);
    Value::List(names.map(|((name, description), key)| tool(name, description, key)).collect())
}

/// A message with further keys.
pub fn with<'k>(message: Value, entries: impl IntoIterator<Item = (&'k str, Value)>) -> Value {
    let Value::Object(mut message) = message else { return message };
    message.extend(entries.into_iter().map(|(key, value)| (key.to_owned(), value)));
    Value::Object(message)
}

/// The same messages with every text content as a list of one text part.
pub(crate) fn in_parts(messages: &[Value]) -> Vec<Value> {
    let in_parts = |message: &Value| {
        let Value::Object(entries) = message else { return message.clone() };
        let mut entries: Object = entries.clone();
        if let Some(content) = entries.get_mut("content")
            && let Value::String(text) = content
        {
            *content = Value::List(vec![text_part(text)]);
        }
        Value::Object(entries)
    };
    messages.iter().map(in_parts).collect()
}
