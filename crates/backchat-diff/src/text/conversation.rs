//! A conversation in one line.

use super::lines::{plain, visible};
use crate::kinds::Conversation;
use backchat_core::REASONING_KEYS;
use backchat_core::diagnostic::counted;
use backchat_core::json::{Object, Value};

/// A conversation in one line.
pub(super) fn conversation_line(conversation: &Conversation) -> String {
    let messages = conversation.messages().iter().filter_map(Value::as_object).map(message);
    let shown: Vec<String> = messages.collect();
    let skipped = shown.len().saturating_sub(5);
    let mut parts: Vec<String> = match skipped {
        0 => shown,
        _ => {
            let ends = shown.iter().take(2).cloned().chain([format!("… {skipped} more …")]);
            ends.chain(shown.iter().skip(skipped + 2).cloned()).collect()
        }
    };
    let mut line = std::mem::take(&mut parts).join(" → ");
    if let Some(tools) = conversation.context.get("tools").and_then(Value::as_list) {
        line += &format!(", {}", counted(tools.len(), "tool"));
    }
    if let Some(documents) = conversation.context.get("documents").and_then(Value::as_list) {
        line += &format!(", {}", counted(documents.len(), "document"));
    }
    if conversation.context.get("add_generation_prompt").is_some_and(Value::is_truthy) {
        line += ", prompt";
    }
    if let Some(now) = &conversation.now {
        line += &format!(", at {now}");
    }
    let known = ["messages", "tools", "add_generation_prompt", "documents"];
    for (name, value) in conversation.context.iter().filter(|(name, _)| !known.contains(name)) {
        line += &format!(", {name}={}", plain(&value.to_string()));
    }
    visible(&line)
}

fn quoted(text: &str) -> String {
    let shown = plain(text);
    match shown.chars().count() > 40 {
        true => format!("\"{}…\" ({} characters)", shown.chars().take(12).collect::<String>(), text.chars().count()),
        false => format!("\"{shown}\""),
    }
}

/// Whether a value of a message has a form of its own, as reasoning and calls have, or none, as the id that connects a result
/// with its call. Empty values have neither.
fn has_form(key: &str, value: &Value) -> bool {
    match key {
        "role" | "content" => true,
        "tool_calls" => value.as_list().is_some_and(|calls| !calls.is_empty()),
        "tool_call_id" => value.as_str().is_some_and(|id| !id.is_empty()),
        key => REASONING_KEYS.contains(&key) && value.as_str().is_some(),
    }
}

fn message(message: &Object) -> String {
    let mut shown = message.get("role").and_then(Value::as_str).unwrap_or("?").to_owned();
    match message.get("content") {
        Some(Value::String(text)) if !(text.is_empty() && message.contains_key("tool_calls")) => {
            shown += &format!(" {}", quoted(text));
        }
        Some(Value::List(parts)) => {
            let part = |part: &Value| {
                let kind = part.get("type").and_then(Value::as_str).unwrap_or("?");
                match part.get("text").and_then(Value::as_str) {
                    Some(text) if kind == "text" => quoted(text),
                    Some(text) => format!("{} {}", plain(kind), quoted(text)),
                    None => plain(kind),
                }
            };
            shown += &format!(" [{}]", parts.iter().map(part).collect::<Vec<_>>().join(", "));
        }
        Some(Value::Object(object)) => shown += &format!(" {}", plain(&Value::Object(object.clone()).to_string())),
        Some(Value::Null) => shown += " null",
        _ => {}
    }
    for key in REASONING_KEYS {
        if let Some(text) = message.get(key).and_then(Value::as_str) {
            shown += &format!(" (thought {})", quoted(text));
        }
    }
    for call in message.get("tool_calls").and_then(Value::as_list).unwrap_or_default().iter().take(3) {
        let function = call.get("function").unwrap_or(call);
        let name = function.get("name").and_then(Value::as_str).unwrap_or("?");
        let arguments = match function.get("arguments") {
            Some(Value::Object(arguments)) => {
                let arguments =
                    arguments.iter().map(|(key, value)| format!("{}={}", plain(key), plain(&value.to_string())));
                arguments.collect::<Vec<_>>().join(", ")
            }
            Some(Value::String(text)) => quoted(text),
            _ => String::new(),
        };
        shown += &format!(" {name}({arguments})");
    }
    for (key, value) in message.iter().filter(|(key, value)| !has_form(key, value)) {
        shown += &format!(" ({key}={})", plain(&value.to_string()));
    }
    shown
}
