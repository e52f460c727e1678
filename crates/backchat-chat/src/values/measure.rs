//! Measures a value's tree, and refuses values that nest too deeply or have too many parts.

use minijinja::Value;
use minijinja::value::Tuple;

use super::containers::{Dict, List};
use super::error::{Result, error};
use super::extent::Extent;
use super::group::Group;
use super::kind::Kind;
use super::lazy::{Generator, View};
use super::namespace::Namespace;
use crate::engine::limits;

/// How deep values may nest. Values are dropped and printed recursively, and a loop can add a level in each iteration.
const MAX_DEPTH: u16 = 400;

/// The assumed extent of a cycler, loop, method or macro, which do not record the extents of what they hold.
/// [`check_held`] ensures that they hold nothing deeper.
const OPAQUE: Extent = Extent { depth: MAX_DEPTH / 2, parts: 1 };

/// Fails if these values nest too deep for an object whose extent is [`OPAQUE`].
pub(crate) fn check_held<'v>(items: impl IntoIterator<Item = &'v Value>) -> Result<()> {
    let extent = around(items);
    check(Extent { depth: extent.depth.saturating_add(OPAQUE.depth), ..extent })
}

/// The extent of a container of these items. Fails if that nests too deep or has too many parts.
pub(crate) fn checked<'v>(items: impl IntoIterator<Item = &'v Value>) -> Result<Extent> {
    let extent = around(items);
    check(extent).map(|()| extent)
}

/// Fails if a value of this extent nests too deep or has too many parts.
pub(crate) fn check(extent: Extent) -> Result<()> {
    if extent.depth > MAX_DEPTH {
        return Err(error(format!("values nested more than {MAX_DEPTH} deep")));
    }
    limits::items(extent.parts)
}

fn around<'v>(items: impl IntoIterator<Item = &'v Value>) -> Extent {
    items.into_iter().fold(Extent::CONTAINER, |whole, item| whole.with(extent(item)))
}

fn extent(value: &Value) -> Extent {
    let Some(object) = value.as_object() else { return Extent::SCALAR };
    if let Some(list) = object.downcast_ref::<List>() {
        list.extent
    } else if let Some(dict) = object.downcast_ref::<Dict>() {
        dict.extent
    } else if let Some(items) = object.downcast_ref::<Vec<Value>>() {
        around(items)
    } else if let Some(items) = object.downcast_ref::<Tuple>() {
        around(items.iter())
    } else if let Some(generator) = object.downcast_ref::<Generator>() {
        generator.extent
    } else if let Some(view) = object.downcast_ref::<View>() {
        view.extent
    } else if let Some(namespace) = object.downcast_ref::<Namespace>() {
        namespace.extent()
    } else if let Some(group) = object.downcast_ref::<Group>() {
        around([&group.grouper, &group.list])
    } else {
        OPAQUE
    }
}

/// Counts a value with everything in it, as comparing it with an equal one does.
pub(crate) fn charge_deep(value: &Value) -> Result<()> {
    fn spend_deep(value: &Value) -> bool {
        match Kind::of(value) {
            Kind::Str(text) => limits::spend_text(text),
            Kind::List(items) | Kind::Tuple(items) => limits::spend(1) && items.iter().all(spend_deep),
            Kind::Dict(dict) => {
                limits::spend(1) && dict.entries().all(|(key, value)| spend_deep(&key.value()) && spend_deep(value))
            }
            _ => limits::spend(1),
        }
    }
    spend_deep(value);
    limits::check()
}
