//! Numbers as values of the engine.

use std::sync::Arc;

use minijinja::Value;
use minijinja::value::{Object, ObjectRepr};

use backchat_core::python::number;

/// An integer too long for the engine's numbers: it can be printed and serialized, but not computed with.
#[derive(Debug)]
pub(crate) struct LongInteger(pub(crate) Box<str>);

impl Object for LongInteger {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }
}

/// An integer as a value, in the smallest of the engine's types.
pub(crate) fn int(value: i128) -> Value {
    i64::try_from(value).map_or_else(|_| Value::from(value), Value::from)
}

/// `int(text, base)`, if that fits an integer of the engine or is decimal.
pub(crate) fn parse_int(text: &str, base: u32) -> Option<Value> {
    let read = number::int(text, base)?;
    if read.radix == 10 && read.digits.len() > number::MAX_DIGITS {
        return None;
    }
    match i128::from_str_radix(&read.digits, read.radix) {
        Ok(value) => Some(int(if read.negative { -value } else { value })),
        Err(_) if read.radix == 10 => Some(Value::from_object(LongInteger(read.canonical().into()))),
        Err(_) => None,
    }
}

/// An integer as a template writes it, in any base.
pub(crate) fn literal(digits: &str) -> Value {
    parse_int(digits, 0).unwrap_or_else(|| Value::from_object(LongInteger(digits.into())))
}

/// `float(text)`, if that is a number.
pub(crate) fn parse_float(text: &str) -> Option<f64> {
    number::float(text)?.parse().ok()
}

/// `int(number)`; `None` for NaN and the infinities.
pub(crate) fn truncated(number: f64) -> Option<Value> {
    let whole = number.trunc();
    if !whole.is_finite() {
        return None;
    }
    // From here up, a double holds integers that the engine's numbers cannot.
    Some(if whole.abs() < 2_f64.powi(126) {
        int(whole as i128)
    } else {
        Value::from_object(LongInteger(format!("{whole:.0}").into()))
    })
}
