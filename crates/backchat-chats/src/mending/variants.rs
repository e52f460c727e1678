//! Variants: controls said in the way that is a problem. A general repair renders them as the controls.

use backchat_core::json::Value;
use backchat_probe::doctor::agents::said::without;
use backchat_probe::doctor::agents::{Base, Problem};
use backchat_probe::doctor::messages::with;
use backchat_probe::doctor::probe::Chat;
use backchat_probe::probe::{role_of, text_part};

/// A conversation that says the same and shows a problem; `None` if there is no such.
pub(super) fn variant(problem: Problem, shape: &str, chat: &Chat, base: &Base<'_, '_>) -> Option<Chat> {
    let changed = |message: &Value| of_message(problem, shape, message, base).unwrap_or_else(|| message.clone());
    let messages: Vec<Value> = chat.messages.iter().map(changed).collect();
    (messages != chat.messages).then(|| Chat { messages, ..chat.clone() })
}

fn of_message(problem: Problem, shape: &str, message: &Value, base: &Base<'_, '_>) -> Option<Value> {
    let role = role_of(message)?;
    let text = message.get("content").and_then(Value::as_str);
    let has_calls = message.get("tool_calls").is_some();
    let is_empty = text == Some("");
    let set = |key: &'static str, value: Value| Some(with(message.clone(), [(key, value)]));
    let in_part = || set("content", Value::List(vec![text_part(text?)]));
    let absent =
        || if shape == "missing" { Some(without(message.clone(), "content")) } else { set("content", Value::Null) };
    match problem {
        Problem::Developer if role == "system" => set("role", "developer".into()),
        Problem::Parts if role == shape => in_part(),
        Problem::ResultParts if role == "tool" => in_part(),
        Problem::NullContent if has_calls && is_empty => absent(),
        Problem::NullResult if role == "tool" && is_empty => set("content", Value::Null),
        Problem::ReasoningOnly if role == "assistant" && !has_calls && is_empty => absent(),
        Problem::EmptyCalls if role == "assistant" && !has_calls => match shape {
            "list" => set("tool_calls", Value::List(Vec::new())),
            _ => set("tool_calls", Value::Null),
        },
        Problem::ReasoningKey => {
            let read = base.reasoning.first()?;
            let thought = message.get(read)?.clone();
            Some(with(without(message.clone(), read), [(shape, thought)]))
        }
        _ => None,
    }
}
