//! Python's spelling of values.

use crate::chat::{write_quoted, write_quoted_in};
use crate::json::Value;

/// The result of `str` for a value.
pub(crate) fn spelling(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => nested(other),
    }
}

/// The result of `repr` for a value.
fn nested(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.as_str().to_owned(),
        Value::String(text) => repr(text),
        Value::List(items) => format!("[{}]", items.iter().map(nested).collect::<Vec<_>>().join(", ")),
        Value::Object(entries) => {
            let entries: Vec<String> =
                entries.iter().map(|(key, value)| format!("{}: {}", repr(key), nested(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// The result of `repr` for a string.
pub(crate) fn repr(text: &str) -> String {
    let mut out = String::new();
    write_quoted(&mut out, text);
    out
}

/// The same in a given quote.
pub(crate) fn quoted(text: &str, quote: char) -> String {
    let mut out = String::new();
    write_quoted_in(&mut out, text, quote);
    out
}
