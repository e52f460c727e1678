//! Writes the conversation of a kind: the smallest one, and what each dimension adds to it.

use super::dims::{Dim, Kind, Universe};
use backchat_core::json::{Object, Value};

/// A moment of another year, month, day, weekday and hour than the usual clock.
const LATER: &str = "2027-11-23T21:30:00";

/// A context of a render, and the clock that it is rendered with, if that is not the usual one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conversation {
    /// Messages, tools and variables.
    pub context: Object,
    /// The clock.
    pub now: Option<String>,
}

impl Conversation {
    /// Its messages.
    pub(crate) fn messages(&self) -> &[Value] {
        self.context.get("messages").and_then(Value::as_list).unwrap_or_default()
    }
}

pub(crate) fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// The conversation of a kind.
pub(crate) fn conversation(kind: Kind, universe: &Universe) -> Conversation {
    let mut writer = Writer { kind, messages: Vec::new(), users: 0 };
    writer.messages();
    let messages = writer.messages;
    let mut context = Object::from_iter([("messages".to_owned(), Value::List(messages))]);
    if kind.has(Dim::Prompt) {
        context.insert("add_generation_prompt", true.into());
    }
    if kind.has(Dim::EmptyTools) {
        context.insert("tools", Value::List(Vec::new()));
    }
    if kind.has(Dim::Tools) {
        context.insert("tools", tools(kind));
    }
    if kind.has(Dim::Documents) {
        let text = || "zqdoc".into();
        let document = [("title", "zqtitle".into()), ("text", text()), ("content", text()), ("contents", text())];
        context.insert("documents", Value::List(vec![object(document)]));
    }
    for (name, value) in universe.settings_of(kind) {
        context.insert(name, value.clone());
    }
    Conversation { context, now: kind.has(Dim::Clock).then(|| LATER.to_owned()) }
}

/// The dimensions of a role's text.
struct Shapes {
    empty: Dim,
    spaces: Dim,
    lines: Dim,
    parts: Dim,
    two_parts: Dim,
}

const USER: Shapes = Shapes {
    empty: Dim::UserEmpty,
    spaces: Dim::UserSpaces,
    lines: Dim::UserLines,
    parts: Dim::UserParts,
    two_parts: Dim::UserTwoParts,
};
const SYSTEM: Shapes = Shapes {
    empty: Dim::SystemEmpty,
    spaces: Dim::SystemSpaces,
    lines: Dim::SystemLines,
    parts: Dim::SystemParts,
    two_parts: Dim::SystemTwoParts,
};
const ASSISTANT: Shapes = Shapes {
    empty: Dim::AssistantEmpty,
    spaces: Dim::AssistantSpaces,
    lines: Dim::AssistantLines,
    parts: Dim::AssistantParts,
    two_parts: Dim::AssistantTwoParts,
};
const TOOL: Shapes = Shapes {
    empty: Dim::ToolEmpty,
    spaces: Dim::ToolSpaces,
    lines: Dim::ToolLines,
    parts: Dim::ToolParts,
    two_parts: Dim::ToolTwoParts,
};

struct Writer {
    kind: Kind,
    messages: Vec<Value>,
    users: usize,
}

impl Writer {
    fn has(&self, dim: Dim) -> bool {
        self.kind.has(dim)
    }

    fn push(&mut self, role: &str, content: Value) {
        self.messages.push(object([("role", role.into()), ("content", content)]));
    }

    fn text(&self, shapes: &Shapes, text: String) -> Value {
        if self.has(shapes.empty) {
            return "".into();
        }
        let text = if self.has(shapes.lines) { format!("{text}\n\nzqline") } else { text };
        if self.has(shapes.spaces) {
            return format!(" \n{text}\n ").into();
        }
        if !self.has(shapes.parts) {
            return text.into();
        }
        let part = |text: String| object([("type", "text".into()), ("text", text.into())]);
        let mut parts = Vec::new();
        if shapes.parts == Dim::UserParts && self.has(Dim::UserImage) {
            parts.push(object([("type", "image".into())]));
        }
        parts.push(part(text));
        if self.has(shapes.two_parts) {
            parts.push(part("zqmore".to_owned()));
        }
        Value::List(parts)
    }

    fn messages(&mut self) {
        if self.has(Dim::System) {
            let content = self.text(&SYSTEM, "zqs".to_owned());
            self.push("system", content);
        }
        if self.has(Dim::Developer) {
            self.push("developer", "zqd".into());
        }
        let answers_first = self.has(Dim::AssistantFirst);
        if answers_first {
            self.turn();
        }
        if !self.has(Dim::NoUser) {
            self.user();
            if self.has(Dim::UserTwice) {
                self.user();
            }
        }
        if self.has(Dim::OtherRole) {
            self.push("narrator", "zqo".into());
        }
        if self.has(Dim::LateSystem) {
            if self.messages.is_empty() {
                self.push("other", "zqo".into());
            }
            self.push("system", "zql".into());
        }
        if self.has(Dim::Answer) && !answers_first {
            self.turn();
            if self.has(Dim::LaterUser) {
                self.user();
            }
        }
        if self.has(Dim::SecondAnswer) {
            self.answer(2, false);
        }
        if self.has(Dim::ThirdTurn) {
            self.user();
            self.answer(3, false);
        }
    }

    fn user(&mut self) {
        self.users += 1;
        let content = self.text(&USER, format!("zqu{}", self.users));
        self.push("user", content);
        if self.has(Dim::Names) {
            self.add_to_last("name", "zqn".into());
        }
    }

    fn add_to_last(&mut self, key: &str, value: Value) {
        if let Some(Value::Object(message)) = self.messages.last_mut() {
            message.insert(key, value);
        }
    }

    fn turn(&mut self) {
        self.answer(1, self.has(Dim::Call));
        if self.has(Dim::Result) {
            self.results();
            if self.has(Dim::AfterResult) {
                self.answer(9, false);
            }
        }
    }

    fn answer(&mut self, number: usize, has_call: bool) {
        let mut message = Object::from_iter([("role".to_owned(), "assistant".into())]);
        let mut text = format!("zqa{number}");
        if self.has(Dim::InlineThink) {
            text = format!("<think>\nzqi{number}\n</think>\n\n{text}");
        }
        self.add_reasoning(&mut message, number);
        if !has_call {
            message.insert("content", self.text(&ASSISTANT, text));
        } else if self.has(Dim::NullContent) {
            message.insert("content", Value::Null);
        } else if !self.has(Dim::MissingContent) {
            let content = if self.has(Dim::Beside) { self.text(&ASSISTANT, text) } else { "".into() };
            message.insert("content", content);
        }
        if has_call {
            let count = if self.has(Dim::SecondCall) { 2 } else { 1 };
            message.insert("tool_calls", Value::List((1..=count).map(|place| self.call(place)).collect()));
        }
        self.messages.push(Value::Object(message));
    }

    fn add_reasoning(&self, message: &mut Object, number: usize) {
        let keys =
            [(Dim::ReasoningContent, "reasoning_content"), (Dim::Thinking, "thinking"), (Dim::Reasoning, "reasoning")];
        for (dim, key) in keys {
            if self.has(dim) {
                message.insert(key, format!("zqr{number}").into());
            }
        }
        if self.has(Dim::EmptyReasoning) {
            let free = ["reasoning", "thinking", "reasoning_content"];
            let is_alone = !self.kind.has_any(&[Dim::ReasoningContent, Dim::Thinking, Dim::Reasoning]);
            let key = if is_alone {
                Some("reasoning_content")
            } else {
                free.into_iter().find(|key| !message.contains_key(key))
            };
            if let Some(key) = key {
                message.insert(key, "".into());
            }
        }
    }

    fn call(&self, place: usize) -> Value {
        let mut values: Vec<Value> = Vec::new();
        let nested = || object([("zqk", Value::List(vec!["zqc".into(), "zqd".into()]))]);
        for (dim, value) in [
            (Dim::NumberArgument, 3.into()),
            (Dim::BoolArgument, true.into()),
            (Dim::NestedArgument, nested()),
            (Dim::UnicodeArgument, "zqcé".into()),
            (Dim::SpecialArgument, "zqc <'&\">".into()),
        ] {
            if self.has(dim) {
                values.push(value);
            }
        }
        if values.is_empty() {
            values.push(format!("zqc{place}").into());
        }
        if self.has(Dim::TwoArguments) && values.len() < 2 {
            values.push("zqsecond".into());
        }
        if self.has(Dim::EmptyArguments) {
            values.clear();
        }
        let names = ["city", "unit", "days", "more", "last"];
        let arguments =
            Value::Object(names.into_iter().zip(values).map(|(name, value)| (name.to_owned(), value)).collect());
        let arguments = match self.has(Dim::TextArguments) {
            true => arguments.to_string().into(),
            false => arguments,
        };
        let name = if place == 1 { "get_weather" } else { "get_time" };
        let function = object([("name", name.into()), ("arguments", arguments)]);
        let mut call = match self.has(Dim::FlatCall) {
            true => function,
            false => object([("type", "function".into()), ("function", function)]),
        };
        if self.has(Dim::CallId)
            && let Value::Object(call) = &mut call
        {
            call.insert("id", format!("zqid0000{place}").into());
        }
        call
    }

    fn results(&mut self) {
        let count = if self.has(Dim::SecondResult) { 2 } else { 1 };
        for place in 1..=count {
            let text = format!("zqt{place}");
            let content = match self.has(Dim::ToolObject) {
                true => object([("temp", text.into())]),
                false => self.text(&TOOL, text),
            };
            self.push("tool", content);
            if self.has(Dim::CallId) {
                self.add_to_last("tool_call_id", format!("zqid0000{place}").into());
            }
            if self.has(Dim::ResultName) {
                self.add_to_last("name", "get_weather".into());
            }
        }
    }
}

fn tools(kind: Kind) -> Value {
    let tool = |name: &str, about: &str, is_second: bool| {
        let mut parameters = object([("type", "object".into())]);
        let mut properties = Object::from_iter([(
            "city".to_owned(),
            object([("type", "string".into()), ("description", "zqparam".into())]),
        )]);
        if kind.has(Dim::NestedTools) {
            let choices = Value::List(vec!["zqe1".into(), "zqe2".into()]);
            properties.insert("unit", object([("type", "string".into()), ("enum", choices)]));
            let inner = object([("x", object([("type", "number".into())]))]);
            let items = object([("type", "object".into()), ("properties", inner)]);
            properties.insert("list", object([("type", "array".into()), ("items", items)]));
        }
        if let Value::Object(parameters) = &mut parameters {
            parameters.insert("properties", Value::Object(properties));
            parameters.insert("required", Value::List(vec!["city".into()]));
        }
        let mut function = Object::from_iter([("name".to_owned(), name.into())]);
        if !(is_second && kind.has(Dim::ToolNoDescription)) {
            let end = if kind.has(Dim::UnicodeTools) { "é" } else { "" };
            function.insert("description", format!("{about}{end}").into());
        }
        if !(is_second && kind.has(Dim::ToolNoParameters)) {
            function.insert("parameters", parameters);
        }
        if kind.has(Dim::ToolExtra) {
            function.insert("strict", true.into());
            function.insert("return", object([("type", "string".into())]));
        }
        match kind.has(Dim::FlatTools) {
            true => Value::Object(function),
            false => object([("type", "function".into()), ("function", Value::Object(function))]),
        }
    };
    Value::List(vec![tool("get_weather", "zqtooldesc", false), tool("get_time", "zqtooltwo", true)])
}
