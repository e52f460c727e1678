//! Serde's traits for templates, events and messages: the same keys in the same order as `to_value` and the command
//! give, without building a [`Value`] first for streamed events.

use backchat_core::json::Value;
use serde_core::de::{Deserialize, Deserializer, Error};
use serde_core::ser::{Serialize, SerializeMap, Serializer};

use crate::content::coerce::{Tools, ToolsError};
use crate::parser::{Event, EventRef, Finished, Malformed, Problem};
use crate::template::Template;

/// Reads a template as [`Template::from_value`] does; the error lists every problem.
impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Template::from_value(&value).map(|loaded| loaded.template).map_err(D::Error::custom)
    }
}

impl Serialize for Template {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.borrowed().serialize(serializer)
    }
}

impl Serialize for EventRef<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.kind())?;
        if !matches!(self, EventRef::Problem(_)) {
            map.serialize_entry("field", self.field())?;
        }
        match self {
            EventRef::Open { .. } => {}
            EventRef::Chunk { text, dirty, .. } => {
                map.serialize_entry("text", text)?;
                map.serialize_entry("dirty", dirty)?;
            }
            EventRef::Close { value, .. } => map.serialize_entry("value", value)?,
            EventRef::Malformed { text, reason, .. } => {
                map.serialize_entry("text", text)?;
                map.serialize_entry("reason", reason)?;
            }
            EventRef::CallStart { index, name, id, .. } => {
                map.serialize_entry("index", index)?;
                map.serialize_entry("name", name)?;
                if let Some(id) = id {
                    map.serialize_entry("id", id)?;
                }
            }
            EventRef::CallArguments { index, delta, .. } => {
                map.serialize_entry("index", index)?;
                map.serialize_entry("delta", delta)?;
            }
            EventRef::Problem(problem) => {
                let entries = problem.to_value();
                for (key, value) in entries.as_object().into_iter().flatten() {
                    map.serialize_entry(key, value)?;
                }
            }
        }
        map.end()
    }
}

/// `message`, then `missing`, `malformed`, `problems` and `notes` if there are any, as the command writes them, and the
/// last `events`.
impl Serialize for Finished {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("message", &self.message)?;
        if !self.missing.is_empty() {
            map.serialize_entry("missing", &self.missing)?;
        }
        if !self.malformed.is_empty() {
            let listed: Vec<Value> = self.malformed.iter().map(Malformed::to_value).collect();
            map.serialize_entry("malformed", &listed)?;
        }
        if !self.problems.is_empty() {
            let listed: Vec<Value> = self.problems.iter().map(Problem::to_value).collect();
            map.serialize_entry("problems", &listed)?;
        }
        if !self.notes.is_empty() {
            map.serialize_entry("notes", &self.notes)?;
        }
        map.serialize_entry("events", &self.events)?;
        map.end()
    }
}

impl TryFrom<&serde_json::Value> for Tools {
    type Error = ToolsError;

    fn try_from(tools: &serde_json::Value) -> Result<Self, ToolsError> {
        Self::new(&tools.clone().into())
    }
}
