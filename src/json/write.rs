use std::fmt::{self, Display, Write};

use super::Value;

/// Writes the value as one line of JSON, with Python's `, ` and `: `; NaN and infinities are `null`.
impl Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::List(items) => {
                out.write_char('[')?;
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.write_str(", ")?;
                    }
                    write!(out, "{item}")?;
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
                    write!(out, ": {value}")?;
                }
                out.write_char('}')
            }
            scalar => write_scalar(scalar, out),
        }
    }
}

impl Value {
    /// The value as JSON over several lines, each level set in by `indent`; no newline at the end.
    ///
    /// Lists and objects without lists or objects inside them stay on one line where that is short.
    pub fn to_pretty(&self, indent: &str) -> String {
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = pretty(self, indent, 0, &mut out);
        out
    }
}

/// The longest list or object that [`Value::to_pretty`] leaves on one line.
const SHORT: usize = 60;

fn pretty(value: &Value, indent: &str, depth: usize, out: &mut String) -> fmt::Result {
    if is_short(value) {
        return write!(out, "{value}");
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

/// Whether a value is written on one line: scalars, what is empty, and short flat lists and objects.
fn is_short(value: &Value) -> bool {
    let nests = |value: &Value| matches!(value, Value::List(_) | Value::Object(_));
    match value {
        Value::List(items) if items.is_empty() => true,
        Value::Object(entries) if entries.is_empty() => true,
        Value::List(items) => !items.iter().any(nests) && value.to_string().len() <= SHORT,
        Value::Object(entries) => !entries.values().any(nests) && value.to_string().len() <= SHORT,
        _ => true,
    }
}

fn write_scalar(value: &Value, out: &mut impl Write) -> fmt::Result {
    match value {
        Value::Bool(value) => write!(out, "{value}"),
        Value::Number(number) if number.is_json() => out.write_str(number.as_str()),
        Value::String(text) => string(text, out),
        _ => out.write_str("null"),
    }
}

fn string(text: &str, out: &mut impl Write) -> fmt::Result {
    out.write_char('"')?;
    let mut plain_from = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.write_str(text.get(plain_from..at).unwrap_or(""))?;
        plain_from = at + 1;
        match byte {
            b'"' => out.write_str("\\\"")?,
            b'\\' => out.write_str("\\\\")?,
            b'\n' => out.write_str("\\n")?,
            b'\r' => out.write_str("\\r")?,
            b'\t' => out.write_str("\\t")?,
            0x08 => out.write_str("\\b")?,
            0x0C => out.write_str("\\f")?,
            control => write!(out, "\\u{control:04x}")?,
        }
    }
    out.write_str(text.get(plain_from..).unwrap_or(""))?;
    out.write_char('"')
}
