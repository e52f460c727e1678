//! `json.dumps`, as transformers' `tojson` calls it.

use std::fmt::Write;

use minijinja::Value;

use super::containers::Dict;
use super::number::LongInteger;
use super::{Kind, Result, error, type_name};
use crate::engine::limits;
use backchat_core::python;

/// Bytes that most values take as JSON.
const SHORT: usize = 128;

/// How `json.dumps` writes.
pub(crate) struct Style<'s> {
    pub(crate) ensure_ascii: bool,
    /// The indent of one level; everything is on one line if absent.
    pub(crate) indent: Option<String>,
    pub(crate) item_separator: &'s str,
    pub(crate) key_separator: &'s str,
    pub(crate) sort_keys: bool,
}

impl Style<'_> {
    pub(crate) fn dumps(&self, value: &Value) -> Result<String> {
        let mut out = String::with_capacity(SHORT);
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
            Kind::Float(value) => python::json::write_float(out, value),
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
        out.push('{');
        if self.sort_keys {
            for (index, (key, value)) in sorted(dict)?.into_iter().enumerate() {
                self.write_entry(out, index, key, value, level + 1)?;
            }
        } else {
            for (index, (key, value)) in dict.entries().enumerate() {
                self.write_entry(out, index, key.as_value(), value, level + 1)?;
            }
        }
        self.new_line(out, level)?;
        out.push('}');
        Ok(())
    }

    fn write_entry(&self, out: &mut String, index: usize, key: &Value, value: &Value, level: usize) -> Result<()> {
        self.begin_entry(out, index, level)?;
        self.write_key(out, key)?;
        out.push_str(self.key_separator);
        self.write(out, value, level)
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
        // Apart from its indent, an entry adds at most as much as one string may hold.
        limits::has_room(out);
        limits::check()?;
        if index > 0 {
            out.push_str(self.item_separator);
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
        if limits::spend_text(text) {
            python::json::write_string(out, text, self.ensure_ascii);
        }
    }
}

/// The entries by their keys, which have to be of one type.
fn sorted(dict: &Dict) -> Result<Vec<(&Value, &Value)>> {
    let mut entries: Vec<_> = dict.entries().map(|(key, value)| (key.as_value(), value)).collect();
    if let [(first, _), rest @ ..] = entries.as_slice()
        && let Some((odd, _)) = rest.iter().find(|(key, _)| key.kind() != first.kind())
    {
        let (a, b) = (type_name(odd), type_name(first));
        return Err(error(format!("'<' not supported between instances of '{a}' and '{b}'")));
    }
    entries.sort_by_key(|(key, _)| *key);
    Ok(entries)
}
