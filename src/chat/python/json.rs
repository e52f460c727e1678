//! `json.dumps`, as transformers' `tojson` calls it.

use std::fmt::Write;

use minijinja::Value;

use super::containers::Dict;
use super::number::{LongInteger, write_float};
use super::{Kind, Result, error, type_name};
use crate::chat::limits;

/// How `json.dumps` writes.
pub(crate) struct Style {
    pub(crate) ensure_ascii: bool,
    /// What one level is indented by; on one line where absent.
    pub(crate) indent: Option<String>,
    pub(crate) item_separator: String,
    pub(crate) key_separator: String,
    pub(crate) sort_keys: bool,
}

impl Style {
    /// The value as JSON.
    pub(crate) fn dumps(&self, value: &Value) -> Result<String> {
        let mut out = String::new();
        self.write(&mut out, value, 0)?;
        limits::check()?;
        Ok(out)
    }

    fn write(&self, out: &mut String, value: &Value, level: usize) -> Result<()> {
        match Kind::of(value) {
            Kind::None => out.push_str("null"),
            Kind::Bool(value) => out.push_str(if value { "true" } else { "false" }),
            Kind::Int(value) => {
                let _ = write!(out, "{value}");
            }
            Kind::Float(value) => write_json_float(out, value),
            Kind::Str(text) => self.write_string(out, text),
            Kind::List(items) | Kind::Tuple(items) => self.write_list(out, items, level)?,
            Kind::Dict(dict) => self.write_dict(out, dict, level)?,
            Kind::Object(_) if let Some(long) = value.downcast_object_ref::<LongInteger>() => out.push_str(&long.0),
            _ => {
                return Err(error(format!("Object of type {} is not JSON serializable", type_name(value))));
            }
        }
        Ok(())
    }

    fn write_list(&self, out: &mut String, items: &[Value], level: usize) -> Result<()> {
        if items.is_empty() {
            out.push_str("[]");
            return Ok(());
        }
        out.push('[');
        for (index, item) in items.iter().enumerate() {
            self.begin_entry(out, index, level + 1)?;
            self.write(out, item, level + 1)?;
        }
        self.new_line(out, level)?;
        out.push(']');
        Ok(())
    }

    fn write_dict(&self, out: &mut String, dict: &Dict, level: usize) -> Result<()> {
        dict.note_whole();
        if dict.len() == 0 {
            out.push_str("{}");
            return Ok(());
        }
        let mut entries: Vec<(Value, &Value)> = dict.entries().map(|(key, value)| (key.value(), value)).collect();
        if self.sort_keys {
            if let [(first, _), rest @ ..] = entries.as_slice()
                && let Some((odd, _)) = rest.iter().find(|(key, _)| key.kind() != first.kind())
            {
                let (a, b) = (type_name(odd), type_name(first));
                return Err(error(format!("'<' not supported between instances of '{a}' and '{b}'")));
            }
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        }
        out.push('{');
        for (index, (key, value)) in entries.into_iter().enumerate() {
            self.begin_entry(out, index, level + 1)?;
            self.write_key(out, &key)?;
            out.push_str(&self.key_separator);
            self.write(out, value, level + 1)?;
        }
        self.new_line(out, level)?;
        out.push('}');
        Ok(())
    }

    fn write_key(&self, out: &mut String, key: &Value) -> Result<()> {
        match Kind::of(key) {
            Kind::Str(text) => self.write_string(out, text),
            Kind::None | Kind::Bool(_) | Kind::Int(_) | Kind::Float(_) => {
                out.push('"');
                self.write(out, key, 0)?;
                out.push('"');
            }
            _ => return Err(error(format!("keys must be str, int, float, bool or None, not {}", type_name(key)))),
        }
        Ok(())
    }

    fn begin_entry(&self, out: &mut String, index: usize, level: usize) -> Result<()> {
        // What an entry adds besides its indent is no longer than a string may be.
        limits::has_room(out);
        limits::check()?;
        if index > 0 {
            out.push_str(&self.item_separator);
        }
        self.new_line(out, level)
    }

    fn new_line(&self, out: &mut String, level: usize) -> Result<()> {
        if let Some(indent) = &self.indent {
            limits::size(out.len().saturating_add(indent.len().saturating_mul(level)))?;
            out.push('\n');
            for _ in 0..level {
                out.push_str(indent);
            }
        }
        Ok(())
    }

    fn write_string(&self, out: &mut String, text: &str) {
        if !limits::spend_text(text) {
            return;
        }
        out.push('"');
        let mut plain = 0;
        for (at, c) in text.char_indices() {
            let escape = match c {
                '"' => "\\\"",
                '\\' => "\\\\",
                '\n' => "\\n",
                '\r' => "\\r",
                '\t' => "\\t",
                '\u{8}' => "\\b",
                '\u{c}' => "\\f",
                c if c < ' ' || (self.ensure_ascii && !(' '..='~').contains(&c)) => "",
                _ => continue,
            };
            out.push_str(text.get(plain..at).unwrap_or_default());
            plain = at + c.len_utf8();
            out.push_str(escape);
            if escape.is_empty() {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
        out.push_str(text.get(plain..).unwrap_or_default());
        out.push('"');
    }
}

fn write_json_float(out: &mut String, value: f64) {
    match value {
        nan if nan.is_nan() => out.push_str("NaN"),
        f64::INFINITY => out.push_str("Infinity"),
        f64::NEG_INFINITY => out.push_str("-Infinity"),
        finite => write_float(out, finite),
    }
}
