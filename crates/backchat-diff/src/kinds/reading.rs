//! Reads the kind of any conversation.

use super::conversation::Conversation;
use super::dims::{Dim, Kind, Universe};
use backchat_core::json::{self, Object, Value};
use backchat_core::python::space::strip;

/// Variables of a context that are no settings.
pub(crate) const STANDARD: [&str; 9] = [
    "messages",
    "tools",
    "documents",
    "add_generation_prompt",
    "bos_token",
    "eos_token",
    "unk_token",
    "pad_token",
    "continue_final_message",
];

const ROLES: [&str; 5] = ["system", "developer", "user", "assistant", "tool"];

/// The kind of a conversation, closed. A setting that is new is added to the universe.
pub(crate) fn kind_of(conversation: &Conversation, universe: &mut Universe) -> Kind {
    let context = &conversation.context;
    let messages: Vec<&Object> = conversation.messages().iter().filter_map(Value::as_object).collect();
    let mut reader = Reader { kind: Kind::NONE, roles: messages.iter().map(|message| role(message)).collect() };
    reader.messages(&messages);
    reader.order();
    let mut kind = reader.kind;
    let mut set = |dim: Dim, holds: bool| {
        if holds {
            kind = kind.with(dim);
        }
    };
    set(Dim::Prompt, context.get("add_generation_prompt").is_some_and(Value::is_truthy));
    set(Dim::Documents, context.get("documents").is_some_and(Value::is_truthy));
    set(Dim::Clock, conversation.now.as_deref().is_some_and(|now| now.get(..10) != universe.clock.get(..10)));
    kind = kind.union(tools(context.get("tools")));
    for (name, value) in context {
        if !STANDARD.contains(&name) && !value.is_null() {
            kind = universe.setting(name, value).map_or(kind, |bit| kind.with_bit(bit));
        }
    }
    kind.closed()
}

fn role(message: &Object) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

/// Whether a key holds something.
fn has(object: &Object, key: &str) -> bool {
    object.get(key).is_some_and(Value::is_truthy)
}

struct Reader<'m> {
    kind: Kind,
    roles: Vec<&'m str>,
}

impl<'m> Reader<'m> {
    fn set(&mut self, dim: Dim, holds: bool) {
        if holds {
            self.kind = self.kind.with(dim);
        }
    }

    fn role(&self, at: usize) -> &'m str {
        self.roles.get(at).copied().unwrap_or_default()
    }

    fn before(&self, at: usize) -> &'m str {
        at.checked_sub(1).map_or("", |before| self.role(before))
    }

    fn messages(&mut self, messages: &[&Object]) {
        let (mut has_answered, mut later) = (false, 0);
        for (at, message) in messages.iter().enumerate() {
            let before = self.before(at);
            match self.role(at) {
                "system" if at > 0 => self.set(Dim::LateSystem, true),
                "system" => self.set(Dim::System, true),
                "developer" => self.set(Dim::Developer, true),
                "user" => {
                    self.set(Dim::UserTwice, before == "user");
                    self.set(Dim::LaterUser, has_answered);
                    if has_answered && self.follows_an_answer(at) {
                        later += 1;
                    }
                    self.set(Dim::Names, has(message, "name"));
                }
                "assistant" => {
                    self.set(Dim::Answer, true);
                    self.set(Dim::SecondAnswer, later > 0);
                    self.set(Dim::ThirdTurn, later > 1);
                    has_answered = true;
                    self.set(Dim::AfterResult, before == "tool");
                    self.answer(message);
                }
                "tool" => {
                    self.set(Dim::Result, true);
                    self.set(Dim::SecondResult, before == "tool");
                    self.set(Dim::ResultName, has(message, "name"));
                    self.set(Dim::ToolObject, matches!(message.get("content"), Some(Value::Object(_))));
                }
                role => self.set(Dim::OtherRole, !ROLES.contains(&role)),
            }
            self.content(message, at);
        }
    }

    /// Whether an assistant message is between a user message and the one before it.
    fn follows_an_answer(&self, at: usize) -> bool {
        let roles = self.roles.get(..at).unwrap_or_default();
        let from = roles.iter().rposition(|role| *role == "user").unwrap_or(0);
        roles.iter().skip(from).any(|role| *role == "assistant")
    }

    fn answer(&mut self, message: &Object) {
        let keys =
            [("reasoning_content", Dim::ReasoningContent), ("thinking", Dim::Thinking), ("reasoning", Dim::Reasoning)];
        for (key, dim) in keys {
            self.set(dim, has(message, key));
            self.set(Dim::EmptyReasoning, message.get(key).and_then(Value::as_str) == Some(""));
        }
        let content = message.get("content");
        let text = content.and_then(Value::as_str);
        self.set(Dim::InlineThink, text.is_some_and(|text| text.contains("</think>")));
        let calls = message.get("tool_calls").and_then(Value::as_list).unwrap_or_default();
        if calls.is_empty() {
            return;
        }
        self.set(Dim::Call, true);
        self.set(Dim::SecondCall, calls.len() > 1);
        match content {
            Some(content) if content.is_truthy() => self.set(Dim::Beside, true),
            None => self.set(Dim::MissingContent, true),
            Some(content) => self.set(Dim::NullContent, content.is_null()),
        }
        for call in calls.iter().filter_map(Value::as_object) {
            let function = call.get("function").and_then(Value::as_object);
            self.set(Dim::FlatCall, function.is_none());
            self.set(Dim::CallId, has(call, "id"));
            self.arguments(function.unwrap_or(call).get("arguments"));
        }
    }

    fn arguments(&mut self, arguments: Option<&Value>) {
        let parsed = match arguments {
            Some(Value::String(text)) => {
                self.set(Dim::TextArguments, true);
                json::read(text).ok()
            }
            _ => None,
        };
        let Some(Value::Object(arguments)) = parsed.as_ref().or(arguments) else { return };
        self.set(Dim::EmptyArguments, arguments.is_empty());
        self.set(Dim::TwoArguments, arguments.len() > 1);
        for value in arguments.values() {
            match value {
                Value::Null | Value::Bool(_) => self.set(Dim::BoolArgument, true),
                Value::Number(_) => self.set(Dim::NumberArgument, true),
                Value::List(_) | Value::Object(_) => self.set(Dim::NestedArgument, true),
                Value::String(_) => {}
            }
            texts(value, &mut |text| {
                self.set(Dim::UnicodeArgument, !text.is_ascii());
                self.set(Dim::SpecialArgument, text.contains(['<', '>', '&', '\'', '"']));
            });
        }
    }

    fn content(&mut self, message: &Object, at: usize) {
        let [empty, spaces, lines, parts, two_parts] = match self.role(at) {
            "user" => [Dim::UserEmpty, Dim::UserSpaces, Dim::UserLines, Dim::UserParts, Dim::UserTwoParts],
            "system" if at == 0 => {
                [Dim::SystemEmpty, Dim::SystemSpaces, Dim::SystemLines, Dim::SystemParts, Dim::SystemTwoParts]
            }
            "assistant" => [
                Dim::AssistantEmpty,
                Dim::AssistantSpaces,
                Dim::AssistantLines,
                Dim::AssistantParts,
                Dim::AssistantTwoParts,
            ],
            "tool" => [Dim::ToolEmpty, Dim::ToolSpaces, Dim::ToolLines, Dim::ToolParts, Dim::ToolTwoParts],
            _ => return,
        };
        match message.get("content") {
            Some(Value::String(text)) => {
                self.set(empty, text.is_empty() && !has(message, "tool_calls"));
                let inner = strip(text);
                self.set(spaces, inner.len() != text.len());
                let has_lines = inner.contains('\n') && !text.contains("</think>");
                self.set(lines, has_lines || text.contains("\n\nzqline"));
            }
            Some(Value::List(items)) => {
                let of_type = |wanted: &str| {
                    items.iter().filter(|part| part.get("type").and_then(Value::as_str) == Some(wanted)).count()
                };
                self.set(parts, true);
                self.set(two_parts, of_type("text") > 1);
                self.set(Dim::UserImage, self.role(at) == "user" && of_type("image") > 0);
            }
            _ => {}
        }
    }

    fn order(&mut self) {
        let first = self.roles.iter().find(|role| !matches!(**role, "system" | "developer"));
        let has_user = self.roles.contains(&"user");
        self.set(Dim::AssistantFirst, first == Some(&"assistant") && has_user);
        self.set(Dim::NoUser, !has_user);
    }
}

fn tools(given: Option<&Value>) -> Kind {
    let mut kind = Kind::NONE;
    let mut set = |dim: Dim, holds: bool| {
        if holds {
            kind = kind.with(dim);
        }
    };
    let tools = given.and_then(Value::as_list);
    set(Dim::EmptyTools, tools.is_some_and(<[Value]>::is_empty));
    for tool in tools.unwrap_or_default() {
        set(Dim::Tools, true);
        let function = tool.get("function").filter(|function| function.as_object().is_some());
        set(Dim::FlatTools, function.is_none());
        let Some(function) = function.unwrap_or(tool).as_object() else { continue };
        texts(tool, &mut |text| set(Dim::UnicodeTools, !text.is_ascii()));
        set(Dim::ToolNoParameters, !has(function, "parameters"));
        set(Dim::ToolNoDescription, !has(function, "description"));
        let usual = ["name", "description", "parameters", "type"];
        set(Dim::ToolExtra, function.keys().any(|key| !usual.contains(&key)));
        let properties = function.get("parameters").and_then(|parameters| parameters.get("properties"));
        for property in properties.and_then(Value::as_object).into_iter().flat_map(Object::values) {
            let is_deep =
                property.get("type").and_then(Value::as_str).is_some_and(|kind| matches!(kind, "array" | "object"));
            set(Dim::NestedTools, is_deep || property.get("enum").is_some());
        }
    }
    kind
}

/// Visits the texts within a value, keys aside.
fn texts(value: &Value, visit: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => visit(text),
        Value::List(items) => items.iter().for_each(|item| texts(item, visit)),
        Value::Object(entries) => entries.values().for_each(|value| texts(value, visit)),
        _ => {}
    }
}

/// Whether a client could send this conversation. Differences elsewhere do not count.
pub(crate) fn is_well_formed(conversation: &Conversation) -> bool {
    let context = &conversation.context;
    let list = |key: &str| match context.get(key) {
        None | Some(Value::Null) => Some(&[][..]),
        Some(Value::List(items)) => Some(items.as_slice()),
        Some(_) => None,
    };
    let is_flag = matches!(context.get("add_generation_prompt"), None | Some(Value::Bool(_)));
    let messages = conversation.messages();
    !messages.is_empty()
        && messages.iter().all(is_message)
        && list("tools").is_some_and(|tools| tools.iter().all(is_tool))
        && list("documents").is_some_and(|documents| documents.iter().all(|one| one.as_object().is_some()))
        && is_flag
}

fn is_text(value: Option<&Value>) -> bool {
    matches!(value, None | Some(Value::Null | Value::String(_)))
}

fn is_message(message: &Value) -> bool {
    let Some(message) = message.as_object() else { return false };
    let Some(role) = message.get("role").and_then(Value::as_str) else { return false };
    let content = match message.get("content") {
        Some(Value::List(parts)) => parts.iter().all(|part| part.get("type").and_then(Value::as_str).is_some()),
        Some(Value::Object(_)) => role == "tool",
        other => is_text(other),
    };
    let calls = match message.get("tool_calls") {
        None | Some(Value::Null) => true,
        Some(Value::List(calls)) => calls.iter().all(is_call),
        Some(_) => false,
    };
    let texts = ["reasoning_content", "thinking", "reasoning", "name", "tool_call_id"];
    content && calls && texts.iter().all(|key| is_text(message.get(key)))
}

fn is_call(call: &Value) -> bool {
    let function = call.get("function").unwrap_or(call);
    let is_named = function.get("name").and_then(Value::as_str).is_some();
    is_named && matches!(function.get("arguments"), None | Some(Value::Object(_) | Value::String(_)))
}

fn is_tool(tool: &Value) -> bool {
    let function = tool.get("function").unwrap_or(tool);
    let is_named = function.get("name").and_then(Value::as_str).is_some();
    let parameters = function.get("parameters");
    is_named
        && parameters.is_none_or(|parameters| parameters.as_object().is_some() || !parameters.is_truthy())
        && is_text(function.get("description"))
}

#[cfg(test)]
mod tests {
    use super::super::conversation::conversation;
    use super::*;

    #[test]
    fn the_conversation_of_a_kind_has_that_kind() {
        let mut universe = Universe::new(vec![("mode".to_owned(), "zqv".into())], "2026-01-01T00:00:00");
        for dim in Dim::ALL {
            let kind = Kind::of(&[*dim]).closed();
            if universe.is_possible(kind) {
                let written = conversation(kind, &universe);
                assert!(is_well_formed(&written), "{dim:?}");
                let read = kind_of(&written, &mut universe);
                assert_eq!(universe.names(read), universe.names(kind), "{dim:?}");
            }
        }
        let kind = universe.settings().fold(Kind::NONE, |kind, (bit, ..)| kind.with_bit(bit));
        assert_eq!(kind_of(&conversation(kind, &universe), &mut universe), kind);
    }

    #[test]
    fn what_no_client_could_send_is_not_well_formed() {
        for context in [
            r#"{"messages": []}"#,
            r#"{"messages": [{"content": "x"}]}"#,
            r#"{"messages": [{"role": "user", "content": 1}]}"#,
            r#"{"messages": [{"role": "user", "content": {"a": 1}}]}"#,
            r#"{"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": 1}}]}]}"#,
            r#"{"messages": [{"role": "user", "content": "x"}], "tools": [{}]}"#,
            r#"{"messages": [{"role": "user", "content": "x"}], "add_generation_prompt": 1}"#,
        ] {
            let context = json::read(context).unwrap().as_object().unwrap().clone();
            assert!(!is_well_formed(&Conversation { context, now: None }));
        }
    }
}
