//! Values of `serde_json` become ours without loss, and ours become its own unless a number does not fit.

use std::fmt;

use crate::json::{Number, Path, Value};

/// A number that `serde_json` cannot hold exactly: NaN, an infinity or, while its feature `arbitrary_precision` is off, an
/// integer beyond 64 bits or a number beyond a double.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberOutOfRange {
    path: Path,
    number: Number,
}

impl NumberOutOfRange {
    /// Where the number is in the value.
    pub fn path(&self) -> String {
        self.path.to_string()
    }

    /// The number.
    pub fn number(&self) -> &Number {
        &self.number
    }
}

impl fmt::Display for NumberOutOfRange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.number.as_str();
        if !self.path.steps().is_empty() {
            write!(out, "at {}: ", self.path)?;
        }
        if self.number.is_json() {
            write!(out, "the number {number} needs serde_json's feature `arbitrary_precision`")
        } else {
            write!(out, "{number} is not a JSON number; replace it before converting")
        }
    }
}

impl std::error::Error for NumberOutOfRange {}

impl From<serde_json::Value> for Value {
    fn from(value: serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(value) => Value::Bool(value),
            serde_json::Value::Number(number) => Value::Number(Number::from_text(number.to_string())),
            serde_json::Value::String(text) => Value::String(text),
            serde_json::Value::Array(items) => Value::List(items.into_iter().map(Value::from).collect()),
            serde_json::Value::Object(entries) => {
                Value::Object(entries.into_iter().map(|(key, value)| (key, Value::from(value))).collect())
            }
        }
    }
}

/// Keys keep their order if serde_json's feature `preserve_order` is on; otherwise its own map sorts them.
impl TryFrom<Value> for serde_json::Value {
    type Error = NumberOutOfRange;

    fn try_from(value: Value) -> Result<Self, NumberOutOfRange> {
        converted(value, &Path::root())
    }
}

fn converted(value: Value, path: &Path) -> Result<serde_json::Value, NumberOutOfRange> {
    Ok(match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(value) => serde_json::Value::Bool(value),
        Value::Number(number) => match held(&number) {
            Some(number) => serde_json::Value::Number(number),
            None => return Err(NumberOutOfRange { path: path.clone(), number }),
        },
        Value::String(text) => serde_json::Value::String(text),
        Value::List(items) => {
            let items = items.into_iter().enumerate().map(|(place, item)| converted(item, &path.clone().index(place)));
            serde_json::Value::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Object(entries) => {
            let entries = entries.into_iter().map(|(key, value)| {
                let value = converted(value, &path.clone().key(&key))?;
                Ok((key, value))
            });
            serde_json::Value::Object(entries.collect::<Result<_, _>>()?)
        }
    })
}

/// The number as `serde_json` holds it, unless it would be another one.
fn held(number: &Number) -> Option<serde_json::Number> {
    let text = number.as_str();
    let held = number.is_json().then(|| text.parse::<serde_json::Number>().ok()).flatten()?;
    match held.to_string() == text {
        true => Some(held),
        // Without its feature `float_roundtrip` serde_json may read the double next to the right one.
        false if !number.is_integer() || text == "-0" => serde_json::Number::from_f64(number.as_f64()),
        false => None,
    }
}
