//! Writes values as JSON, compact or indented; values of standard JSON read back unchanged.

use std::fmt::{self, Display, Write};

use super::Value;
use super::plain::written_length;
use crate::text::slice;

/// Writes the value as one line of JSON, with Python's `, ` and `: `; NaN and infinities are `null`.
impl Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        compact(self, out)
    }
}

impl Value {
    /// Appends the value as one line of JSON, as it is displayed. A string with enough capacity is not reallocated.
    pub fn write_to(&self, out: &mut String) {
        // Writing to a string does not fail.
        let _ = compact(self, out);
    }

    /// The value as JSON over several lines, each level set in by `indent`; no newline at the end.
    ///
    /// Short values stay on one line, except for the value as a whole.
    pub fn to_pretty(&self, indent: &str) -> String {
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = pretty(self, indent, 0, &mut out);
        out
    }
}

/// The longest list or object that [`Value::to_pretty`] leaves on one line, in bytes.
const SHORT: usize = 60;

/// Accepts up to this many bytes, then fails.
struct Room(usize);

impl Write for Room {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.checked_sub(text.len()).ok_or(fmt::Error)?;
        Ok(())
    }
}

fn pretty(value: &Value, indent: &str, depth: usize, out: &mut String) -> fmt::Result {
    let is_short = || write!(Room(SHORT), "{value}").is_ok();
    match value {
        Value::List(items) if items.is_empty() => return out.write_str("[]"),
        Value::Object(entries) if entries.is_empty() => return out.write_str("{}"),
        Value::List(_) | Value::Object(_) if depth > 0 && is_short() => return write!(out, "{value}"),
        _ => {}
    }
    let mut first = true;
    let mut next_line = |out: &mut String, depth: usize| {
        out.push_str(if std::mem::take(&mut first) { "\n" } else { ",\n" });
        (0..depth).for_each(|_| out.push_str(indent));
    };
    let close = match value {
        Value::List(items) => {
            out.push('[');
            for item in items {
                next_line(out, depth + 1);
                pretty(item, indent, depth + 1, out)?;
            }
            ']'
        }
        Value::Object(entries) => {
            out.push('{');
            for (key, item) in entries {
                next_line(out, depth + 1);
                string(key, out)?;
                out.push_str(": ");
                pretty(item, indent, depth + 1, out)?;
            }
            '}'
        }
        scalar => return write_scalar(scalar, out),
    };
    out.push('\n');
    (0..depth).for_each(|_| out.push_str(indent));
    out.push(close);
    Ok(())
}

fn compact(value: &Value, out: &mut impl Write) -> fmt::Result {
    match value {
        Value::List(items) => {
            out.write_char('[')?;
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.write_str(", ")?;
                }
                compact(item, out)?;
            }
            out.write_char(']')
        }
        Value::Object(entries) => {
            out.write_char('{')?;
            for (i, (key, value)) in entries.iter().enumerate() {
                if i > 0 {
                    out.write_str(", ")?;
                }
                string(key, out)?;
                out.write_str(": ")?;
                compact(value, out)?;
            }
            out.write_char('}')
        }
        scalar => write_scalar(scalar, out),
    }
}

fn write_scalar(value: &Value, out: &mut impl Write) -> fmt::Result {
    match value {
        Value::Bool(true) => out.write_str("true"),
        Value::Bool(false) => out.write_str("false"),
        Value::Number(number) if number.is_json() => out.write_str(number.as_str()),
        Value::String(text) => string(text, out),
        _ => out.write_str("null"),
    }
}

/// Writes a string. In addition to what JSON requires, it escapes DEL and the C1 controls, which terminals obey, and
/// U+2028 and U+2029, which some readers of JSON lines treat as line ends.
fn string(text: &str, out: &mut impl Write) -> fmt::Result {
    out.write_char('"')?;
    let (mut plain_from, mut at) = (0, 0);
    loop {
        at += written_length(slice(text, at..).as_bytes());
        let Some(c) = slice(text, at..).chars().next() else { break };
        let next = at + c.len_utf8();
        if is_escaped(c) {
            out.write_str(slice(text, plain_from..at))?;
            escape(c, out)?;
            plain_from = next;
        }
        at = next;
    }
    out.write_str(slice(text, plain_from..))?;
    out.write_char('"')
}

fn is_escaped(c: char) -> bool {
    matches!(c, '"' | '\\' | '\0'..='\x1F' | '\x7F'..='\u{9F}' | '\u{2028}' | '\u{2029}')
}

/// Writes the escape of a character: a letter if it has one, else a code, or two beyond U+FFFF.
pub fn escape(c: char, out: &mut impl Write) -> fmt::Result {
    match c {
        '"' => out.write_str("\\\""),
        '\\' => out.write_str("\\\\"),
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        '\x08' => out.write_str("\\b"),
        '\x0C' => out.write_str("\\f"),
        other => other.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(out, "\\u{unit:04x}")),
    }
}
