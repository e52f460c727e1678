//! Conversations of every shape, in which every text is a needle with a label for its kind and position.

use std::collections::VecDeque;

use backchat_core::json::{Object, Value};
use backchat_probe::probe::needle::Needles;
use backchat_probe::probe::schema::tool;
use backchat_probe::probe::{Answer, Call, Message, ReasoningInput, RequestShape};

/// The kind of a text of a rendered chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Before the first text.
    Begin,
    System,
    User,
    Content,
    Reasoning,
    Name,
    Id,
    /// All arguments of a call as one JSON object.
    Arguments,
    /// The same as a JSON string that contains the object.
    ArgumentsText,
    Key,
    /// An argument that is a string.
    Value,
    /// An argument of another type.
    Literal,
    Result,
    ToolName,
    ToolDescription,
    /// A parameter's name, by the index of its specification in [`PARAMETERS`].
    Parameter(u8),
    ParameterDescription,
    /// The definitions of all tools as one JSON list.
    ToolList,
    /// The definition of one tool as one JSON object.
    ToolObject,
    /// The definitions of all tools, unread.
    ToolsText,
    /// The end of the text.
    End,
    /// The end after a generation prompt.
    Prompt,
}

impl Kind {
    /// Whether a JSON value begins here, which determines its own end.
    pub fn is_json(self) -> bool {
        matches!(self, Kind::Arguments | Kind::ArgumentsText | Kind::ToolList | Kind::ToolObject)
    }

    /// Whether it is the end of a chat.
    pub fn is_end(self) -> bool {
        matches!(self, Kind::End | Kind::Prompt)
    }

    /// Whether it belongs to the definition of tools.
    pub fn defines_tools(self) -> bool {
        matches!(
            self,
            Kind::ToolName
                | Kind::ToolDescription
                | Kind::Parameter(_)
                | Kind::ParameterDescription
                | Kind::ToolList
                | Kind::ToolObject
                | Kind::ToolsText
        )
    }
}

/// A needle: the kind of text it replaces, and its place in the conversation.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    pub kind: Kind,
    pub message: usize,
    pub call: usize,
}

/// The form in which a template takes conversations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub shape: RequestShape,
    /// The key that shows reasoning.
    pub reasoning: Option<&'static str>,
}

impl Default for Form {
    fn default() -> Self {
        Self { shape: RequestShape::USUAL, reasoning: None }
    }
}

/// Specifications of parameters: the type, whether it is described, whether it is required.
pub(crate) const PARAMETERS: [(&str, bool, bool); 3] =
    [("string", true, true), ("integer", false, false), ("number", true, false)];

/// A conversation to learn from.
pub(crate) struct Script {
    pub messages: Vec<Value>,
    pub tools: Value,
    pub labels: Vec<Label>,
    needles: Needles,
    suffix: &'static str,
}

/// The number that represents the literal argument of this index.
pub(crate) fn literal(index: usize) -> usize {
    73_000_000 + index
}

impl Script {
    /// A conversation from one letter for each message, with tools from one letter for each.
    ///
    /// S, U, A, T are the roles; R answers after reasoning, C calls, c answers and calls, r reasons and calls, q does
    /// all three; D and d call twice, V three times; E, F, G, N call with a number, a text and a number, a number and a
    /// text, no arguments. X, Y and Z call twice; the first call, the second or both have the arguments of F.
    pub fn new(shape: &str, tools: &str, form: &Form, suffix: &'static str) -> Self {
        let mut script =
            Self { messages: Vec::new(), tools: Value::Null, labels: Vec::new(), needles: Needles::new(""), suffix };
        if !tools.is_empty() {
            let definitions = tools.chars().map(|tool| script.tool(tool)).collect();
            script.tools = Value::List(definitions);
        }
        let input = form.reasoning.map(|key| ReasoningInput::Key(key.to_owned()));
        let mut pending: VecDeque<Call> = VecDeque::new();
        for (index, letter) in shape.chars().enumerate() {
            let message = match letter {
                'S' => Message::System(script.text(Kind::System, index, 0)),
                'U' => Message::User(script.text(Kind::User, index, 0)),
                'T' => {
                    let called = pending.pop_front();
                    let (id, name) = called.map_or_else(Default::default, |call| (call.id, call.name));
                    Message::Tool { id, name, content: script.text(Kind::Result, index, 0) }
                }
                _ => {
                    let answer = script.answer(letter, index, input.is_some());
                    pending.extend(answer.calls.iter().cloned());
                    Message::Assistant(answer)
                }
            };
            script.messages.push(form.shape.message(&message, input.as_ref()));
        }
        script
    }

    fn needle(&mut self, kind: Kind, message: usize, call: usize) -> String {
        self.labels.push(Label { kind, message, call });
        self.needles.draw()
    }

    fn text(&mut self, kind: Kind, message: usize, call: usize) -> String {
        self.needle(kind, message, call) + self.suffix
    }

    fn answer(&mut self, letter: char, message: usize, may_think: bool) -> Answer {
        let calls: &[&str] = match letter {
            'C' | 'c' | 'r' | 'q' => &["s"],
            'D' | 'd' => &["s", "s"],
            'V' => &["s", "s", "s"],
            'E' => &["n"],
            'F' => &["sn"],
            'G' => &["ns"],
            'N' => &[""],
            'X' => &["sn", "s"],
            'Y' => &["s", "sn"],
            'Z' => &["sn", "sn"],
            _ => &[],
        };
        let says = matches!(letter, 'A' | 'R' | 'c' | 'd' | 'q');
        let thinks = may_think && matches!(letter, 'R' | 'r' | 'q');
        let content = says.then(|| self.text(Kind::Content, message, 0));
        let reasoning = thinks.then(|| self.text(Kind::Reasoning, message, 0));
        let calls = calls.iter().enumerate().map(|(call, arguments)| {
            let (id, name) = (self.needle(Kind::Id, message, call), self.needle(Kind::Name, message, call));
            Call { id, name, arguments: self.arguments(arguments, message, call) }
        });
        Answer { calls: calls.collect(), content, reasoning }
    }

    fn arguments(&mut self, arguments: &str, message: usize, call: usize) -> Object {
        let mut given = Object::new();
        for argument in arguments.chars() {
            let key = self.needle(Kind::Key, message, call);
            let value = match argument {
                's' => self.text(Kind::Value, message, call).into(),
                _ => {
                    let index = self.labels.len();
                    self.needle(Kind::Literal, message, call);
                    literal(index).into()
                }
            };
            given.insert(key, value);
        }
        given
    }

    /// A tool with the parameters of a letter: `a` has the first two, `b` the first, `c` the third, `d` the second
    /// before the first.
    fn tool(&mut self, letter: char) -> Value {
        let parameters: &[u8] = match letter {
            'a' => &[0, 1],
            'b' => &[0],
            'd' => &[1, 0],
            _ => &[2],
        };
        let name = self.needle(Kind::ToolName, 0, 0);
        let description = self.text(Kind::ToolDescription, 0, 0);
        let mut properties = Object::new();
        let mut required = Vec::new();
        for index in parameters {
            let Some((kind, described, is_required)) = PARAMETERS.get(usize::from(*index)) else { continue };
            let key = self.needle(Kind::Parameter(*index), 0, 0);
            let mut schema = Object::from_iter([("type".to_owned(), Value::from(*kind))]);
            if *described {
                let text = self.text(Kind::ParameterDescription, 0, 0);
                schema.insert("description", text.into());
            }
            if *is_required {
                required.push(key.as_str().into());
            }
            properties.insert(key, Value::Object(schema));
        }
        let mut schema = Object::from_iter([
            ("type".to_owned(), Value::from("object")),
            ("properties".to_owned(), Value::Object(properties)),
        ]);
        if !required.is_empty() {
            schema.insert("required", Value::List(required));
        }
        tool(&name, &description, Value::Object(schema))
    }

    /// The positions of the needles in a render: each label's index with its first and last byte, in order.
    pub fn find(&self, render: &str) -> Vec<(usize, (usize, usize))> {
        let mut found = self.needles.find(render);
        found.retain(|(index, _)| self.labels.get(*index).is_some_and(|label| label.kind != Kind::Literal));
        for (index, _) in self.labels.iter().enumerate().filter(|(_, label)| label.kind == Kind::Literal) {
            let digits = literal(index).to_string();
            found.extend(render.match_indices(&digits).map(|(start, text)| (index, (start, start + text.len()))));
        }
        found.sort_by_key(|(_, (start, _))| *start);
        found
    }
}
