//! Why a row has no answer.

use backchat_core::json::{Object, Value};
use backchat_legacy::schema::SchemaError;

/// An error, and its stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowError {
    /// `load`, `prefix`, `feed` or `finalize`.
    pub stage: &'static str,
    pub message: String,
    /// The details of a response schema: the kind of error, and the node.
    pub node: Option<(&'static str, String)>,
}

impl RowError {
    pub fn new(stage: &'static str, message: impl ToString) -> Self {
        Self { stage, message: message.to_string(), node: None }
    }

    pub fn load(message: impl ToString) -> Self {
        Self::new("load", message)
    }

    /// The error as part of an answer.
    pub fn to_value(&self) -> Value {
        let mut value = Object::new();
        value.insert("stage", self.stage.into());
        if let Some((kind, _)) = &self.node {
            value.insert("kind", (*kind).into());
        }
        value.insert("message", self.message.as_str().into());
        if let Some((_, path)) = &self.node {
            value.insert("path", path.as_str().into());
        }
        Value::Object(value)
    }
}

impl From<SchemaError> for RowError {
    fn from(error: SchemaError) -> Self {
        let node = Some((error.kind.name(), error.path));
        Self { stage: "finalize", message: error.message, node }
    }
}

/// Takes a key out of a row, if its value is not null.
pub fn take<T>(
    entries: &mut Object,
    key: &str,
    read: impl FnOnce(Value) -> Result<T, String>,
) -> Result<Option<T>, RowError> {
    let value = entries.shift_remove(key).filter(|value| !value.is_null());
    value.map(read).transpose().map_err(RowError::load)
}
