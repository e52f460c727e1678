//! Checks one rendered chat: reads it back to its messages and compares them with the expectation.

use super::fixture::{ActualChat, ChatCase};
use backchat_chats::chats::Unrenderer;
use backchat_core::diagnostic::{Diagnostic, Severity};
use backchat_core::json::Value;
use backchat_diff::messages::differences;

use std::sync::Arc;

use backchat_chat::ChatTemplate;

/// The help for messages and tools that differ from the expected ones.
const ACCEPT: &str = "correct the case, or accept the messages with `--bless`";

/// The help for a text that is not a render of the chat template.
const EXACT: &str = "check that the text is exact to the byte and that it was rendered with this chat template";

/// Checks a case of a rendered chat. `text` is that of its file, for the positions of findings. Without a result the
/// text is not a render of the template.
pub(super) fn check_chat(
    case: &ChatCase,
    text: &str,
    unrenderer: &Unrenderer<Arc<ChatTemplate>>,
) -> (Vec<Diagnostic>, Option<ActualChat>) {
    let mut found = Vec::new();
    let mut note = |severity, id, message: String, span, help: Option<&str>| {
        let severity = if case.allow.iter().any(|allowed| allowed == id) { Severity::Note } else { severity };
        let finding = Diagnostic::new(severity, id, message).at(case.place(text, span));
        found.push(Diagnostic { help: help.map(str::to_owned), ..finding });
    };
    let chat = match unrenderer.unrender(&case.chat.value) {
        Ok(chat) => chat,
        Err(error) => {
            note(Severity::Error, "check-chat", error.to_string(), case.chat.span.clone(), Some(EXACT));
            return (found, None);
        }
    };
    if let Some(at) = chat.differs_at {
        let message = format!("the messages that were read render to a different text from character {at} on");
        note(Severity::Error, "check-chat", message, case.chat.span.clone(), Some(EXACT));
    }
    match &case.messages {
        None => {
            let message = "the case does not say which messages its chat was rendered from".to_owned();
            let help = "write them with `backchat check --bless=new`, and review them";
            note(Severity::Error, "check-unsaid", message, case.span.clone(), Some(help));
        }
        Some(expected) => {
            let wanted = Value::List(expected.value.clone());
            let all = differences(&wanted, &Value::List(chat.messages.clone()));
            if let Some(first) = all.first() {
                let more = if all.len() > 1 { format!(" (and {} more)", all.len() - 1) } else { String::new() };
                let message = format!("the messages differ: {first}{more}");
                note(Severity::Error, "check-messages", message, expected.span.clone(), Some(ACCEPT));
            }
        }
    }
    if let Some(expected) = &case.tools {
        let read = chat.tools.clone().unwrap_or(Value::Null);
        if let Some(first) = differences(&expected.value, &read).first() {
            let message = format!("the tools differ: {first}");
            note(Severity::Error, "check-tools", message, expected.span.clone(), Some(ACCEPT));
        }
    }
    for ambiguity in &chat.ambiguous {
        let message = format!("messages[{}] is ambiguous: {}", ambiguity.message, ambiguity.reason);
        note(Severity::Note, "check-ambiguous", message, case.chat.span.clone(), None);
    }
    (found, Some(ActualChat { messages: chat.messages, tools: chat.tools }))
}
