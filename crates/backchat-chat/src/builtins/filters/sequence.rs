//! Filters over sequences and mappings.

use std::cmp::Ordering;

use minijinja::Value;

use super::select::Getter;
use super::text::count;
use crate::engine::limits;
use crate::engine::run::Run;
use crate::values::arguments::{bind, required, truth_or};
use crate::values::build;
use crate::values::entries;
use crate::values::equality;
use crate::values::group::Group;
use crate::values::lazy::{Generator, Range, View};
use crate::values::text::to_str;
use crate::values::{Kind, Result, error, items_of, operators, type_name};

pub(super) fn list(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    bind("list", [], arguments)?;
    build::list(items_of(value)?)
}

pub(super) fn first(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    bind("first", [], arguments)?;
    if let Some(generator) = value.downcast_object_ref::<Generator>() {
        return Ok(generator.next().unwrap_or_default());
    }
    Ok(items_of(value)?.into_iter().next().unwrap_or_default())
}

/// The items from the last to the first; `None` for a value that Python's `reversed()` refuses.
fn reversed(value: &Value) -> Option<Vec<Value>> {
    let reversible = match Kind::of(value) {
        Kind::Undefined | Kind::Str(_) | Kind::List(_) | Kind::Tuple(_) | Kind::Dict(_) => true,
        _ => value.downcast_object_ref::<View>().is_some() || value.downcast_object_ref::<Range>().is_some(),
    };
    let items = if reversible { items_of(value).ok()? } else { return None };
    Some(items.into_iter().rev().collect())
}

pub(super) fn last(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    bind("last", [], arguments)?;
    match reversed(value) {
        Some(items) => Ok(items.into_iter().next().unwrap_or_default()),
        None => Err(error(format!("'{}' object is not reversible", type_name(value)))),
    }
}

pub(super) fn reverse(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    bind("reverse", [], arguments)?;
    if let Kind::Str(text) = Kind::of(value) {
        return Ok(crate::values::markup::like(value, text.chars().rev().collect()));
    }
    match reversed(value) {
        Some(items) => build::generator(items),
        None => build::list(items_of(value)?.into_iter().rev().collect()),
    }
}

pub(super) fn items(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    bind("items", [], arguments)?;
    match Kind::of(value) {
        Kind::Undefined => build::generator(Vec::new()),
        Kind::Dict(dict) => build::generator(dict.read_all().map(entries::pair).collect()),
        _ => Err(error("Can only get item pairs from a mapping.")),
    }
}

/// The sort key of a value: strings ignore case, unless `case_sensitive`.
fn folded(value: Value, case_sensitive: bool) -> Result<Value> {
    match value.as_str() {
        Some(text) if !case_sensitive => {
            // All keys are kept at once, so they cost more than text that is read once.
            limits::charge_bytes(4 * text.len())?;
            Ok(Value::from(text.to_lowercase()))
        }
        _ => Ok(value),
    }
}

/// Sorts by keys, stably; fails for the first pair of keys that has no order.
fn sort_by_keys(mut keyed: Vec<(Value, Value)>, reverse: bool) -> Result<Vec<Value>> {
    let mut failure = None;
    keyed.sort_by(|(a, _), (b, _)| {
        let order = operators::compare("<", a, b);
        let order = order.map(|order| order.unwrap_or(Ordering::Equal)).unwrap_or_else(|problem| {
            failure.get_or_insert(problem);
            Ordering::Equal
        });
        if reverse { order.reverse() } else { order }
    });
    match failure {
        Some(problem) => Err(problem),
        None => Ok(keyed.into_iter().map(|(_, item)| item).collect()),
    }
}

pub(super) fn dictsort(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    let [case_sensitive, by, reverse] = bind("dictsort", ["case_sensitive", "by", "reverse"], arguments)?;
    let by_value = match by.as_ref().map(to_str).as_deref() {
        None | Some("key") => false,
        Some("value") => true,
        Some(_) => return Err(error("You can only sort by either \"key\" or \"value\"")),
    };
    let Kind::Dict(dict) = Kind::of(value) else {
        return Err(error(format!("'{}' object has no attribute 'items'", type_name(value))));
    };
    let case_sensitive = truth_or(&case_sensitive, false);
    let keyed = dict.read_all().map(|(key, value)| {
        let sorted_by = if by_value { value.clone() } else { key.value() };
        Ok((folded(sorted_by, case_sensitive)?, entries::pair((key, value))))
    });
    build::list(sort_by_keys(keyed.collect::<Result<_>>()?, truth_or(&reverse, false))?)
}

pub(super) fn sort(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    let [reverse, case_sensitive, attribute] = bind("sort", ["reverse", "case_sensitive", "attribute"], arguments)?;
    let case_sensitive = truth_or(&case_sensitive, false);
    let getters = match attribute.filter(|attribute| !attribute.is_none()) {
        None => Vec::new(),
        Some(attribute) => match Kind::of(&attribute) {
            Kind::Str(names) => {
                names.split(',').map(|name| Getter::new(&Value::from(name), None)).collect::<Result<_>>()?
            }
            _ => vec![Getter::new(&attribute, None)?],
        },
    };
    let mut keyed = Vec::new();
    for item in items_of(value)? {
        // Jinja2 compares lists of keys, and lists order by their first elements that differ.
        let key = if getters.is_empty() {
            folded(item.clone(), case_sensitive)?
        } else {
            let key = |getter: &Getter| folded(getter.get(&item)?, case_sensitive);
            build::list(getters.iter().map(key).collect::<Result<_>>()?)?
        };
        keyed.push((key, item));
    }
    build::list(sort_by_keys(keyed, truth_or(&reverse, false))?)
}

pub(super) fn unique(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    let [case_sensitive, attribute] = bind("unique", ["case_sensitive", "attribute"], arguments)?;
    let case_sensitive = truth_or(&case_sensitive, false);
    let getter = Getter::of(attribute)?;
    let mut seen = indexmap::IndexSet::new();
    let mut kept = Vec::new();
    for item in items_of(value)? {
        if seen.insert(entries::Key::of(&folded(getter.get(&item)?, case_sensitive)?)?) {
            kept.push(item);
        }
        limits::check()?;
    }
    build::generator(kept)
}

pub(super) fn extreme(function: &str, value: &Value, arguments: &[Value], wanted: Ordering) -> Result<Value> {
    let [case_sensitive, attribute] = bind(function, ["case_sensitive", "attribute"], arguments)?;
    let case_sensitive = truth_or(&case_sensitive, false);
    let getter = Getter::of(attribute)?;
    let mut best: Option<(Value, Value)> = None;
    for item in items_of(value)? {
        let key = folded(getter.get(&item)?, case_sensitive)?;
        let better = match &best {
            Some((leader, _)) => operators::compare("<", &key, leader)? == Some(wanted),
            None => true,
        };
        if better {
            best = Some((key, item));
        }
    }
    Ok(best.map(|(_, item)| item).unwrap_or_default())
}

pub(super) fn sum(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    let [attribute, start] = bind("sum", ["attribute", "start"], arguments)?;
    let getter = Getter::of(attribute)?;
    let mut total = start.unwrap_or_else(|| Value::from(0));
    for item in items_of(value)? {
        if total.as_str().is_some() {
            return Err(error("sum() can't sum strings"));
        }
        total = operators::add(&total, &getter.get(&item)?)?;
    }
    Ok(total)
}

pub(super) fn batch(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    let [size, fill] = bind("batch", ["linecount", "fill_with"], arguments)?;
    let size = count("batch", size)?;
    let fill = fill.filter(|fill| !fill.is_none());
    let items = items_of(value)?;
    let mut rows = Vec::new();
    for chunk in items.chunks(size) {
        let mut row = chunk.to_vec();
        if let Some(fill) = &fill {
            limits::items(size)?;
            row.resize(size, fill.clone());
        }
        rows.push(build::list(row)?);
    }
    build::generator(rows)
}

pub(super) fn slice(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    let [slices, fill] = bind("slice", ["slices", "fill_with"], arguments)?;
    let slices = count("slice", slices)?;
    limits::items(slices)?;
    let fill = fill.filter(|fill| !fill.is_none());
    let items = items_of(value)?;
    let (each, longer) = (items.len() / slices, items.len() % slices);
    let mut rest = items.as_slice();
    let mut columns = Vec::new();
    for index in 0..slices {
        let (column, after) = rest.split_at((each + usize::from(index < longer)).min(rest.len()));
        rest = after;
        let mut column = column.to_vec();
        if let Some(fill) = fill.as_ref().filter(|_| index >= longer && longer > 0) {
            column.push(fill.clone());
        }
        columns.push(build::list(column)?);
    }
    build::generator(columns)
}

pub(super) fn groupby(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    let [attribute, default, case_sensitive] = bind("groupby", ["attribute", "default", "case_sensitive"], arguments)?;
    let getter = Getter::new(&required("groupby", "attribute", attribute)?, default)?;
    let case_sensitive = truth_or(&case_sensitive, false);
    let mut keyed = Vec::new();
    for item in items_of(value)? {
        let name = getter.get(&item)?;
        keyed.push((folded(name.clone(), case_sensitive)?, Value::from((name, item))));
    }
    let mut groups: Vec<(Value, Value, Vec<Value>)> = Vec::new();
    for pair in sort_by_keys(keyed, false)? {
        let (name, item) = (pair.get_item_by_index(0)?, pair.get_item_by_index(1)?);
        let key = folded(name.clone(), case_sensitive)?;
        match groups.last_mut() {
            Some((last, _, members)) if equality::equal(last, &key) => members.push(item),
            _ => groups.push((key, name, vec![item])),
        }
    }
    let group = |(_, grouper, members)| Ok(Value::from_object(Group { grouper, list: build::list(members)? }));
    build::list(groups.into_iter().map(group).collect::<Result<_>>()?)
}
