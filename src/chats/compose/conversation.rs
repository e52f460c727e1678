//! A conversation as the texts that a template may write, and how far it has been written.

use super::super::script::{Kind, PARAMETERS};
use crate::json::{self, Object, Value};

/// A text of a conversation, or a JSON value that holds several.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub kind: Kind,
    pub owner: Owner,
    pub value: Value,
}

/// The tool, or the message and call, that a text belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Tool(usize),
    Message { message: usize, call: usize },
}

impl Owner {
    pub fn message(self) -> Option<usize> {
        match self {
            Owner::Message { message, .. } => Some(message),
            Owner::Tool(_) => None,
        }
    }
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    System,
    User,
    Assistant,
    Tool,
}

/// A message, apart from its texts.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub role: Role,
    pub content: bool,
    pub reasoning: bool,
    /// The kinds of the arguments of each call.
    pub calls: Vec<Vec<Kind>>,
    /// The call that a result answers: its message and its place there.
    pub answers: Option<(usize, usize)>,
}

/// Which members a template writes in the order of their names, instead of the one they are given in.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Order {
    pub parameters: bool,
    pub arguments: bool,
}

impl Order {
    fn of(is_sorted: bool, entries: &Object) -> Vec<(&String, &Value)> {
        let mut entries: Vec<_> = entries.iter().collect();
        if is_sorted {
            entries.sort_by_key(|(name, _)| name.to_lowercase());
        }
        entries
    }
}

pub(super) struct Conversation {
    pub items: Vec<Item>,
    pub turns: Vec<Turn>,
    /// The parameters of each tool.
    pub tools: Vec<Vec<u8>>,
    pub prompt: bool,
    order: Order,
}

impl Conversation {
    /// Takes messages apart; none if a message has none of the four roles.
    pub fn new(messages: &[Value], tools: &Value, prompt: bool, order: Order) -> Option<Self> {
        let mut conversation = Self { items: Vec::new(), turns: Vec::new(), tools: Vec::new(), prompt, order };
        conversation.define(tools);
        for (index, message) in messages.iter().enumerate() {
            conversation.message(index, message)?;
        }
        conversation.link(messages);
        Some(conversation)
    }

    fn add(&mut self, kind: Kind, owner: Owner, value: &Value) {
        self.items.push(Item { kind, owner, value: value.clone() });
    }

    fn define(&mut self, tools: &Value) {
        let Some(list) = tools.as_list().filter(|list| !list.is_empty()) else { return };
        self.add(Kind::ToolList, Owner::Tool(0), tools);
        for (index, tool) in list.iter().enumerate() {
            let owner = Owner::Tool(index);
            let mut parameters = Vec::new();
            self.add(Kind::ToolObject, owner, tool);
            let function = tool.get("function").unwrap_or(tool);
            for (kind, key) in [(Kind::ToolName, "name"), (Kind::ToolDescription, "description")] {
                if let Some(text) = function.get(key) {
                    self.add(kind, owner, text);
                }
            }
            let schema = function.get("parameters");
            let required = schema.and_then(|schema| schema.get("required")?.as_list());
            let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
            let properties = properties.map(|properties| Order::of(self.order.parameters, properties));
            for (name, property) in properties.into_iter().flatten() {
                let name = Value::from(name.as_str());
                let kind = property.get("type").and_then(Value::as_str);
                let is_described = property.get("description").is_some();
                let is_required = required.is_some_and(|required| required.contains(&name));
                let known = PARAMETERS
                    .iter()
                    .position(|known| kind == Some(known.0) && (known.1, known.2) == (is_described, is_required));
                let parameter = known.and_then(|at| u8::try_from(at).ok()).unwrap_or(u8::MAX);
                parameters.push(parameter);
                self.add(Kind::Parameter(parameter), owner, &name);
                if let Some(text) = property.get("description") {
                    self.add(Kind::ParameterDescription, owner, text);
                }
            }
            self.tools.push(parameters);
        }
    }

    fn message(&mut self, index: usize, message: &Value) -> Option<()> {
        let role = match message.get("role")?.as_str()? {
            "system" => Role::System,
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "tool" => Role::Tool,
            _ => return None,
        };
        let owner = Owner::Message { message: index, call: 0 };
        let kind = match role {
            Role::System => Kind::System,
            Role::User => Kind::User,
            Role::Assistant => Kind::Content,
            Role::Tool => Kind::Result,
        };
        let content = text(message.get("content")).filter(|text| !text.is_empty());
        if let Some(content) = &content {
            self.add(kind, owner, &content.as_str().into());
        }
        let keys = ["reasoning_content", "thinking", "reasoning"].into_iter();
        let reasoning = keys.filter_map(|key| text(message.get(key))).find(|text| !text.is_empty());
        if let Some(reasoning) = &reasoning {
            self.add(Kind::Reasoning, owner, &reasoning.as_str().into());
        }
        let calls = message.get("tool_calls").and_then(Value::as_list).into_iter().flatten();
        let calls = calls.enumerate().map(|(call, value)| self.call(index, call, value)).collect();
        let (content, reasoning) = (content.is_some(), reasoning.is_some());
        self.turns.push(Turn { role, content, reasoning, calls, answers: None });
        Some(())
    }

    fn call(&mut self, message: usize, call: usize, value: &Value) -> Vec<Kind> {
        let owner = Owner::Message { message, call };
        let function = value.get("function").unwrap_or(value);
        for (kind, text) in [(Kind::Id, value.get("id")), (Kind::Name, function.get("name"))] {
            if let Some(text) = text.filter(|text| text.as_str().is_some_and(|text| !text.is_empty())) {
                self.add(kind, owner, text);
            }
        }
        let given = function.get("arguments").cloned();
        let arguments = given.map(|given| given.as_str().and_then(|text| json::read(text).ok()).unwrap_or(given));
        let mut kinds = Vec::new();
        let Some(Value::Object(entries)) = &arguments else { return kinds };
        if !entries.is_empty() {
            self.add(Kind::Arguments, owner, &Value::Object(entries.clone()));
        }
        for (key, value) in Order::of(self.order.arguments, entries) {
            let kind = if value.as_str().is_some() { Kind::Value } else { Kind::Literal };
            self.add(Kind::Key, owner, &key.as_str().into());
            self.add(kind, owner, value);
            kinds.push(kind);
        }
        kinds
    }

    /// Finds the call that each result answers: by its id, else by its place.
    fn link(&mut self, messages: &[Value]) {
        let mut asked: Option<usize> = None;
        let mut place = 0;
        for (index, message) in messages.iter().enumerate() {
            let Some(turn) = self.turns.get_mut(index) else { continue };
            if !turn.calls.is_empty() {
                (asked, place) = (Some(index), 0);
            } else if turn.role == Role::Tool
                && let Some(asked) = asked
            {
                let calls = messages.get(asked).and_then(|message| message.get("tool_calls")?.as_list());
                let id = message.get("tool_call_id").filter(|id| id.as_str().is_some_and(|id| !id.is_empty()));
                let by_id = calls.and_then(|calls| calls.iter().position(|call| id.is_some() && call.get("id") == id));
                turn.answers = Some((asked, by_id.unwrap_or(place)));
                place += 1;
            }
        }
    }
}

/// The text of content: a string, or the text parts of a list.
fn text(content: Option<&Value>) -> Option<String> {
    match content? {
        Value::String(text) => Some(text.clone()),
        Value::List(parts) => Some(parts.iter().filter_map(|part| part.get("text")?.as_str()).collect()),
        _ => None,
    }
}

/// How far a conversation has been written.
pub(super) struct Progress {
    /// How often each item has been written.
    pub times: Vec<usize>,
    /// The item that was written last.
    pub at: Option<usize>,
    /// The furthest message of which a text has been written for the first time.
    pub front: Option<usize>,
    /// The tool that was written last.
    pub tool: Option<usize>,
}

impl Progress {
    pub fn new(conversation: &Conversation) -> Self {
        Self { times: vec![0; conversation.items.len()], at: None, front: None, tool: None }
    }

    /// Notes that an item is written, and with it all that it holds.
    pub fn take(&mut self, conversation: &Conversation, index: usize) {
        let Some(item) = conversation.items.get(index) else { return };
        let is_first = self.times.get(index) == Some(&0);
        let holds = |other: &Item| match item.kind {
            Kind::Arguments => {
                other.owner == item.owner && matches!(other.kind, Kind::Key | Kind::Value | Kind::Literal)
            }
            Kind::ToolObject => other.owner == item.owner,
            Kind::ToolList => matches!(other.owner, Owner::Tool(_)),
            _ => false,
        };
        for (at, (times, other)) in self.times.iter_mut().zip(&conversation.items).enumerate() {
            if at == index || holds(other) {
                *times += 1;
            }
        }
        self.at = Some(index);
        match item.owner {
            Owner::Tool(tool) => self.tool = Some(tool),
            Owner::Message { message, .. } if is_first => self.front = self.front.max(Some(message)),
            Owner::Message { .. } => {}
        }
    }

    pub fn is_new(&self, index: usize) -> bool {
        self.times.get(index) == Some(&0)
    }
}
