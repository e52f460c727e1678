//! Variants: controls said in the way that is a problem. A general repair renders them as the controls.

use backchat_core::json::Value;
use backchat_probe::doctor::agents::said::{in_part, system, user, without};
use backchat_probe::doctor::agents::{Base, Problem, SystemFrame};
use backchat_probe::doctor::messages::with;
use backchat_probe::doctor::probe::Chat;
use backchat_probe::probe::{needle, role_of, text_part};

/// A conversation that says the same and shows a problem; `None` if there is no such.
pub(super) fn variant(problem: Problem, shape: &str, chat: &Chat, base: &Base<'_, '_>) -> Option<Chat> {
    let changed = |message: &Value| of_message(problem, shape, message, base).unwrap_or_else(|| message.clone());
    let messages: Vec<Value> = chat.messages.iter().map(changed).collect();
    (messages != chat.messages).then(|| Chat { messages, ..chat.clone() })
}

/// A conversation with a late system message, in other forms of content that the template takes for the first one: a
/// branch that a repair adds takes what the template's own does.
pub(super) fn late_systems(chat: &Chat, base: &Base<'_, '_>) -> Vec<Chat> {
    let padded = |message: Value| {
        let text = message.get("content").and_then(Value::as_str).map(|text| format!(" \n{text}\n "));
        with(message, [("content", text.into())])
    };
    let changes: [fn(Value) -> Value; 2] = [in_part, padded];
    let usual = base.prompted(vec![system(needle::SYSTEM), user(needle::USER)]);
    let is_taken =
        |change: &fn(Value) -> Value| base.prompted(vec![change(system(needle::SYSTEM)), user(needle::USER)]) == usual;
    let has_turn = matches!(base.frames.system, SystemFrame::Turn { .. });
    let taken = changes.into_iter().filter(|change| has_turn && !base.in_parts && is_taken(change));
    let changed = |change: fn(Value) -> Value| {
        let messages = chat.messages.iter().cloned().map(move |message| match role_of(&message) {
            Some("system") => change(message),
            _ => message,
        });
        Chat { messages: messages.collect(), ..chat.clone() }
    };
    taken.map(changed).collect()
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
