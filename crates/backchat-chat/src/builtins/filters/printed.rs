//! Filters that no prompt needs. They exist so that templates that name them compile; they fail rather than give a
//! result that differs from Jinja2's.

use minijinja::Value;

use crate::engine::limits;
use crate::engine::run::Run;
use crate::values::arguments::{bind, truth_or};
use crate::values::build;
use crate::values::entries::Key;
use crate::values::markup;
use crate::values::measure;
use crate::values::text::{to_str, write_repr};
use crate::values::{Kind, Result, error, items_of};
use backchat_core::python::space::is_space;

/// The maximum width of a value that Python prints on one line.
const LINE: usize = 80;

/// `repr()` with sorted dictionaries. Fails on more than one line of text: Python's line breaking is not implemented.
pub(super) fn pprint(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    bind("pprint", [], arguments)?;
    measure::charge_deep(value)?;
    let mut out = String::new();
    write_repr(&mut out, &sorted(value)?);
    limits::check()?;
    if out.chars().count() > LINE {
        return Err(error(format!("pprint of more than {LINE} characters is not supported")));
    }
    Ok(Value::from(out))
}

/// The value with the entries of every dictionary in the order of their keys.
fn sorted(value: &Value) -> Result<Value> {
    match Kind::of(value) {
        Kind::List(items) => build::list(items.iter().map(sorted).collect::<Result<_>>()?),
        Kind::Tuple(items) => build::tuple(items.iter().map(sorted).collect::<Result<_>>()?),
        Kind::Dict(dict) => {
            let mut entries: Vec<(Key, &Value)> = dict.read_all().map(|(key, value)| (key.clone(), value)).collect();
            if entries.iter().any(|(key, _)| key.value().as_str().is_none()) && entries.len() > 1 {
                return Err(error("pprint of keys that are not strings is not supported"));
            }
            entries.sort_by_key(|(key, _)| key.value());
            let ordered = entries.into_iter().map(|(key, value)| Ok((key, sorted(value)?)));
            build::dict(ordered.collect::<Result<_>>()?)
        }
        _ => Ok(value.clone()),
    }
}

/// The only item. Several are refused, because the render would not be reproducible.
pub(super) fn random(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    bind("random", [], arguments)?;
    match items_of(value)?.as_slice() {
        [] => Ok(Value::UNDEFINED),
        [only] => Ok(only.clone()),
        _ => Err(error("random is not supported: a prompt should be the same each time it is rendered")),
    }
}

/// A dictionary as attributes of an element, without those that are none or undefined.
pub(super) fn xmlattr(run: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    let [autospace] = bind("xmlattr", ["autospace"], arguments)?;
    let Kind::Dict(dict) = Kind::of(value) else { return Err(error("xmlattr expects a dictionary")) };
    let mut out = String::new();
    for (key, value) in dict.read_all().filter(|(_, value)| !value.is_none() && !value.is_undefined()) {
        let key = key.value();
        let Some(name) = key.as_str() else { return Err(error("xmlattr expects string keys")) };
        if name.contains(|c: char| is_space(c) || matches!(c, '/' | '>' | '=')) {
            return Err(error(format!("invalid character in the attribute name '{name}'")));
        }
        if !out.is_empty() || truth_or(&autospace, true) {
            out.push(' ');
        }
        markup::escape_into(&mut out, name);
        out.push_str("=\"");
        match value.is_safe() {
            true => out.push_str(&to_str(value)),
            false => markup::escape_into(&mut out, &to_str(value)),
        }
        out.push('"');
        limits::size(out.len())?;
    }
    Ok(if run.escapes.get() { Value::from_safe_string(out) } else { Value::from(out) })
}
