//! What the values of a template may be, as far as their keys are known.

use crate::jinja::typo::typo;
use backchat_core::diagnostic::one_edit_from;

/// Jinja's `loop`, in words.
pub const A_LOOP: &str = "a loop";

/// What a value may be, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ValueKinds(u16);

/// One thing that a value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    Messages,
    Message,
    Content,
    Part,
    Calls,
    Call,
    Function,
    Tools,
    Tool,
    Definition,
    Schema,
    Properties,
    /// The pairs of the properties of a schema.
    Pairs,
    /// The role of a message.
    Role,
    /// What Jinja calls `loop`.
    Loop,
    /// A value that was not followed, which may have any key.
    Other,
}

impl ValueKind {
    pub(super) const ALL: [Self; 16] = [
        Self::Messages,
        Self::Message,
        Self::Content,
        Self::Part,
        Self::Calls,
        Self::Call,
        Self::Function,
        Self::Tools,
        Self::Tool,
        Self::Definition,
        Self::Schema,
        Self::Properties,
        Self::Pairs,
        Self::Role,
        Self::Loop,
        Self::Other,
    ];

    /// Its name in messages, and the keys that it has with every client; `None` if it has no keys.
    pub(super) fn keys(self) -> Option<(&'static str, &'static [&'static str])> {
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
            (Self::Tool, "function") => Self::Definition,
            (Self::Tool | Self::Definition, "parameters") | (Self::Schema, "items") | (Self::Properties, _) => {
                Self::Schema
            }
            (Self::Schema, "properties") => Self::Properties,
            _ => Self::Other,
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
            _ => Self::Other,
        }
    }
}

impl ValueKinds {
    pub(super) const NONE: Self = Self(0);
    pub(super) const OTHER: Self = Self(1 << ValueKind::Other as u16);

    pub(super) fn of(shape: ValueKind) -> Self {
        Self(1 << shape as u16)
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn iter(self) -> impl Iterator<Item = ValueKind> {
        ValueKind::ALL.into_iter().filter(move |shape| self.0 & (1 << *shape as u16) != 0)
    }

    pub(super) fn map(self, change: impl Fn(ValueKind) -> ValueKind) -> Self {
        self.iter().fold(Self::NONE, |all, shape| all.or(Self::of(change(shape))))
    }

    /// The key that was probably meant, and whose it is. All of the shapes are known, and none of them has the key.
    pub(super) fn meant(self, key: &str) -> Option<(&'static str, &'static str)> {
        if self.0 & Self::OTHER.0 != 0 {
            return None;
        }
        let with_keys = || self.iter().filter_map(ValueKind::keys);
        if with_keys().any(|(_, keys)| keys.contains(&key)) {
            return None;
        }
        let near = |keys: &[&'static str]| {
            one_edit_from(key, keys.iter().copied())
                .or_else(|| keys.iter().copied().find(|name| lacks_letter(key, name)))
        };
        with_keys().find_map(|(of, keys)| Some((of, near(keys)?)))
    }
}

/// Whether a short name lacks a letter, as `rol` does.
fn lacks_letter(written: &str, name: &str) -> bool {
    written.len() < name.len() && typo(written, name).is_some()
}

pub(super) fn pairs(of: ValueKinds) -> ValueKinds {
    of.map(|shape| if shape == ValueKind::Properties { ValueKind::Pairs } else { ValueKind::Other })
}
