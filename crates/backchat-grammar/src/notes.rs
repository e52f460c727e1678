//! Notes on the parts of a grammar that accept more or less than the schema.

use backchat_core::json::{Object, Value};

/// How a grammar deviates from the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Effect {
    /// Renders did not show something, so the usual form was assumed.
    Assumed,
    /// The grammar allows what the schema forbids.
    Looser,
    /// The grammar forbids what the schema allows.
    Tighter,
}

impl Effect {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Assumed => "assumed",
            Self::Looser => "looser",
            Self::Tighter => "tighter",
        }
    }
}

/// One deviation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Note {
    /// The kind of deviation.
    pub effect: Effect,
    /// The tool, if it concerns one.
    pub tool: Option<String>,
    /// The JSON pointer of the place in the tool's parameters.
    pub path: Option<String>,
    /// The keyword of the schema.
    pub keyword: Option<String>,
    /// A sentence for people.
    pub message: String,
}

impl Note {
    pub(crate) fn new(effect: Effect, message: impl Into<String>) -> Self {
        Self { effect, tool: None, path: None, keyword: None, message: message.into() }
    }

    /// As JSON.
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        out.insert("effect", self.effect.name().into());
        for (key, value) in [("tool", &self.tool), ("path", &self.path), ("keyword", &self.keyword)] {
            if let Some(value) = value {
                out.insert(key, value.as_str().into());
            }
        }
        out.insert("message", self.message.as_str().into());
        Value::Object(out)
    }
}
