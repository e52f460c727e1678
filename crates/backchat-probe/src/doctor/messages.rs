//! The conversations the examination renders. Every text in them is a needle: a word that no template writes by itself.

use backchat_core::json::{Object, Value};

/// The words of the conversations. One that appears in a render came from the message that held it.
pub(crate) mod needle {
    pub const SYSTEM: &str = "Qzsystemq";
    pub const USER: &str = "Qzuserq";
    pub const LATER: &str = "Qzlaterq";
    pub const OTHER: &str = "Qzotherq";
    pub const CONTENT: &str = "Qzcontentq";
    pub const ANSWER: &str = "Qzanswerq";
    pub const REASONING: &str = "Qzreasonq";
    pub const AFTERTHOUGHT: &str = "Qzafterq";
    pub const RESULT: &str = "Qzresultq";
    pub const DOCUMENT: &str = "Qzdocumentq";
    pub const SETTING: &str = "Qzsettingq";
    pub const DESCRIPTIONS: [&str; 2] = ["Qzdescribesoneq", "Qzdescribestwoq"];
    pub const NAMES: [&str; 2] = ["qzname_one", "qzname_two"];
    pub const KEYS: [&str; 2] = ["qzkey_one", "qzkey_two"];
    pub const VALUES: [&str; 2] = ["Qzvalueoneq", "Qzvaluetwoq"];
    /// Nine letters and digits: some templates raise on any other id.
    pub const IDS: [&str; 2] = ["qzId1aaaa", "qzId2bbbb"];
}

/// Names that templates use for what the assistant thought.
pub(crate) const REASONING_KEYS: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

/// How a call gives its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arguments {
    Object,
    Text,
}

/// A message of any role with text content.
pub(crate) fn said(role: &str, text: &str) -> Value {
    Value::from([("role", role.into()), ("content", text.into())])
}

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
pub(crate) fn call(index: usize, arguments: Arguments) -> Value {
    let pick = |[first, second]: &[&'static str; 2]| if index.is_multiple_of(2) { *first } else { *second };
    let given = Value::from([(pick(&needle::KEYS), pick(&needle::VALUES).into())]);
    let given = match arguments {
        Arguments::Object => given,
        Arguments::Text => given.to_string().into(),
    };
    Value::from([
        ("id", pick(&needle::IDS).into()),
        ("type", "function".into()),
        ("function", Value::from([("name", pick(&needle::NAMES).into()), ("arguments", given)])),
    ])
}

/// A message of the assistant that calls tools.
pub(crate) fn calling(content: impl Into<Value>, calls: Vec<Value>) -> Value {
    Value::from([("role", "assistant".into()), ("content", content.into()), ("tool_calls", Value::List(calls))])
}

/// A tool's result.
pub(crate) fn result() -> Value {
    Value::from([
        ("role", "tool".into()),
        ("tool_call_id", needle::IDS[0].into()),
        ("name", needle::NAMES[0].into()),
        ("content", needle::RESULT.into()),
    ])
}

/// Two tools, each with a name, a description and one described parameter.
pub(crate) fn tools() -> Value {
    let tool = |name: &str, description: &str, key: &str| {
        let parameter = Value::from([("type", "string".into()), ("description", "One value.".into())]);
        let parameters = Value::from([
            ("type", "object".into()),
            ("properties", Value::from([(key, parameter)])),
            ("required", Value::List(vec![key.into()])),
        ]);
        let function =
            Value::from([("name", name.into()), ("description", description.into()), ("parameters", parameters)]);
        Value::from([("type", "function".into()), ("function", function)])
    };
    let names = needle::NAMES.iter().zip(needle::DESCRIPTIONS).zip(needle::KEYS);
    Value::List(names.map(|((name, description), key)| tool(name, description, key)).collect())
}

/// A message with further keys.
pub(crate) fn with<'k>(message: Value, entries: impl IntoIterator<Item = (&'k str, Value)>) -> Value {
    let Value::Object(mut message) = message else { return message };
    message.extend(entries.into_iter().map(|(key, value)| (key.to_owned(), value)));
    Value::Object(message)
}

/// One text part of a content list.
pub(crate) fn text_part(text: &str) -> Value {
    Value::from([("type", "text".into()), ("text", text.into())])
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
