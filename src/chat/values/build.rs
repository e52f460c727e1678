//! Makes containers and lazy values, none of which nests too deep or has too many parts.

use minijinja::Value;
use minijinja::value::Tuple;

use super::containers::{Dict, Entries, List};
use super::error::Result;
use super::lazy::{Generator, Side, View};
use super::measure;
use crate::chat::engine::read_recorder::Watch;

/// A list.
pub(crate) fn list(items: Vec<Value>) -> Result<Value> {
    let extent = measure::checked(&items)?;
    Ok(Value::from_object(List::new(items, extent)))
}

/// A tuple.
pub(crate) fn tuple(items: Vec<Value>) -> Result<Value> {
    measure::checked(&items)?;
    Ok(Value::from(Tuple::from(items)))
}

/// A dictionary that the template made.
pub(crate) fn dict(entries: Entries) -> Result<Value> {
    given_dict(entries, None)
}

/// A dictionary that came with the conversation; with a watch, it reports what it is asked for.
pub(crate) fn given_dict(entries: Entries, watch: Option<Watch>) -> Result<Value> {
    let extent = measure::checked(entries.values())?;
    Ok(Value::from_object(Dict::new(entries, extent, watch)))
}

/// A generator of these items.
pub(crate) fn generator(items: Vec<Value>) -> Result<Value> {
    let extent = measure::checked(&items)?;
    Ok(Value::from_object(Generator::new(items, extent)))
}

/// `dict.keys()`, `dict.values()` or `dict.items()`.
pub(crate) fn view(dict: &Dict, side: Side) -> Result<Value> {
    dict.note_whole();
    let items: Vec<Value> = match side {
        Side::Keys => dict.keys().collect(),
        Side::Values => dict.entries().map(|(_, value)| value.clone()).collect(),
        Side::Items => dict.entries().map(|(key, value)| Value::from((key.value(), value.clone()))).collect(),
    };
    let extent = measure::checked(&items)?;
    Ok(Value::from_object(View::new(items, side, extent)))
}
