//! Equality of values, as by `==`, and of keys of dictionaries, which are equal if their values are.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};

use minijinja::Value;

use super::entries::Key;
use super::error::Result;
use super::kind::Kind;
use super::lazy::{Generator, Range, Side, View, is_lazy};
use crate::engine::limits;

/// `a == b`
pub(crate) fn equal(a: &Value, b: &Value) -> bool {
    if !limits::spend(1) {
        return false;
    }
    match (Kind::of(a), Kind::of(b)) {
        (Kind::List(a), Kind::List(b)) | (Kind::Tuple(a), Kind::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Kind::Dict(a), Kind::Dict(b)) => {
            a.note_whole();
            b.note_whole();
            a.len() == b.len() && a.entries().all(|(key, value)| b.entry(key).is_some_and(|other| equal(value, other)))
        }
        (Kind::List(_) | Kind::Tuple(_) | Kind::Dict(_), _) | (_, Kind::List(_) | Kind::Tuple(_) | Kind::Dict(_)) => {
            false
        }
        (Kind::Str(x), Kind::Str(y)) => x.len() == y.len() && limits::spend_text(x) && x == y,
        (Kind::Object(x), Kind::Object(y)) => equal_lazy(a, b).unwrap_or_else(|| std::ptr::eq(x, y) || a == b),
        _ => a == b,
    }
}

/// Whether two values hold the same, without an effect on the render: no limit is charged, no read is noted, and a generator
/// is compared by what it still holds and keeps that.
pub(crate) fn looks_alike(a: &Value, b: &Value) -> bool {
    let items = |value: &Value| value.downcast_object_ref::<Generator>().map(Generator::remaining);
    let alike = |a: &[Value], b: &[Value]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| looks_alike(a, b));
    match (Kind::of(a), Kind::of(b)) {
        (Kind::List(a) | Kind::Tuple(a), Kind::List(b) | Kind::Tuple(b)) => alike(a, b),
        (Kind::List(a) | Kind::Tuple(a), Kind::Object(_)) => items(b).is_some_and(|b| alike(a, &b)),
        (Kind::Dict(a), Kind::Dict(b)) => {
            let mut pairs = a.entries().zip(b.entries());
            let alike = |((key, value), (other, with)): ((&Key, &Value), (&Key, &Value))| {
                looks_alike(key.as_value(), other.as_value()) && looks_alike(value, with)
            };
            a.len() == b.len() && pairs.all(alike)
        }
        (Kind::Object(x), Kind::Object(y)) => std::ptr::eq(x, y),
        (Kind::Str(a), Kind::Str(b)) => a == b,
        (Kind::List(_) | Kind::Tuple(_) | Kind::Dict(_) | Kind::Object(_), _)
        | (_, Kind::List(_) | Kind::Tuple(_) | Kind::Dict(_) | Kind::Object(_)) => false,
        _ => a == b,
    }
}

/// Whether two values are equal, if one of them is lazy: ranges are compared by their items, views of keys and items as
/// sets, others by identity.
fn equal_lazy(a: &Value, b: &Value) -> Option<bool> {
    if let (Some(a), Some(b)) = (a.downcast_object_ref::<Range>(), b.downcast_object_ref::<Range>()) {
        // Equal if the lengths and the first two numbers are.
        return Some(a.len() == b.len() && (0..a.len().min(2)).all(|index| a.get(index) == b.get(index)));
    }
    if let (Some(a), Some(b)) = (a.downcast_object_ref::<View>(), b.downcast_object_ref::<View>()) {
        let sets = a.side != Side::Values && b.side != Side::Values && a.items.len() == b.items.len();
        return Some(std::ptr::eq(a, b) || sets && same_members(&a.items, &b.items));
    }
    if let (Some(a), Some(b)) = (a.downcast_object_ref::<Generator>(), b.downcast_object_ref::<Generator>()) {
        return Some(std::ptr::eq(a, b));
    }
    (is_lazy(a) || is_lazy(b)).then_some(false)
}

/// Whether every item of one is in the other; by hash if all items are hashable.
fn same_members(some: &[Value], others: &[Value]) -> bool {
    match others.iter().map(Key::of).collect::<Result<HashSet<Key>>>() {
        Ok(keys) => some.iter().all(|item| Key::of(item).is_ok_and(|key| keys.contains(&key))),
        Err(_) => some.iter().all(|item| others.iter().any(|other| equal(item, other))),
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        match (self.as_value().as_str(), other.as_value().as_str()) {
            (Some(a), Some(b)) => a.len() == b.len() && limits::spend_key(a) && a == b,
            (None, None) => equal(self.as_value(), other.as_value()),
            _ => false,
        }
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash(self.as_value(), state);
    }
}

fn hash<H: Hasher>(value: &Value, state: &mut H) {
    // Equal numbers of different types must hash alike, and so must both zeros.
    let mut number = |number: f64| (number + 0.0).to_bits().hash(state);
    match Kind::of(value) {
        Kind::Str(text) => {
            if limits::spend_key(text) {
                text.hash(state);
            }
        }
        Kind::Bool(truth) => number(f64::from(u8::from(truth))),
        Kind::Int(integer) => number(integer as f64),
        Kind::Float(float) => number(float),
        Kind::Tuple(items) => {
            if limits::spend(items.len()) {
                items.iter().for_each(|item| hash(item, state));
            }
        }
        // Everything else is too rare as a key to be worth hashing.
        _ => 0_i64.hash(state),
    }
}
