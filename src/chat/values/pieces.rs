//! Long text that is printed and nothing else: its parts, which need not be put together for that.

use std::fmt;
use std::sync::Arc;

use minijinja::Value;
use minijinja::value::{Object, ObjectRepr};

use super::operators;
use super::text::write_str;
use crate::chat::values::Result;

/// Bytes of text from which on its parts are kept; shorter text is put together faster.
const LONG: usize = 256;
/// As many parts are kept at most.
const MANY: usize = 32;

/// The parts of a text. No template ever sees it: only what is printed is computed this way.
#[derive(Debug)]
pub(crate) struct Pieces(Vec<Value>);

impl Pieces {
    pub(crate) fn of(value: &Value) -> Option<&[Value]> {
        value.downcast_object_ref::<Self>().map(|pieces| pieces.0.as_slice())
    }
}

impl Object for Pieces {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn render(self: &Arc<Self>, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&joined(&self.0))
    }
}

fn joined(pieces: &[Value]) -> String {
    let mut text = String::new();
    pieces.iter().for_each(|piece| write_str(&mut text, piece));
    text
}

/// The bytes of a text that joins others as it is.
fn plain(value: &Value) -> Option<usize> {
    value.as_str().filter(|_| !value.is_safe()).map(str::len)
}

/// `a + b`, printed. `a` may be the pieces of an addition before.
pub(crate) fn add(a: &Value, b: &Value) -> Result<Value> {
    match (Pieces::of(a), plain(a), plain(b)) {
        (Some(pieces), _, Some(_)) if pieces.len() < MANY => {
            Ok(Value::from_object(Pieces(pieces.iter().chain([b]).cloned().collect())))
        }
        (Some(pieces), _, _) => operators::add(&Value::from(joined(pieces)), b),
        (_, Some(left), Some(right)) if left + right >= LONG => {
            Ok(Value::from_object(Pieces(vec![a.clone(), b.clone()])))
        }
        _ => operators::add(a, b),
    }
}

/// `a ~ b ~ …`, printed.
pub(crate) fn concat<'v>(parts: impl Iterator<Item = &'v Value> + Clone) -> Result<Value> {
    let known: usize = parts.clone().filter_map(plain).sum();
    if known >= LONG {
        return Ok(Value::from_object(Pieces(parts.cloned().collect())));
    }
    operators::concat(parts)
}
