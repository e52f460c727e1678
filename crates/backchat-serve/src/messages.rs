//! Messages of OpenAI's protocol as chat templates expect them.

use crate::api_error::ApiError;
use backchat_core::REASONING_KEYS;
use backchat_core::json::{self, Object, Value, entries_mut};
use backchat_grammar::CUSTOM_INPUT;

/// How a chat template takes messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageForm {
    /// Whether it reads content as a list of parts.
    pub parts: bool,
    /// Whether it knows the role `developer`.
    pub developer: bool,
    /// The key under which it reads the reasoning of a message.
    pub reasoning: Option<&'static str>,
}

/// Refuses the first invalid message, with its position.
pub fn check(messages: &[Value]) -> Result<(), ApiError> {
    if messages.is_empty() {
        return Err(ApiError::param("messages", "`messages` must have a message"));
    }
    for (index, message) in messages.iter().enumerate() {
        let place = format!("messages[{index}]");
        if message.get("role").and_then(Value::as_str).is_none() {
            let param = format!("{place}.role");
            return Err(ApiError::param(param.clone(), format!("`{param}` must be text such as \"user\"")));
        }
        check_content(message.get("content").unwrap_or(&Value::Null), &place)?;
        let calls = message.get("tool_calls").filter(|calls| !calls.is_null());
        let is_call = |call: &Value| call.as_object().is_some();
        if calls.is_some_and(|calls| !calls.as_list().is_some_and(|calls| calls.iter().all(is_call))) {
            let param = format!("{place}.tool_calls");
            return Err(ApiError::param(param.clone(), format!("`{param}` must be a list of calls")));
        }
    }
    Ok(())
}

fn check_content(content: &Value, place: &str) -> Result<(), ApiError> {
    let param = format!("{place}.content");
    let is_other = |part: &&Value| part_text(part).is_none();
    let message = match content {
        Value::Null | Value::String(_) => return Ok(()),
        Value::List(parts) => {
            let Some(part) = parts.iter().find(is_other) else { return Ok(()) };
            let kind = part.get("type").and_then(Value::as_str).unwrap_or("without text");
            format!("`{param}` has a part of type `{kind}`: this server reads only text")
        }
        other => format!("`{param}` must be text or a list of text parts, not {}", other.kind()),
    };
    Err(ApiError::param(param, message))
}

/// The messages for a chat template.
pub fn for_template(messages: &[Value], form: MessageForm) -> Vec<Value> {
    messages.iter().map(|message| one(message, form)).collect()
}

fn one(message: &Value, form: MessageForm) -> Value {
    let Value::Object(entries) = message else { return message.clone() };
    let mut entries = entries.clone();
    if !form.developer && entries.get("role").and_then(Value::as_str) == Some("developer") {
        entries.insert("role", "system".into());
    }
    if let Some(Value::List(calls)) = entries.get_mut("tool_calls") {
        calls.iter_mut().for_each(|call| {
            make_function(call);
            read_arguments(call);
        });
    }
    // Clients send reasoning under the name that they got it by.
    if let Some(key) = form.reasoning.filter(|key| !entries.contains_key(key))
        && let Some(text) = REASONING_KEYS.iter().find_map(|other| entries.get(other)).cloned()
    {
        entries.insert(key, text);
    }
    let has_calls = entries.get("tool_calls").and_then(Value::as_list).is_some_and(|calls| !calls.is_empty());
    if let Some(content) = entries.get_mut("content") {
        match content {
            Value::Null if has_calls => *content = "".into(),
            Value::List(parts) if !form.parts => *content = joined(parts).into(),
            Value::List(parts) => parts.iter_mut().for_each(make_text),
            _ => {}
        }
    }
    Value::Object(entries)
}

/// Chat templates know no custom tools: a call of one is a call of the function that they are shown.
fn make_function(call: &mut Value) {
    let Some(entries) = entries_mut(call).filter(|entries| entries.contains_key("custom")) else { return };
    let Some(Value::Object(mut function)) = entries.shift_remove("custom") else { return };
    let input = function.shift_remove("input").unwrap_or_default();
    function.insert("arguments", Value::from([(CUSTOM_INPUT, input)]));
    entries.insert("type", "function".into());
    entries.insert("function", Value::Object(function));
}

/// Chat templates expect the arguments as an object; clients send their JSON text, or nothing if there are none.
fn read_arguments(call: &mut Value) {
    let Some(function) = entries_mut(call).and_then(|call| entries_mut(call.get_mut("function")?)) else { return };
    let arguments = function.entry("arguments").or_insert(Value::Null);
    let read = match &*arguments {
        Value::Null => Ok(Value::Null),
        Value::String(text) if text.trim().is_empty() => Ok(Value::Null),
        Value::String(text) => json::read(text),
        _ => return,
    };
    match read {
        Ok(object @ Value::Object(_)) => *arguments = object,
        Ok(Value::Null) => *arguments = Value::Object(Object::new()),
        _ => {}
    }
}

/// The text of a part. A refusal is text that the assistant wrote.
pub fn part_text(part: &Value) -> Option<&str> {
    part.get("text").or_else(|| part.get("refusal"))?.as_str()
}

/// Chat templates know no refusals.
fn make_text(part: &mut Value) {
    if let Some(Value::String(text)) = entries_mut(part).and_then(|part| part.shift_remove("refusal")) {
        *part = Value::from([("type", "text".into()), ("text", text.into())]);
    }
}

fn joined(parts: &[Value]) -> String {
    parts.iter().filter_map(part_text).collect::<Vec<_>>().join("\n")
}
