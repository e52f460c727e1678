//! Conversations to render, and the forms in which chat templates accept them.

use backchat_core::json::{Object, Value};

/// The system message that a request adds.
pub(crate) const SYSTEM: &str = "Qzsystemq";

/// What makes an id longer than the conversation's own.
const LONGER: &str = "Qzlongerq0000000";

/// One message of a conversation, apart from how a chat template wants it written.
#[derive(Clone, Debug)]
pub enum Message {
    System(String),
    User(String),
    Assistant(Answer),
    Tool { id: String, name: String, content: String },
}

/// The answer of an assistant.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub content: Option<String>,
    pub reasoning: Option<String>,
    pub calls: Vec<Call>,
}

/// One tool call.
#[derive(Clone, Debug)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub arguments: Object,
}

impl Answer {
    pub fn content(text: &str) -> Self {
        Self { content: Some(text.to_owned()), ..Self::default() }
    }

    pub fn calls(calls: Vec<Call>) -> Self {
        Self { calls, ..Self::default() }
    }

    pub fn with_content(mut self, text: &str) -> Self {
        self.content = Some(text.to_owned());
        self
    }

    pub fn with_reasoning(mut self, text: &str) -> Self {
        self.reasoning = Some(text.to_owned());
        self
    }
}

/// How reasoning is handed to a chat template.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum ReasoningInput {
    /// Under a key of the message.
    Key(String),
    /// As a block of a content list, of this `type` and under this key.
    Block { kind: String, key: String },
}

/// The usual names of the key, or the kind of block, that holds a model's reasoning.
const REASONING_WORDS: [&str; 4] = ["reason", "think", "thought", "analysis"];

/// Whether a name, or a mark, says that it is about reasoning.
pub(crate) fn speaks_of_reasoning(name: &str) -> bool {
    REASONING_WORDS.iter().any(|word| name.to_ascii_lowercase().contains(word))
}

impl ReasoningInput {
    /// Whether its name says that it is reasoning.
    pub fn is_named_for_reasoning(&self) -> bool {
        let (Self::Key(name) | Self::Block { kind: name, .. }) = self;
        speaks_of_reasoning(name)
    }

    /// The same with a key that no template reads.
    pub fn unread(&self) -> Self {
        let key = "qzunread".to_owned();
        match self {
            Self::Key(_) => Self::Key(key),
            Self::Block { kind, .. } => Self::Block { kind: kind.clone(), key },
        }
    }
}

/// Ends a part of a text that is handed over in parts, whatever the request shape.
pub(crate) const PART_BREAK: char = '\u{1e}';

/// One way of writing a conversation down; templates refuse some, or read only some.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestShape {
    /// Content as a list of text parts instead of a string.
    pub content_parts: bool,
    /// Arguments as the text of a JSON object instead of the object.
    pub arguments_text: bool,
    pub absent: Absent,
    /// Tools as bare functions instead of wrapped ones.
    pub bare_tools: bool,
    /// Which tools are offered.
    pub offer: Offer,
    /// A system message first, even if the conversation has none.
    pub system: bool,
    /// Ids longer than those of the conversation.
    pub long_ids: bool,
}

/// The tools that a request offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Offer {
    /// Those that the prober offers or, if it offers none of its own, those that the conversation calls.
    Usual,
    /// The same, and one that nobody calls if there would be none: some templates require it.
    Always,
    /// Those that the conversation calls as well: some templates refuse a call of any other.
    Called,
    /// None, whatever is called: some templates refuse tools.
    Never,
}

/// The form of content that an answer does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Absent {
    Empty,
    Null,
    Missing,
}

impl RequestShape {
    /// The form that most templates accept.
    pub const USUAL: RequestShape = RequestShape {
        content_parts: false,
        arguments_text: false,
        absent: Absent::Empty,
        bare_tools: false,
        offer: Offer::Usual,
        system: false,
        long_ids: false,
    };

    /// Every form of messages and tools that this request may have, the usual ones first.
    pub fn forms(self) -> impl Iterator<Item = RequestShape> {
        [false, true].into_iter().flat_map(move |bare_tools| {
            [false, true].into_iter().flat_map(move |content_parts| {
                [Absent::Empty, Absent::Null, Absent::Missing].into_iter().flat_map(move |absent| {
                    [false, true].into_iter().map(move |arguments_text| RequestShape {
                        content_parts,
                        arguments_text,
                        absent,
                        bare_tools,
                        ..self
                    })
                })
            })
        })
    }

    /// Requests that say something else besides, for templates that refuse this one in every form: other tools, a system
    /// message, other ids, and two of these.
    pub fn remedies(self) -> Vec<RequestShape> {
        let offers = [Offer::Called, Offer::Never, Offer::Always].map(|offer| RequestShape { offer, ..self });
        let mut single: Vec<RequestShape> = offers.to_vec();
        single.push(RequestShape { system: true, ..self });
        single.push(RequestShape { long_ids: true, ..self });
        let with_system = offers.map(|shape| RequestShape { system: true, ..shape });
        let with_ids = [offers[0], offers[1], RequestShape { system: true, ..self }];
        let mut all = single;
        all.extend(with_system);
        all.extend(with_ids.map(|shape| RequestShape { long_ids: true, ..shape }));
        let mut known = vec![self];
        all.retain(|shape| {
            let is_new = !known.contains(shape);
            known.push(*shape);
            is_new
        });
        all
    }

    /// This request in every form, and then its remedies in every form.
    pub fn ladder(self) -> impl Iterator<Item = RequestShape> {
        std::iter::once(self).chain(self.remedies()).flat_map(RequestShape::forms)
    }

    /// In words, for the report.
    pub fn describe(&self) -> String {
        let mut words = vec![if self.arguments_text { "arguments as JSON text" } else { "arguments as an object" }];
        if self.content_parts {
            words.push("content as a list of parts");
        }
        match self.absent {
            Absent::Empty => {}
            Absent::Null => words.push("absent content as null"),
            Absent::Missing => words.push("absent content left out"),
        }
        if self.bare_tools {
            words.push("tools without the function wrapper");
        }
        match self.offer {
            Offer::Usual => {}
            Offer::Always => words.push("a tool offered in every request"),
            Offer::Called => words.push("every called tool offered"),
            Offer::Never => words.push("no tools offered"),
        }
        if self.system {
            words.push("a system message first");
        }
        if self.long_ids {
            words.push("long call ids");
        }
        words.join(", ")
    }

    /// The messages as the template's `messages` variable.
    pub fn messages(&self, messages: &[Message], reasoning_input: Option<&ReasoningInput>) -> Value {
        let begins_with_system = matches!(messages.first(), Some(Message::System(_)));
        let system = (self.system && !begins_with_system).then(|| Message::System(SYSTEM.to_owned()));
        let all = system.iter().chain(messages);
        Value::List(all.map(|message| self.message(message, reasoning_input)).collect())
    }

    /// An id as this request gives it.
    pub fn id(&self, id: &str) -> String {
        if self.long_ids { format!("{id}{LONGER}") } else { id.to_owned() }
    }

    /// A render with the ids of the conversation in place of those that the request gave.
    pub fn with_own_ids(&self, text: String) -> String {
        if self.long_ids { text.replace(LONGER, "") } else { text }
    }

    fn message(&self, message: &Message, reasoning_input: Option<&ReasoningInput>) -> Value {
        match message {
            Message::System(text) => Value::from([("role", "system".into()), ("content", self.content(text))]),
            Message::User(text) => Value::from([("role", "user".into()), ("content", self.content(text))]),
            Message::Tool { id, name, content } => Value::from([
                ("role", "tool".into()),
                ("tool_call_id", self.id(id).into()),
                ("name", name.as_str().into()),
                ("content", self.content(content)),
            ]),
            Message::Assistant(answer) => self.answer(answer, reasoning_input),
        }
    }

    fn content(&self, text: &str) -> Value {
        match self.content_parts || text.contains(PART_BREAK) {
            true => text.split_terminator(PART_BREAK).map(text_part).collect::<Vec<_>>().into(),
            false => text.into(),
        }
    }

    fn answer(&self, answer: &Answer, reasoning_input: Option<&ReasoningInput>) -> Value {
        let mut entries = Object::new();
        entries.insert("role".to_owned(), "assistant".into());
        let reasoning = answer.reasoning.as_deref().zip(reasoning_input);
        if let Some((text, ReasoningInput::Block { kind, key })) = reasoning {
            let mut parts = vec![Value::from([("type", kind.as_str().into()), (key.as_str(), text.into())])];
            parts.extend(answer.content.as_deref().map(text_part));
            entries.insert("content".to_owned(), Value::List(parts));
        } else {
            match (&answer.content, self.absent) {
                (Some(text), _) => entries.insert("content".to_owned(), self.content(text)),
                (None, Absent::Empty) => entries.insert("content".to_owned(), "".into()),
                (None, Absent::Null) => entries.insert("content".to_owned(), Value::Null),
                (None, Absent::Missing) => None,
            };
        }
        if let Some((text, ReasoningInput::Key(key))) = reasoning {
            entries.insert(key.clone(), text.into());
        }
        if !answer.calls.is_empty() {
            let calls = answer.calls.iter().map(|call| self.call(call)).collect();
            entries.insert("tool_calls".to_owned(), Value::List(calls));
        }
        Value::Object(entries)
    }

    fn call(&self, call: &Call) -> Value {
        let arguments = Value::Object(call.arguments.clone());
        let arguments = if self.arguments_text { arguments.to_string().into() } else { arguments };
        Value::from([
            ("id", self.id(&call.id).into()),
            ("type", "function".into()),
            ("function", Value::from([("name", call.name.as_str().into()), ("arguments", arguments)])),
        ])
    }

    /// The definitions of every tool the messages call, as the template's `tools` variable.
    pub fn tools(&self, messages: &[Message]) -> Value {
        let mut tools: Vec<Value> = Vec::new();
        let calls = messages.iter().flat_map(|message| match message {
            Message::Assistant(answer) => answer.calls.as_slice(),
            _ => &[],
        });
        for call in calls {
            let known = |tool: &Value| {
                tool.get("function").unwrap_or(tool).get("name").and_then(Value::as_str) == Some(&call.name)
            };
            if !tools.iter().any(known) {
                tools.push(self.tool(call));
            }
        }
        Value::List(tools)
    }

    fn tool(&self, call: &Call) -> Value {
        let properties: Object = call
            .arguments
            .iter()
            .map(|(key, value)| {
                let described = [("type", json_type(value).into()), ("description", "One value.".into())];
                (key.clone(), Value::from(described))
            })
            .collect();
        let function = Value::from([
            ("name", call.name.as_str().into()),
            ("description", "Does one thing.".into()),
            (
                "parameters",
                Value::from([
                    ("type", "object".into()),
                    ("properties", Value::Object(properties)),
                    ("required", Value::List(Vec::new())),
                ]),
            ),
        ]);
        if self.bare_tools { function } else { Value::from([("type", "function".into()), ("function", function)]) }
    }
}

fn text_part(text: &str) -> Value {
    Value::from([("type", "text".into()), ("text", text.into())])
}

/// The JSON schema name of a value's type.
pub(crate) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_integer() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::List(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: RequestShape = RequestShape::USUAL;
    const PARTS: RequestShape = RequestShape { content_parts: true, ..USUAL };

    fn call(name: &str, arguments: Object) -> Call {
        Call { id: "c1".to_owned(), name: name.to_owned(), arguments }
    }

    fn add() -> Answer {
        Answer::calls(vec![call("add", Object::from_iter([("n".to_owned(), 1.into())]))])
    }

    #[test]
    fn a_request_shape_decides_the_form_of_content_and_calls() {
        let called =
            r#""tool_calls": [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": {"n": 1}}}]"#;
        let called_as_text = called.replace(r#"{"n": 1}"#, r#""{\"n\": 1}""#);
        let table = [
            (USUAL, Answer::content("Hi"), r#""content": "Hi""#.to_owned()),
            (PARTS, Answer::content("Hi"), r#""content": [{"type": "text", "text": "Hi"}]"#.to_owned()),
            (USUAL, add(), format!(r#""content": "", {called}"#)),
            // Absent content is not a list with an empty part: it has a form of its own.
            (PARTS, add(), format!(r#""content": "", {called}"#)),
            (RequestShape { absent: Absent::Null, ..USUAL }, add(), format!(r#""content": null, {called}"#)),
            (RequestShape { absent: Absent::Missing, ..USUAL }, add(), called.to_owned()),
            (RequestShape { arguments_text: true, ..USUAL }, add(), format!(r#""content": "", {called_as_text}"#)),
        ];
        for (shape, answer, expected) in table {
            let written = shape.messages(&[Message::Assistant(answer)], None).to_string();
            assert_eq!(written, format!(r#"[{{"role": "assistant", {expected}}}]"#), "{shape:?}");
        }
    }

    #[test]
    fn reasoning_is_handed_over_only_where_the_template_reads_it() {
        let key = ReasoningInput::Key("thinking".to_owned());
        let block = ReasoningInput::Block { kind: "thought".to_owned(), key: "text".to_owned() };
        let both = || Answer::content("Hi").with_reasoning("Hm");
        let alone = || Answer::default().with_reasoning("Hm");
        let table = [
            (Some(&key), both(), r#""content": "Hi", "thinking": "Hm""#),
            (Some(&key), alone(), r#""content": "", "thinking": "Hm""#),
            (Some(&block), both(), r#""content": [{"type": "thought", "text": "Hm"}, {"type": "text", "text": "Hi"}]"#),
            (Some(&block), alone(), r#""content": [{"type": "thought", "text": "Hm"}]"#),
            (Some(&block), Answer::content("Hi"), r#""content": "Hi""#),
            (None, both(), r#""content": "Hi""#),
        ];
        for (reasoning_input, answer, expected) in table {
            let written = USUAL.messages(&[Message::Assistant(answer)], reasoning_input).to_string();
            assert_eq!(written, format!(r#"[{{"role": "assistant", {expected}}}]"#), "{reasoning_input:?}");
        }
    }

    #[test]
    fn a_result_names_the_call_it_answers() {
        let result = Message::Tool { id: "c1".to_owned(), name: "add".to_owned(), content: "2".to_owned() };
        let expected = r#"[{"role": "tool", "tool_call_id": "c1", "name": "add", "content": "2"}]"#;
        assert_eq!(USUAL.messages(&[result], None).to_string(), expected);
    }

    #[test]
    fn the_tools_of_a_conversation_are_those_it_calls_each_once() {
        let other = call("now", Object::new());
        let messages = [
            Message::User("Hi".to_owned()),
            Message::Assistant(Answer::calls(vec![add().calls[0].clone(), other])),
            Message::Assistant(add()),
        ];
        let names = |tools: &Value, path: &[&str]| -> Vec<String> {
            let name = |tool: &Value| path.iter().fold(tool.clone(), |value, key| value.get(key).unwrap().clone());
            tools.as_list().unwrap().iter().map(|tool| name(tool).as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names(&USUAL.tools(&messages), &["function", "name"]), ["add", "now"]);
        let bare = RequestShape { bare_tools: true, ..USUAL };
        assert_eq!(names(&bare.tools(&messages), &["name"]), ["add", "now"]);
        assert_eq!(USUAL.tools(&messages[..1]), Value::List(Vec::new()));
    }

    #[test]
    fn a_parameter_has_the_json_schema_type_of_its_argument() {
        let table = [
            ("null", Value::Null),
            ("boolean", true.into()),
            ("integer", 1.into()),
            ("number", backchat_core::json::read("1.5").unwrap()),
            ("string", "a".into()),
            ("array", Value::List(Vec::new())),
            ("object", Value::Object(Object::new())),
        ];
        let arguments = table.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let tools = USUAL.tools(&[Message::Assistant(Answer::calls(vec![call("f", arguments)]))]);
        let function = tools.as_list().unwrap()[0].get("function").unwrap();
        let properties = function.get("parameters").unwrap().get("properties").unwrap();
        for (name, _) in table {
            assert_eq!(properties.get(name).unwrap().get("type"), Some(&name.into()), "{name}");
        }
    }

    #[test]
    fn every_request_shape_is_tried_once_and_the_usual_one_first() {
        let shapes: Vec<RequestShape> = USUAL.ladder().collect();
        assert_eq!(shapes.first(), Some(&USUAL));
        // Two forms each of content, arguments and tools, three of absent content; eleven remedies.
        assert_eq!(shapes.len(), 12 * 24);
        for (at, shape) in shapes.iter().enumerate() {
            assert!(!shapes[..at].contains(shape), "{shape:?} comes twice");
        }
    }

    #[test]
    fn a_request_shape_is_described_by_how_it_differs_from_the_usual_one() {
        let unusual =
            RequestShape { content_parts: true, arguments_text: true, absent: Absent::Null, bare_tools: true, ..USUAL };
        let described = "arguments as JSON text, content as a list of parts, absent content as null, tools without the \
                         function wrapper";
        assert_eq!(unusual.describe(), described);
        assert_eq!(USUAL.describe(), "arguments as an object");
    }

    #[test]
    fn reasoning_is_recognized_by_its_name() {
        for (name, is_reasoning) in [
            ("reasoning_content", true),
            ("Thinking", true),
            ("<|begin_of_thought|>", true),
            ("analysis", true),
            ("content", false),
            ("<tool_call>", false),
            ("", false),
        ] {
            assert_eq!(speaks_of_reasoning(name), is_reasoning, "{name}");
            assert_eq!(ReasoningInput::Key(name.to_owned()).is_named_for_reasoning(), is_reasoning, "{name}");
        }
        // A block is named by its type, not by the key of its text.
        let block = ReasoningInput::Block { kind: "text".to_owned(), key: "thinking".to_owned() };
        assert!(!block.is_named_for_reasoning());
    }

    #[test]
    fn the_unread_variant_of_a_key_differs_in_nothing_but_the_key() {
        let key = ReasoningInput::Key("thinking".to_owned());
        assert_eq!(key.unread(), ReasoningInput::Key("qzunread".to_owned()));
        let block = ReasoningInput::Block { kind: "thought".to_owned(), key: "text".to_owned() };
        let unread = ReasoningInput::Block { kind: "thought".to_owned(), key: "qzunread".to_owned() };
        assert_eq!(block.unread(), unread);
    }
}
