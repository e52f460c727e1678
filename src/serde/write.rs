//! `Serialize` for values, events, messages, templates and reports: the same keys in the same order as `to_value` and
//! the command give, without building a [`Value`] first for streamed events.

use serde_core::ser::{Error, Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::diagnostic::Diagnostic;
use crate::json::{Map, Number, Value};
use crate::parser::{Event, EventRef, Finished, Malformed, Problem};
use crate::template::Template;

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Number(number) => number.serialize(serializer),
            Value::String(text) => serializer.serialize_str(text),
            Value::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(item))?;
                list.end()
            }
            Value::Object(entries) => entries.serialize(serializer),
        }
    }
}

impl<V: Serialize> Serialize for Map<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

/// A number that is not JSON is null. Any other keeps its text if the serializer is that of `serde_json`; other formats
/// get the integer or the double that the text says exactly.
impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.is_json() {
            return serializer.serialize_unit();
        }
        let text = self.as_str();
        if self.is_integer() {
            if let Some(value) = exactly(text) {
                return serializer.serialize_i64(value);
            }
            if let Some(value) = exactly(text) {
                return serializer.serialize_u64(value);
            }
            if let Some(value) = exactly(text) {
                return serializer.serialize_i128(value);
            }
        } else if serde_json::Number::from_f64(self.as_f64()).is_some_and(|number| number.to_string() == text) {
            return serializer.serialize_f64(self.as_f64());
        }
        serde_json::value::RawValue::from_string(text.to_owned()).map_err(S::Error::custom)?.serialize(serializer)
    }
}

/// The integer whose text this is; none for `-0`, which would lose its sign.
fn exactly<N: std::str::FromStr + ToString>(text: &str) -> Option<N> {
    text.parse().ok().filter(|number: &N| number.to_string() == text)
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
                let told = problem.to_value();
                for (key, value) in told.as_object().into_iter().flatten() {
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

impl Serialize for Diagnostic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

impl Serialize for Template {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

#[cfg(feature = "derive")]
impl Serialize for crate::derive::Derivation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}
