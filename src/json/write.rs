use std::fmt::{self, Display, Write};

use super::Value;

/// Writes the value as one line of JSON, with Python's `, ` and `: `; NaN and infinities are `null`.
impl Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => out.write_str("null"),
            Value::Bool(value) => write!(out, "{value}"),
            Value::Number(number) if number.as_f64().is_finite() || number.is_integer() => {
                out.write_str(number.as_str())
            }
            Value::Number(_) => out.write_str("null"),
            Value::String(text) => string(text, out),
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
        }
    }
}

fn string(text: &str, out: &mut impl Write) -> fmt::Result {
    out.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            '\u{8}' => out.write_str("\\b")?,
            '\u{c}' => out.write_str("\\f")?,
            c if c < ' ' => write!(out, "\\u{:04x}", c as u32)?,
            c => out.write_char(c)?,
        }
    }
    out.write_char('"')
}
