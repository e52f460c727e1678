//! Calls of and references to the methods of Python's types.

pub(crate) mod strings;

use std::sync::Arc;

use minijinja::Value;
use minijinja::value::{Object, ObjectRepr};

use crate::builtins::names::{self, types};
use crate::engine::limits;
use crate::values::arguments::{integer_or, none, only, positional, required};
use crate::values::build;
use crate::values::containers::Dict;
use crate::values::entries;
use crate::values::equality;
use crate::values::lazy::Side;
use crate::values::markup;
use crate::values::measure;
use crate::values::{Kind, Result, error, immutable, type_name};

/// Whether the type of a value has a method with this name, which takes precedence over a key.
pub(crate) fn has(value: &Value, name: &str) -> bool {
    let own = match Kind::of(value) {
        Kind::Str(_) => types::STR,
        Kind::List(_) => types::LIST,
        Kind::Tuple(_) => types::TUPLE,
        Kind::Dict(_) => types::DICT,
        _ => return false,
    };
    names::types_with(name) & own != 0
}

/// Calls a method that the type of a value has.
pub(crate) fn call(value: &Value, name: &str, arguments: &[Value]) -> Result<Value> {
    if names::CHANGING.contains(&name) {
        return Err(immutable(type_name(value), name));
    }
    let answer = match Kind::of(value) {
        Kind::Str(text) => strings::call(value, text, name, arguments)?,
        Kind::List(items) | Kind::Tuple(items) => sequence(value, items, name, arguments)?,
        Kind::Dict(dict) => mapping(value, dict, name, arguments)?,
        _ => None,
    };
    answer.ok_or_else(|| error(format!("the method '{name}' of a {} is not supported", type_name(value))))
}

fn sequence(value: &Value, items: &[Value], name: &str, arguments: &[Value]) -> Result<Option<Value>> {
    match name {
        "copy" => none(name, arguments).map(|()| Some(value.clone())),
        "count" => {
            let wanted = only(name, "value", arguments)?;
            Ok(Some(Value::from(items.iter().filter(|item| equality::equal(item, &wanted)).count())))
        }
        "index" => {
            let [wanted, start, end] = positional(name, ["value", "start", "stop"], arguments)?;
            let wanted = required(name, "value", wanted)?;
            let len = i64::try_from(items.len()).unwrap_or(i64::MAX);
            let place = |at: i64| usize::try_from(if at < 0 { at.saturating_add(len).max(0) } else { at }).unwrap_or(0);
            let start = place(integer_or(name, &start, 0)?);
            let end = place(integer_or(name, &end, len)?);
            let mut candidates = items.iter().enumerate().take(end).skip(start);
            match candidates.find(|(_, item)| equality::equal(item, &wanted)) {
                Some((at, _)) => Ok(Some(Value::from(at))),
                None => Err(error(format!("value is not in {}", type_name(value)))),
            }
        }
        _ => Ok(None),
    }
}

fn mapping(value: &Value, dict: &Dict, name: &str, arguments: &[Value]) -> Result<Option<Value>> {
    match name {
        "get" => {
            let [key, default] = positional(name, ["key", "default"], arguments)?;
            let key = required(name, "key", key)?;
            entries::Key::of(&key)?;
            Ok(Some(dict.get(&key).unwrap_or_else(|| default.unwrap_or_else(|| Value::from(())))))
        }
        "keys" => none(name, arguments).and_then(|()| build::view(dict, Side::Keys)).map(Some),
        "values" => none(name, arguments).and_then(|()| build::view(dict, Side::Values)).map(Some),
        "items" => none(name, arguments).and_then(|()| build::view(dict, Side::Items)).map(Some),
        "copy" => none(name, arguments).map(|()| Some(value.clone())),
        _ => Ok(None),
    }
}

/// A method that was referenced but not called.
#[derive(Debug)]
pub(crate) struct Method {
    pub(crate) of: Value,
    pub(crate) name: String,
}

impl Object for Method {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn render(self: &Arc<Self>, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "<built-in method {} of {} object>", self.name, type_name(&self.of))
    }
}

/// `value.name`, if some type has a method of that name: a method of the value's type takes precedence over a key.
pub(crate) fn attribute(value: &Value, name: &str) -> Result<Value> {
    if value.is_undefined() {
        return Err(error("a value is undefined"));
    }
    if has(value, name) {
        measure::check_held([value])?;
        Ok(Value::from_object(Method { of: value.clone(), name: name.to_owned() }))
    } else {
        value.get_attr(name)
    }
}

/// `value[key]`. A key takes precedence over a method of the same name.
pub(crate) fn item(value: &Value, key: &Value) -> Result<Value> {
    let found = match (Kind::of(value), Kind::of(key)) {
        (Kind::Str(text), Kind::Int(index)) => character(value, text, index)?,
        (Kind::Str(text), Kind::Bool(index)) => character(value, text, i128::from(index))?,
        // Python's sequences do not accept a float as an index.
        (Kind::Str(_), _) | (Kind::List(_) | Kind::Tuple(_), Kind::Float(_)) => Value::UNDEFINED,
        _ => value.get_item(key)?,
    };
    match key.as_str() {
        Some(name) if found.is_undefined() && names::is_method(name) => attribute(value, name),
        _ => {
            limits::check()?;
            Ok(found)
        }
    }
}

/// One character of a text, counted from the end if the index is negative.
fn character(value: &Value, text: &str, index: i128) -> Result<Value> {
    let steps = usize::try_from(index.unsigned_abs()).unwrap_or(usize::MAX);
    let found = if index < 0 {
        // Going backward through a text cannot skip several bytes at a time.
        limits::charge_bytes(steps.min(text.len()))?;
        text.chars().rev().nth(steps - 1)
    } else {
        limits::charge_skipped(steps.min(text.len()))?;
        let (before, rest) = text.split_at_checked(steps).unwrap_or((text, ""));
        // Most texts are ASCII, which is faster to check than counting characters.
        if before.is_ascii() { rest.chars().next() } else { text.chars().nth(steps) }
    };
    Ok(found.map_or(Value::UNDEFINED, |c| markup::like(value, c.to_string())))
}
