//! Conversations with another text before the answer: what a user, a system message or a tool says may decide how a turn is
//! written.

use super::{Likeness, Made, OtherTools, Suggested, is_name, quoted};
use crate::probe::{Changes, Message};
use backchat_core::json::Value;

/// A text before an answer: that of the message at this place, or the name of the tool whose result it is.
#[derive(Clone, Copy)]
pub(super) enum Earlier {
    Said(usize),
    Tool(usize),
}

/// The texts of a history, the last message's first.
pub(super) fn earlier_texts(history: &[Message]) -> Vec<(Earlier, &str)> {
    let mut found = Vec::new();
    for (at, message) in history.iter().enumerate().rev() {
        match message {
            Message::System(text) | Message::User(text) => found.push((Earlier::Said(at), text.as_str())),
            Message::Tool { name, content, .. } => {
                found.extend([(Earlier::Said(at), content.as_str()), (Earlier::Tool(at), name.as_str())]);
            }
            Message::Assistant(answer) => found.extend(answer.content.as_deref().map(|text| (Earlier::Said(at), text))),
            // In another role it says the same.
            Message::Changed(_, Changes(changes)) if changes.contains_key("content") => {}
            Message::Changed(..) => found.extend(message.said().map(|text| (Earlier::Said(at), text))),
        }
    }
    found
}

impl Earlier {
    /// The history with another text here. A tool has its other name in its call, too.
    fn replaced(self, history: &[Message], text: &str) -> Vec<Message> {
        let mut history = history.to_vec();
        match self {
            Self::Said(at) => history.get_mut(at).into_iter().for_each(|message| message.say(text)),
            Self::Tool(at) => {
                let Some(Message::Tool { id, name, .. }) = history.get_mut(at) else { return history };
                text.clone_into(name);
                let id = id.clone();
                let calls = history.iter_mut().filter_map(|message| match message {
                    Message::Assistant(answer) => Some(&mut answer.calls),
                    _ => None,
                });
                calls.flatten().filter(|call| call.id == id).for_each(|call| text.clone_into(&mut call.name));
            }
        }
        history
    }

    fn words(self, history: &[Message]) -> String {
        let (Self::Said(at) | Self::Tool(at)) = self;
        let words = match (self, history.get(at)) {
            (Self::Tool(_), _) => "a result of the tool",
            (_, Some(Message::System(_))) => "the system message",
            (_, Some(Message::Tool { .. })) => "the result",
            (_, Some(Message::Assistant(_))) => "the earlier answer",
            (_, Some(Message::Changed(_, Changes(changes)))) => {
                let role = changes.get("role").and_then(Value::as_str);
                return role.map_or_else(
                    || "the message".to_owned(),
                    |role| format!("the message of the role {}", quoted(role)),
                );
            }
            _ => "the user's message",
        };
        words.to_owned()
    }
}

/// What a system message says that a condition asks for.
const SYSTEM: &str = "Answer in one line.";

impl Made<'_> {
    /// A system message, if a condition asks whether the first message is one.
    pub(super) fn by_role(&mut self, first: &Value, role: &Value) {
        let is_first = matches!(self.history.first(), Some(Message::User(_))) && first.as_str() == Some("user");
        if is_first && role.as_str() == Some("system") {
            let system = Message::System(SYSTEM.to_owned());
            let history = [&[system], self.history].concat();
            self.push(Suggested::after(self.answer.clone(), history, "a system message"));
        }
    }

    /// Another text there.
    pub(super) fn before(&mut self, place: Earlier, text: &str) {
        let tools = matches!(place, Earlier::Tool(_)).then(|| OtherTools::Also(text.to_owned()));
        if tools.is_some() && !is_name(text) {
            return;
        }
        self.push(Suggested {
            history: Some(place.replaced(self.history, text)),
            likeness: Likeness::Earlier,
            tools,
            ..Suggested::of(self.answer.clone(), format!("{} {}", place.words(self.history), quoted(text)))
        });
    }
}
