//! A JSON value. Numbers keep their text, objects the order of their keys.

use std::ops::Index;

use super::{Map, Number};

/// A JSON object; keys keep their order.
pub type Object = Map<Value>;

/// Any JSON value.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Value {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it was written
    Number(Number),
    /// A string
    String(String),
    /// An array
    List(Vec<Value>),
    /// An object
    Object(Object),
}

impl Value {
    /// Whether a message leaves it out: null, or an empty string, list or object.
    pub fn is_empty(&self) -> bool {
        match self {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::List(items) => items.is_empty(),
            Value::Object(entries) => entries.is_empty(),
            Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The elements of a list.
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    /// The entries of an object.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Value::Object(entries) => Some(entries),
            _ => None,
        }
    }

    fn as_number(&self) -> Option<&Number> {
        match self {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The value of an integer that fits into 64 bits.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// The value of an integer from 0 that fits into 64 bits.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number()?.as_u64()
    }

    /// The double nearest to a number.
    pub fn as_f64(&self) -> Option<f64> {
        self.as_number().map(Number::as_f64)
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The truth of a bool.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The name of this kind of value, for messages: `a string`, `null`, …
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a bool",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::List(_) => "a list",
            Value::Object(_) => "an object",
        }
    }

    /// Whether it is truthy in Python: anything but null, false, zero and empty values.
    pub fn is_truthy(&self) -> bool {
        match self {
            Value::Bool(value) => *value,
            Value::Number(number) => number.as_f64() != 0.0,
            other => !other.is_empty(),
        }
    }

    /// The value of a key, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object()?.get(key)
    }
}

/// Whether two values are equal if scalars are compared with `equal`; the order of keys does not matter.
pub fn equal_by(one: &Value, other: &Value, equal: &impl Fn(&Value, &Value) -> bool) -> bool {
    match (one, other) {
        (Value::List(one), Value::List(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal_by(one, other, equal))
        }
        (Value::Object(one), Value::Object(other)) => {
            let has_equal =
                |(key, value): (&str, &Value)| other.get(key).is_some_and(|other| equal_by(value, other, equal));
            one.len() == other.len() && one.iter().all(has_equal)
        }
        (one, other) => equal(one, other),
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::String(text)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

macro_rules! from_number {
    ($($number:ty),*) => {$(
        impl From<$number> for Value {
            fn from(value: $number) -> Self {
                Value::Number(value.into())
            }
        }
    )*};
}

from_number!(i32, i64, u32, u64, usize, f64, Number);

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

/// The value of a key; null if this is not an object or lacks the key.
impl Index<&str> for Value {
    type Output = Value;

    fn index(&self, key: &str) -> &Value {
        self.get(key).unwrap_or(&Value::Null)
    }
}

/// The element at an index; null if this is not a list or is shorter.
impl Index<usize> for Value {
    type Output = Value;

    fn index(&self, place: usize) -> &Value {
        self.as_list().and_then(|items| items.get(place)).unwrap_or(&Value::Null)
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Value::List(items)
    }
}

impl From<Object> for Value {
    fn from(entries: Object) -> Self {
        Value::Object(entries)
    }
}

impl<const N: usize> From<[(&str, Value); N]> for Value {
    fn from(entries: [(&str, Value); N]) -> Self {
        Value::Object(entries.into())
    }
}

/// The value of a key, and null for a key that it does not have.
impl Index<&str> for Object {
    type Output = Value;

    fn index(&self, key: &str) -> &Value {
        self.get(key).unwrap_or(&Value::Null)
    }
}
