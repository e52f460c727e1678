//! A value stored as JSON text if that parses back to the same value; otherwise as a tree.

use std::borrow::Cow;

use backchat_core::json::{self, Value};

/// A compactly stored value: as JSON, if JSON can express it.
///
/// A tree of values takes many times the memory of its text, and few values of a recording are read.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactValue(Form);

#[derive(Clone, Debug, PartialEq)]
enum Form {
    Text(Box<str>),
    Tree(Box<Value>),
}

/// How deep a value may be so that its text certainly parses again.
const DEEPEST: usize = json::MAX_DEPTH / 2;

impl CompactValue {
    pub(super) fn new(value: &Value) -> Self {
        Self(match is_plain(value, DEEPEST) {
            true => Form::Text(value.to_string().into()),
            false => Form::Tree(Box::new(value.clone())),
        })
    }

    /// The value.
    pub fn read(&self) -> Value {
        match &self.0 {
            Form::Text(text) => {
                // Only values that JSON expresses exactly are kept as text.
                let value = json::read(text);
                debug_assert!(value.is_ok(), "{text} was written to be read again");
                value.unwrap_or_default()
            }
            Form::Tree(value) => (**value).clone(),
        }
    }

    /// Whether it is truthy in Python.
    pub(super) fn is_truthy(&self) -> bool {
        match &self.0 {
            Form::Text(text) if text.starts_with(['"', '[', '{']) => text.len() > 2,
            _ => self.read().is_truthy(),
        }
    }

    /// The value on one line of JSON.
    pub fn json(&self) -> Cow<'_, str> {
        match &self.0 {
            Form::Text(text) => Cow::Borrowed(text),
            Form::Tree(value) => Cow::Owned(value.to_string()),
        }
    }

    /// How many bytes it takes on the heap.
    pub(super) fn size(&self) -> usize {
        match &self.0 {
            Form::Text(text) => text.len(),
            Form::Tree(value) => value.to_string().len() * 8,
        }
    }
}

/// Whether JSON expresses a value exactly: it has no NaN and no infinity, and is not too deep to be parsed.
fn is_plain(value: &Value, depth: usize) -> bool {
    let Some(below) = depth.checked_sub(1) else { return false };
    match value {
        Value::Number(number) => number.is_json(),
        Value::List(items) => items.iter().all(|item| is_plain(item, below)),
        Value::Object(entries) => entries.values().all(|item| is_plain(item, below)),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_stored_unchanged() {
        for text in [
            "null",
            "0.0",
            "[]",
            "{}",
            "[0]",
            "[1.50, 1e400, NaN, -Infinity, 123456789012345678901234567890]",
            r#"{"a\u001b\u0085": ["\ud83d"]}"#,
            "\"\"",
        ] {
            let value = json::read(text).unwrap();
            let kept = CompactValue::new(&value);
            assert_eq!((kept.read().to_string(), kept.is_truthy()), (value.to_string(), value.is_truthy()), "{text}");
        }
        let nan = json::read("[NaN]").unwrap();
        assert_eq!(CompactValue::new(&nan).read(), nan);
        let mut deep = Value::Null;
        for _ in 0..DEEPEST * 3 {
            deep = Value::List(vec![deep]);
        }
        assert_eq!(CompactValue::new(&deep).read(), deep);
    }
}
