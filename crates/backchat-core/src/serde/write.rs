//! `Serialize` for values and diagnostics: the same keys in the same order as `to_value` gives.

use serde_core::ser::{Error, Serialize, SerializeSeq, Serializer};

use crate::diagnostic::Diagnostic;
use crate::json::{Map, Number, Value};

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

/// The integer whose text this is; `None` for `-0`, which would lose its sign.
fn exactly<N: std::str::FromStr + ToString>(text: &str) -> Option<N> {
    text.parse().ok().filter(|number: &N| number.to_string() == text)
}

impl Serialize for Diagnostic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}
