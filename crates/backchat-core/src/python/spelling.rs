//! The text that `str()` and `repr()` give for strings and JSON values.

use std::fmt::Write;

use super::printable::is_printable;
use crate::json::Value;

/// `str(value)`. Numbers keep the text they were written with.
pub fn spelling(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => nested(other),
    }
}

/// `repr(value)`. Numbers keep the text they were written with.
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

/// `repr(text)`.
pub fn repr(text: &str) -> String {
    let mut out = String::new();
    write_quoted(&mut out, text);
    out
}

/// `repr(text)` with the given quote.
pub fn quoted(text: &str, quote: char) -> String {
    let mut out = String::new();
    write_quoted_in(&mut out, text, quote);
    out
}

/// Appends `repr(text)`: in single quotes, unless the text contains these and no double ones.
pub fn write_quoted(out: &mut String, text: &str) {
    write_quoted_in(out, text, if text.contains('\'') && !text.contains('"') { '"' } else { '\'' });
}

/// Appends a string in the given quote, with an escape for each character that is not printable.
fn write_quoted_in(out: &mut String, text: &str, quote: char) {
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if c == ' ' || c.is_ascii_graphic() => out.push(c),
            c if is_printable(c) => out.push(c),
            c => {
                let code = u32::from(c);
                // Writing to a string does not fail.
                let _ = match code {
                    0..=0xff => write!(out, "\\x{code:02x}"),
                    0x100..=0xffff => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push(quote);
}
