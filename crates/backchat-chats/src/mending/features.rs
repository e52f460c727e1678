//! Which problems a conversation shows, by its messages alone.

use backchat_core::json::Value;
use backchat_core::push_new;
use backchat_probe::doctor::agents::{Base, Problem};
use backchat_probe::doctor::probe::Chat;
use backchat_probe::probe::{REASONING_KEYS, role_of};

/// The roles whose lists the conversations of agents ask about.
const READ: [&str; 3] = ["system", "user", "assistant"];

/// The length of ids that every template takes.
const USUAL_ID: usize = 9;

/// The problems whose repair may change the render of a conversation. `lists` are the roles of whose content the template
/// reads no list.
pub(super) fn shown(chat: &Chat, base: &Base<'_, '_>, lists: &[&str]) -> Vec<Problem> {
    let mut found = Vec::new();
    let mut note = |problem, is_shown: bool| {
        if is_shown {
            push_new(&mut found, problem);
        }
    };
    let roles: Vec<&str> = chat.messages.iter().filter_map(role_of).collect();
    let turns: Vec<&str> = roles.iter().copied().filter(|role| *role != "system").collect();
    let repeats = |pair: &[&str]| matches!(pair, [one, other] if one == other && matches!(*one, "user" | "assistant"));
    note(Problem::LateSystem, roles.iter().skip(1).any(|role| *role == "system"));
    note(Problem::Developer, roles.contains(&"developer"));
    note(Problem::NoUser, !roles.contains(&"user"));
    note(Problem::Alternation, turns.first() == Some(&"assistant") || turns.windows(2).any(repeats));
    note(Problem::UserAfterResult, roles.windows(2).any(|pair| pair == ["tool", "user"]));
    note(Problem::Prefix, roles.iter().rev().skip(1).any(|role| *role == "assistant"));
    note(Problem::GenerationPrompt, chat.prompt);
    note(Problem::Stop, roles.last() == Some(&"assistant"));
    for message in &chat.messages {
        let is_read = role_of(message).is_some_and(|role| READ.contains(&role) && !lists.contains(&role));
        note(Problem::Parts, !is_read && is_list(message) && !base.in_parts && role_of(message) != Some("tool"));
        of_message(message, base, &mut note);
    }
    of_tools(chat.variables.get("tools"), &mut note);
    found
}

/// The words of a conversation that its render should show. What is said beside calls is often dropped.
pub(super) fn needles(chat: &Chat, base: &Base<'_, '_>) -> Vec<String> {
    let is_shown = |message: &&Value| match role_of(message) {
        Some("system" | "developer") => base.system,
        Some("assistant") => base.chat && message.get("tool_calls").is_none(),
        Some("tool") => base.calls.as_ref().is_some_and(|calls| calls.results),
        role => role == Some("user"),
    };
    let text = |message: &Value| {
        let content = message.get("content")?;
        let part = content.as_list().and_then(|parts| parts.first()?.get("text"));
        part.unwrap_or(content).as_str().map(str::to_owned)
    };
    let is_word = |text: &String| text.starts_with("Qz") && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    chat.messages.iter().filter(is_shown).filter_map(text).filter(is_word).collect()
}

fn is_list(message: &Value) -> bool {
    matches!(message.get("content"), Some(Value::List(_)))
}

fn of_message(message: &Value, base: &Base<'_, '_>, note: &mut impl FnMut(Problem, bool)) {
    let content = message.get("content").unwrap_or(&Value::Null);
    let is_null = matches!(content, Value::Null);
    if role_of(message) == Some("tool") {
        note(Problem::ResultParts, is_list(message) && !base.in_parts);
        note(Problem::NullResult, is_null);
        note(Problem::Results, message.get("name").is_none());
    } else {
        note(Problem::NullContent, is_null);
        note(Problem::ReasoningOnly, is_null);
    }
    note(Problem::Text, base.in_parts && matches!(content, Value::String(_)));
    let calls = message.get("tool_calls");
    let listed = calls.and_then(Value::as_list).unwrap_or_default();
    note(Problem::EmptyCalls, calls.is_some() && listed.is_empty());
    for call in listed {
        let arguments = call.get("function").and_then(|function| function.get("arguments"));
        let text = arguments.and_then(Value::as_str);
        let takes_text = base.calls.as_ref().is_some_and(|calls| calls.as_text);
        note(Problem::ArgsText, text.is_some_and(|text| !takes_text || text.is_empty()));
        note(Problem::ArgsObject, takes_text && matches!(arguments, Some(Value::Object(_))));
        let id = call.get("id").and_then(Value::as_str).unwrap_or_default();
        note(Problem::CallKeys, call.get("type").is_none() || id.len() != USUAL_ID);
    }
    let read = base.reasoning.first();
    let is_other = |key: &&&str| Some(*key) != read && message.get(key).is_some_and(Value::is_truthy);
    note(Problem::ReasoningKey, REASONING_KEYS.iter().find(is_other).is_some());
}

fn of_tools(tools: Option<&Value>, note: &mut impl FnMut(Problem, bool)) {
    let Some(tools) = tools.and_then(Value::as_list) else { return };
    let is_unusual = |tool: &Value| {
        let has = |key| tool.get("function").unwrap_or(tool).get(key).is_some();
        let text = tool.to_string();
        !has("description") || !has("parameters") || text.contains("$ref") || text.contains("anyOf")
    };
    note(Problem::Tools, tools.is_empty() || tools.iter().any(is_unusual));
}
