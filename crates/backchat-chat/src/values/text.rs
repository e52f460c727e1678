//! `str()` and `repr()`.

use std::borrow::Cow;
use std::fmt::Write;

use minijinja::Value;

use super::Kind;
use super::entries::Key;
use super::group::Group;
use super::lazy::{Generator, Range, View};
use super::namespace::Namespace;
use super::number::LongInteger;
use crate::engine::limits;
use backchat_core::python;
use backchat_core::python::number::write_float;

/// `str(value)`.
pub(crate) fn to_str(value: &Value) -> Cow<'_, str> {
    match value.as_str() {
        Some(text) => Cow::Borrowed(text),
        None => {
            let mut out = String::new();
            write_str(&mut out, value);
            Cow::Owned(out)
        }
    }
}

/// Appends `str(value)`.
pub(crate) fn write_str(out: &mut String, value: &Value) {
    match Kind::of(value) {
        Kind::Undefined => {}
        Kind::Str(text) => out.push_str(text),
        // Inside another value, it is abbreviated: namespaces may hold each other in a cycle.
        Kind::Object(_) if let Some(namespace) = value.downcast_object_ref::<Namespace>() => {
            write_entries(out, "<Namespace {", namespace.entries().iter(), "}>")
        }
        _ => write_repr(out, value),
    }
}

/// Appends `repr(value)`. Stops once a limit is exceeded; the calling operation then fails.
pub(crate) fn write_repr(out: &mut String, value: &Value) {
    if !limits::has_room(out) {
        return;
    }
    match Kind::of(value) {
        Kind::Undefined => out.push_str("Undefined"),
        Kind::None => out.push_str("None"),
        Kind::Bool(true) => out.push_str("True"),
        Kind::Bool(false) => out.push_str("False"),
        Kind::Int(value) => {
            let _ = write!(out, "{value}");
        }
        Kind::Float(value) => write_float(out, value),
        Kind::Str(text) if value.is_safe() => {
            out.push_str("Markup(");
            write_quoted(out, text);
            out.push(')');
        }
        Kind::Str(text) => write_quoted(out, text),
        Kind::List(items) => write_items(out, "[", items, "]"),
        Kind::Tuple([only]) => {
            out.push('(');
            write_repr(out, only);
            out.push_str(",)");
        }
        Kind::Tuple(items) => write_items(out, "(", items, ")"),
        Kind::Dict(dict) => write_entries(out, "{", dict.read_all(), "}"),
        Kind::Object(object) => write_object(out, value, object),
        Kind::Other => out.push_str(&value.to_string()),
    }
}

/// Appends items, or entries with their keys, in brackets and with commas.
fn write_all<'v>(out: &mut String, open: &str, parts: impl Iterator<Item = (Option<&'v Key>, &'v Value)>, close: &str) {
    out.push_str(open);
    for (index, (key, value)) in parts.enumerate() {
        if limits::is_exceeded() {
            return;
        }
        if index > 0 {
            out.push_str(", ");
        }
        if let Some(key) = key {
            write_repr(out, key.as_value());
            out.push_str(": ");
        }
        write_repr(out, value);
    }
    out.push_str(close);
}

fn write_items(out: &mut String, open: &str, items: &[Value], close: &str) {
    write_all(out, open, items.iter().map(|item| (None, item)), close);
}

fn write_entries<'v>(out: &mut String, open: &str, entries: impl Iterator<Item = (&'v Key, &'v Value)>, close: &str) {
    write_all(out, open, entries.map(|(key, value)| (Some(key), value)), close);
}

fn write_object(out: &mut String, value: &Value, object: &minijinja::value::DynObject) {
    if let Some(long) = value.downcast_object_ref::<LongInteger>() {
        out.push_str(&long.0);
    } else if let Some(view) = value.downcast_object_ref::<View>() {
        out.push_str(view.type_name());
        write_items(out, "([", &view.items, "])");
    } else if let Some(range) = value.downcast_object_ref::<Range>() {
        let _ = match range.step {
            1 => write!(out, "range({}, {})", range.start, range.stop),
            step => write!(out, "range({}, {}, {step})", range.start, range.stop),
        };
    } else if value.downcast_object_ref::<Generator>().is_some() {
        out.push_str("<generator object>");
    } else if let Some(group) = value.downcast_object_ref::<Group>() {
        write_items(out, "(", &[group.grouper.clone(), group.list.clone()], ")");
    } else if value.downcast_object_ref::<Namespace>().is_some() {
        out.push_str("<Namespace {...}>");
    } else {
        out.push_str(&object.to_string());
    }
}

/// Appends `repr(text)`, or nothing once a limit is exceeded.
fn write_quoted(out: &mut String, text: &str) {
    if limits::spend_text(text) {
        python::write_quoted(out, text);
    }
}
