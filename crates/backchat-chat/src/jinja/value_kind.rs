//! What the values of a template are, as far as its text shows: a message, a call, a tool; and the keys of each.

/// Jinja's `loop`, in words.
pub const A_LOOP: &str = "a loop";

/// The roles that clients send. Others of your own are legal.
pub(super) const ROLES: [&str; 6] = ["system", "developer", "user", "assistant", "tool", "function"];

/// What a value is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ValueKind {
    /// A value that was not followed, which may have any key.
    #[default]
    Unknown,
    Messages,
    Message,
    /// The role of a message.
    Role,
    /// The content of a message, which is a text or a list of parts.
    Content,
    Part,
    Calls,
    Call,
    /// The function of a call.
    Function,
    Arguments,
    Tools,
    Tool,
    /// The function of a tool.
    Definition,
    Schema,
    Properties,
    /// The pairs of the properties of a schema.
    Pairs,
    /// What Jinja calls `loop`.
    Loop,
    /// A namespace, by the number of its binding.
    Namespace(usize),
}

impl ValueKind {
    pub const ALL_BUT_NAMESPACES: [Self; 17] = [
        Self::Unknown,
        Self::Messages,
        Self::Message,
        Self::Role,
        Self::Content,
        Self::Part,
        Self::Calls,
        Self::Call,
        Self::Function,
        Self::Arguments,
        Self::Tools,
        Self::Tool,
        Self::Definition,
        Self::Schema,
        Self::Properties,
        Self::Pairs,
        Self::Loop,
    ];

    /// Whether nobody knows its keys.
    pub(super) fn has_any_key(self) -> bool {
        matches!(self, Self::Unknown | Self::Arguments | Self::Namespace(_))
    }

    /// Its name in messages, and the keys that it has with every client; `None` if it has no keys.
    pub fn keys(self) -> Option<(&'static str, &'static [&'static str])> {
        Some(match self {
            Self::Message => (
                "a message",
                &[
                    "role",
                    "content",
                    "tool_calls",
                    "tool_call_id",
                    "name",
                    "reasoning_content",
                    "reasoning",
                    "thinking",
                    "function_call",
                ],
            ),
            Self::Part => ("a part of content", &["type", "text", "image", "image_url", "video", "audio"]),
            Self::Call => ("a call", &["id", "type", "function", "name", "arguments"]),
            Self::Function => ("the function of a call", &["name", "arguments"]),
            Self::Tool => ("a tool", &["type", "function", "name", "description", "parameters"]),
            Self::Definition => ("the function of a tool", &["name", "description", "parameters", "strict"]),
            Self::Schema => (
                "the schema of a tool",
                &["type", "properties", "required", "description", "enum", "items", "additionalProperties", "default"],
            ),
            Self::Loop => (
                A_LOOP,
                &[
                    "index",
                    "index0",
                    "revindex",
                    "revindex0",
                    "first",
                    "last",
                    "length",
                    "depth",
                    "depth0",
                    "previtem",
                    "nextitem",
                    "cycle",
                    "changed",
                ],
            ),
            _ => return None,
        })
    }

    /// The value under a key.
    pub(super) fn under(self, key: &str) -> Self {
        match (self, key) {
            (Self::Message, "role") => Self::Role,
            (Self::Message, "content") => Self::Content,
            (Self::Message, "tool_calls") => Self::Calls,
            (Self::Message, "function_call") | (Self::Call, "function") => Self::Function,
            (Self::Function | Self::Call, "arguments") => Self::Arguments,
            (Self::Tool, "function") => Self::Definition,
            (Self::Tool | Self::Definition, "parameters") | (Self::Schema, "items") | (Self::Properties, _) => {
                Self::Schema
            }
            (Self::Schema, "properties") => Self::Properties,
            _ => Self::Unknown,
        }
    }

    /// An item of a list.
    pub(super) fn item(self) -> Self {
        match self {
            Self::Messages => Self::Message,
            Self::Content => Self::Part,
            Self::Calls => Self::Call,
            Self::Tools => Self::Tool,
            Self::Properties => Self::Schema,
            _ => Self::Unknown,
        }
    }

    /// What a name is that nothing in the template binds.
    pub(super) fn of_variable(name: &str) -> Self {
        match name {
            "messages" => Self::Messages,
            "tools" => Self::Tools,
            _ => Self::Unknown,
        }
    }
}
