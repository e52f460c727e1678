//! Python's operators, with its errors for operands of the wrong types.

use std::cmp::Ordering;

use minijinja::Value;

use super::arguments::clamped;
use super::build;
use super::entries::Key;
use super::equality::equal;
use super::lazy::{self, Range};
use super::namespace::Namespace;
use super::number::int;
use super::text::{to_str, write_str};
use super::{Kind, Number, Result, error, items_of, type_name};
use crate::engine::limits;
use crate::values::markup;

fn unsupported(operator: &str, a: &Value, b: &Value) -> minijinja::Error {
    error(format!("unsupported operand type(s) for {operator}: '{}' and '{}'", type_name(a), type_name(b)))
}

fn too_large() -> minijinja::Error {
    error("integer too large to compute with")
}

fn arithmetic(
    operator: &str,
    a: &Value,
    b: &Value,
    ints: impl Fn(i128, i128) -> Option<i128>,
    floats: impl Fn(f64, f64) -> f64,
) -> Result<Value> {
    match (Number::of(a), Number::of(b)) {
        (Some(Number::Int(a)), Some(Number::Int(b))) => ints(a, b).map(int).ok_or_else(too_large),
        (Some(a), Some(b)) => Ok(Value::from(floats(a.as_f64(), b.as_f64()))),
        _ => Err(unsupported(operator, a, b)),
    }
}

/// `a + b`
pub(crate) fn add(a: &Value, b: &Value) -> Result<Value> {
    match (Kind::of(a), Kind::of(b)) {
        (Kind::Str(x), Kind::Str(y)) if a.is_safe() || b.is_safe() => {
            let mut out = String::new();
            for (value, text) in [(a, x), (b, y)] {
                if value.is_safe() { out.push_str(text) } else { markup::escape_into(&mut out, text) }
            }
            limits::size(out.len())?;
            Ok(Value::from_safe_string(out))
        }
        (Kind::Str(a), Kind::Str(b)) => {
            limits::size(a.len() + b.len())?;
            limits::charge_bytes(a.len() + b.len())?;
            Ok(Value::from([a, b].concat()))
        }
        (Kind::List(a), Kind::List(b)) => joined(a, b, build::list),
        (Kind::Tuple(a), Kind::Tuple(b)) => joined(a, b, build::tuple),
        (Kind::Str(_), _) if !matches!(Kind::of(b), Kind::Undefined) => {
            Err(error(format!("can only concatenate str (not \"{}\") to str", type_name(b))))
        }
        _ => arithmetic("+", a, b, i128::checked_add, |a, b| a + b),
    }
}

/// A list or a tuple.
type Sequence = fn(Vec<Value>) -> Result<Value>;

fn joined(a: &[Value], b: &[Value], build: Sequence) -> Result<Value> {
    limits::items(a.len() + b.len())?;
    limits::charge_units(a.len() + b.len())?;
    build([a, b].concat())
}

/// `a - b`
pub(crate) fn sub(a: &Value, b: &Value) -> Result<Value> {
    arithmetic("-", a, b, i128::checked_sub, |a, b| a - b)
}

/// `a * b`; one may be a string or list
pub(crate) fn mul(a: &Value, b: &Value) -> Result<Value> {
    let times = |value: &Value| match Number::of(value) {
        Some(Number::Int(times)) => Some(usize::try_from(times.max(0)).unwrap_or(usize::MAX)),
        _ => None,
    };
    let (repeated, number) = if Number::of(a).is_some() { (b, a) } else { (a, b) };
    match (Kind::of(repeated), times(number)) {
        (Kind::Str(text), Some(times)) => {
            limits::size(text.len().saturating_mul(times))?;
            Ok(markup::like(repeated, text.repeat(times)))
        }
        (Kind::List(items), Some(times)) => repeated_items(items, times, build::list),
        (Kind::Tuple(items), Some(times)) => repeated_items(items, times, build::tuple),
        _ => arithmetic("*", a, b, i128::checked_mul, |a, b| a * b),
    }
}

fn repeated_items(items: &[Value], times: usize, build: Sequence) -> Result<Value> {
    limits::items(items.len().saturating_mul(times))?;
    build(std::iter::repeat_n(items, times).flatten().cloned().collect())
}

fn zero(value: &Value) -> bool {
    Number::of(value).is_some_and(|number| number.as_f64() == 0.0)
}

/// `a / b`
pub(crate) fn div(a: &Value, b: &Value) -> Result<Value> {
    match (Number::of(a), Number::of(b)) {
        (Some(_), Some(_)) if zero(b) => Err(error("division by zero")),
        (Some(x), Some(y)) => Ok(Value::from(x.as_f64() / y.as_f64())),
        _ => Err(unsupported("/", a, b)),
    }
}

fn floor_ints(a: i128, b: i128) -> Option<(i128, i128)> {
    let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
    if rest != 0 && (rest < 0) != (b < 0) { Some((quotient - 1, rest + b)) } else { Some((quotient, rest)) }
}

fn float_rest(a: f64, b: f64) -> f64 {
    let rest = a % b;
    if rest == 0.0 {
        0.0_f64.copysign(b)
    } else if (rest < 0.0) != (b < 0.0) {
        rest + b
    } else {
        rest
    }
}

/// `a // b`
pub(crate) fn floor_div(a: &Value, b: &Value) -> Result<Value> {
    if Number::of(a).is_some() && zero(b) {
        return Err(error("integer division or modulo by zero"));
    }
    arithmetic("//", a, b, |a, b| Some(floor_ints(a, b)?.0), |a, b| ((a - float_rest(a, b)) / b).round())
}

/// `a % b`, of numbers
pub(crate) fn rem(a: &Value, b: &Value) -> Result<Value> {
    if Number::of(a).is_some() && zero(b) {
        return Err(error("integer division or modulo by zero"));
    }
    arithmetic("%", a, b, |a, b| Some(floor_ints(a, b)?.1), float_rest)
}

/// `a ** b`
pub(crate) fn pow(a: &Value, b: &Value) -> Result<Value> {
    match (Number::of(a), Number::of(b)) {
        (Some(Number::Int(base)), Some(Number::Int(exponent))) if exponent >= 0 => {
            let exponent = u32::try_from(exponent).map_err(|_| too_large())?;
            base.checked_pow(exponent).map(int).ok_or_else(too_large)
        }
        (Some(_), Some(y)) if zero(a) && y.as_f64() < 0.0 => Err(error("0.0 cannot be raised to a negative power")),
        (Some(x), Some(y)) => Ok(Value::from(x.as_f64().powf(y.as_f64()))),
        _ => Err(unsupported("** or pow()", a, b)),
    }
}

/// `-a`
pub(crate) fn neg(a: &Value) -> Result<Value> {
    match Number::of(a) {
        Some(Number::Int(value)) => value.checked_neg().map(int).ok_or_else(too_large),
        Some(Number::Float(value)) => Ok(Value::from(-value)),
        None => Err(error(format!("bad operand type for unary -: '{}'", type_name(a)))),
    }
}

/// `+a`
pub(crate) fn pos(a: &Value) -> Result<Value> {
    match Number::of(a) {
        Some(Number::Int(value)) => Ok(int(value)),
        Some(Number::Float(value)) => Ok(Value::from(value)),
        None => Err(error(format!("bad operand type for unary +: '{}'", type_name(a)))),
    }
}

/// `a ~ b ~ …`; if text is escaped and a part is markup, the other parts are escaped.
pub(crate) fn concat(parts: &[Value], escapes: bool) -> Result<Value> {
    let is_markup = escapes && parts.iter().any(Value::is_safe);
    let mut out = String::new();
    for part in parts {
        if is_markup && !part.is_safe() {
            markup::escape_into(&mut out, &to_str(part))
        } else {
            write_str(&mut out, part)
        }
        limits::size(out.len())?;
    }
    Ok(if is_markup { Value::from_safe_string(out) } else { Value::from(out) })
}

/// The order of two values; `None` if they have none, as with NaN. Fails for types that Python does not order.
pub(crate) fn compare(operator: &str, a: &Value, b: &Value) -> Result<Option<Ordering>> {
    let incomparable =
        || error(format!("'{operator}' not supported between instances of '{}' and '{}'", type_name(a), type_name(b)));
    match (Kind::of(a), Kind::of(b)) {
        (Kind::Str(a), Kind::Str(b)) => {
            limits::charge_bytes(a.len().min(b.len()))?;
            Ok(Some(a.cmp(b)))
        }
        (Kind::List(a), Kind::List(b)) | (Kind::Tuple(a), Kind::Tuple(b)) => {
            for (a, b) in a.iter().zip(b) {
                if !equal(a, b) {
                    return compare(operator, a, b);
                }
            }
            Ok(Some(a.len().cmp(&b.len())))
        }
        _ => match (Number::of(a), Number::of(b)) {
            (Some(Number::Int(a)), Some(Number::Int(b))) => Ok(Some(a.cmp(&b))),
            (Some(a), Some(b)) => Ok(a.as_f64().partial_cmp(&b.as_f64())),
            _ => Err(incomparable()),
        },
    }
}

/// `needle in container`
pub(crate) fn contains(container: &Value, needle: &Value) -> Result<bool> {
    match Kind::of(container) {
        Kind::Str(text) => match Kind::of(needle) {
            Kind::Str(part) => {
                limits::charge_bytes(text.len())?;
                Ok(text.contains(part))
            }
            _ => Err(error(format!("'in <string>' requires string as left operand, not {}", type_name(needle)))),
        },
        Kind::List(items) | Kind::Tuple(items) => Ok(items.iter().any(|item| equal(item, needle))),
        Kind::Dict(dict) => {
            Key::of(needle)?;
            Ok(dict.get(needle).is_some())
        }
        Kind::Undefined => Ok(false),
        _ if container.downcast_object_ref::<Namespace>().is_some() => {
            Err(error("argument of type 'Namespace' is not iterable"))
        }
        Kind::Object(_) if lazy::is_iterable(container) => {
            Ok(items_of(container)?.iter().any(|item| equal(item, needle)))
        }
        _ => Err(error(format!("argument of type '{}' is not iterable", type_name(container)))),
    }
}

/// `len(value)`
pub(crate) fn len(value: &Value) -> Result<usize> {
    match Kind::of(value) {
        Kind::Undefined => Ok(0),
        Kind::Str(text) => Ok(text.chars().count()),
        Kind::List(items) | Kind::Tuple(items) => Ok(items.len()),
        Kind::Dict(dict) => Ok(dict.len()),
        _ => value
            .as_object()
            .and_then(|object| object.enumerator_len())
            .ok_or_else(|| error(format!("object of type '{}' has no len()", type_name(value)))),
    }
}

/// `value[start:stop:step]`
pub(crate) fn slice(value: &Value, bounds: [&Value; 3]) -> Result<Value> {
    let mut parts = [None; 3];
    for (part, bound) in parts.iter_mut().zip(bounds) {
        *part = match Kind::of(bound) {
            Kind::None => None,
            _ => match clamped(bound) {
                None => return Err(error("slice indices must be integers or None or have an __index__ method")),
                index => index,
            },
        };
    }
    let [start, stop, step] = parts;
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err(error("slice step cannot be zero"));
    }
    let taken = |items: &[Value]| {
        indices(start, stop, step, items.len()).filter_map(|at| items.get(at).cloned()).collect::<Vec<_>>()
    };
    match Kind::of(value) {
        Kind::Str(text) if text.is_ascii() => {
            let indices = indices(start, stop, step, text.len());
            let sliced: String =
                indices.filter_map(|at| text.as_bytes().get(at).map(|byte| char::from(*byte))).collect();
            Ok(markup::like(value, sliced))
        }
        Kind::Str(text) => {
            let chars: Vec<char> = text.chars().collect();
            let sliced = indices(start, stop, step, chars.len()).filter_map(|at| chars.get(at)).collect();
            Ok(markup::like(value, sliced))
        }
        Kind::List(items) => build::list(taken(items)),
        Kind::Tuple(items) => build::tuple(taken(items)),
        Kind::Object(_) if let Some(range) = value.downcast_object_ref::<Range>() => {
            let len = i64::try_from(range.len()).unwrap_or(i64::MAX);
            let (first, end) = slice_bounds(start, stop, step, len);
            let at = |index: i64| range.start.saturating_add(index.saturating_mul(range.step));
            Range::value(at(first), at(end), range.step.saturating_mul(step))
        }
        Kind::Undefined => Err(error("an undefined value cannot be sliced")),
        _ => Err(error(format!("'{}' object cannot be sliced", type_name(value)))),
    }
}

/// The first index of a slice of a sequence, and the index at which it stops.
fn slice_bounds(start: Option<i64>, stop: Option<i64>, step: i64, len: i64) -> (i64, i64) {
    let (lowest, highest) = if step > 0 { (0, len) } else { (-1, len - 1) };
    let place = |bound: Option<i64>, default: i64| match bound {
        None => default,
        Some(at) if at < 0 => at.saturating_add(len).max(lowest),
        Some(at) => at.min(highest),
    };
    let (first, end) = if step > 0 { (lowest, highest) } else { (highest, lowest) };
    (place(start, first), place(stop, end))
}

/// The indices that a slice of a sequence takes.
fn indices(start: Option<i64>, stop: Option<i64>, step: i64, len: usize) -> impl Iterator<Item = usize> {
    let (first, end) = slice_bounds(start, stop, step, i64::try_from(len).unwrap_or(i64::MAX));
    std::iter::successors(Some(first), move |at| at.checked_add(step))
        .take_while(move |at| if step > 0 { *at < end } else { *at > end })
        .filter_map(|at| usize::try_from(at).ok())
}

/// Whether an order satisfies an operator; NaN has no order and satisfies none.
pub(crate) fn satisfies(operator: &str, order: Option<Ordering>) -> bool {
    order.is_some_and(|order| match operator {
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        _ => order.is_ge(),
    })
}
