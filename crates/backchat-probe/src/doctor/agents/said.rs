//! The messages of agents' conversations. Every text is a needle.

use super::super::messages::{call, calling, with};
use crate::probe::{RequestShape, needle, said, text_part};
use backchat_core::json::{Object, Value};

/// A third user text, and a second result.
pub const THIRD: &str = needle::AFTER;
pub const OTHER_RESULT: &str = needle::SECOND;
/// An id as OpenAI's API writes them.
pub(crate) const LONG_ID: &str = "call_Qz8fK2mWx0LhT4nYbCvD7rPs";

pub fn user(text: &str) -> Value {
    said("user", text)
}

pub fn system(text: &str) -> Value {
    said("system", text)
}

pub fn answer(text: &str) -> Value {
    said("assistant", text)
}

/// A message with its content as one text part.
pub fn in_part(message: Value) -> Value {
    let text = message.get("content").and_then(Value::as_str).unwrap_or_default().to_owned();
    with(message, [("content", Value::List(vec![text_part(&text)]))])
}

/// A message without a key.
pub fn without(message: Value, key: &str) -> Value {
    let Value::Object(mut entries) = message else { return message };
    entries.shift_remove(key);
    Value::Object(entries)
}

/// A message that makes this many calls, with the arguments as an object or as text.
pub(crate) fn called(content: &str, calls: usize, as_text: bool) -> Value {
    let shape = RequestShape { arguments_text: as_text, ..RequestShape::USUAL };
    calling(content, (0..calls).map(|index| call(index, shape)).collect())
}

/// The same message with its first call changed.
pub(crate) fn with_call(message: Value, change: impl FnOnce(&mut Object)) -> Value {
    let Value::Object(mut entries) = message else { return message };
    if let Some(Value::List(calls)) = entries.get_mut("tool_calls")
        && let Some(Value::Object(call)) = calls.first_mut()
    {
        change(call);
    }
    Value::Object(entries)
}

/// The same message with the arguments of its first call replaced.
pub fn with_arguments(message: Value, arguments: Value) -> Value {
    with_call(message, |call| {
        if let Some(Value::Object(function)) = call.get_mut("function") {
            function.insert("arguments", arguments);
        }
    })
}

/// The result of a call.
pub fn result(index: usize, text: &str) -> Value {
    let (id, name) = (needle::pick(needle::IDS, index), needle::pick(needle::NAMES, index));
    let entries = [("role", "tool"), ("tool_call_id", id), ("name", name), ("content", text)];
    Value::from(entries.map(|(key, text)| (key, Value::from(text))))
}

/// Arguments of every JSON type, with text that needs escapes.
pub(crate) fn rich_arguments() -> Value {
    let inner = Value::from([("qzinner", "Qz\n\"\u{4e2d}\u{6587}\\ /".into())]);
    Value::from([
        (needle::KEYS[0], needle::VALUES[0].into()),
        ("qzfloat", Value::from(-12.5)),
        ("qzinteger", 3.into()),
        ("qztrue", true.into()),
        ("qznull", Value::Null),
        ("qzlist", Value::List(vec![1.into(), inner])),
        ("qzempty", Value::Object(Object::new())),
    ])
}
