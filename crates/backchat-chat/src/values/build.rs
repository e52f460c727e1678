//! Builds containers and lazy values that neither nest too deep nor have too many parts.

use std::sync::Mutex;

use minijinja::Value;
use minijinja::value::Tuple;

use super::containers::{Dict, List};
use super::entries::{Entries, pair};
use super::error::Result;
use super::extent::Extent;
use super::lazy::{Generator, Side, View};
use super::measure;
use crate::engine::read_recorder::Watch;

pub(crate) fn list(items: Vec<Value>) -> Result<Value> {
    let extent = measure::checked(&items)?;
    Ok(Value::from_object(List { items, extent }))
}

pub(crate) fn tuple(items: Vec<Value>) -> Result<Value> {
    measure::checked(&items)?;
    Ok(Value::from(Tuple::from(items)))
}

/// A dictionary built by the template.
pub(crate) fn dict(entries: Entries) -> Result<Value> {
    let extent = measure::checked(entries.values())?;
    Ok(Value::from_object(Dict { entries, extent, watch: None }))
}

/// A list of the conversation, with its extent.
pub(crate) fn given_list(items: Vec<Value>, extent: Extent) -> Result<Value> {
    measure::check(extent)?;
    Ok(Value::from_object(List { items, extent }))
}

/// A dictionary of the conversation, with its extent; with a watch, it reports lookups.
pub(crate) fn given_dict(entries: Entries, extent: Extent, watch: Option<Watch>) -> Result<Value> {
    measure::check(extent)?;
    Ok(Value::from_object(Dict { entries, extent, watch }))
}

pub(crate) fn generator(items: Vec<Value>) -> Result<Value> {
    let extent = measure::checked(&items)?;
    Ok(Value::from_object(Generator { items: Mutex::new(items.into()), extent }))
}

/// `dict.keys()`, `dict.values()` or `dict.items()`.
pub(crate) fn view(dict: &Dict, side: Side) -> Result<Value> {
    let items = dict.read_all().map(|(key, value)| match side {
        Side::Keys => key.value(),
        Side::Values => value.clone(),
        Side::Items => pair((key, value)),
    });
    let items: Vec<Value> = items.collect();
    let extent = measure::checked(&items)?;
    Ok(Value::from_object(View { items, side, extent }))
}
