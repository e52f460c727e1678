//! Filters that make numbers.

use minijinja::{State, Value};

use crate::chat::python::arguments::{bind, integer_or, truth_or};
use crate::chat::python::number::LongInteger;
use crate::chat::python::strings::is_space;
use crate::chat::python::text::to_str;
use crate::chat::python::{Kind, Result, error, operators, type_name};

type Scope<'s, 't, 'e> = &'s mut State<'t, 'e>;

pub(super) fn abs(_: Scope<'_, '_, '_>, value: &Value, arguments: &[Value]) -> Result<Value> {
    bind("abs", [], arguments)?;
    match Kind::of(value) {
        Kind::Bool(truth) => Ok(Value::from(i64::from(truth))),
        Kind::Int(integer) => integer.checked_abs().map(operators::int).ok_or_else(|| error("integer too large")),
        Kind::Float(number) => Ok(Value::from(number.abs())),
        _ => Err(error(format!("bad operand type for abs(): '{}'", type_name(value)))),
    }
}

fn undefined() -> minijinja::Error {
    error("a value is undefined")
}

/// Digits with single underscores between them, as Python's number parsers take them.
fn digits(text: &str) -> Option<String> {
    let text = text.trim_matches(is_space);
    if text.starts_with('_') || text.ends_with('_') || text.contains("__") {
        return None;
    }
    Some(text.replace('_', ""))
}

fn parse_float(text: &str) -> Option<f64> {
    let text = digits(text)?;
    let bare = text.trim_start_matches(['+', '-']).to_ascii_lowercase();
    let numeric = bare.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if numeric || matches!(&*bare, "inf" | "infinity" | "nan") { text.parse().ok() } else { None }
}

fn parse_int(text: &str, base: u32) -> Option<i128> {
    let text = digits(text)?.to_ascii_lowercase();
    let (negative, bare) = match text.strip_prefix(['+', '-']) {
        Some(bare) => (text.starts_with('-'), bare),
        None => (false, &*text),
    };
    let prefixes = [("0x", 16), ("0o", 8), ("0b", 2)];
    let prefixed = prefixes.iter().find(|(prefix, radix)| bare.starts_with(prefix) && (base == 0 || base == *radix));
    let (bare, base) = match prefixed {
        Some((prefix, radix)) => (bare.strip_prefix(prefix)?, *radix),
        None if base == 0 => (bare, 10),
        None => (bare, base),
    };
    if bare.is_empty() || bare.starts_with(['+', '-']) || !(2..=36).contains(&base) {
        return None;
    }
    i128::from_str_radix(bare, base).ok().map(|value| if negative { -value } else { value })
}

pub(super) fn int(_: Scope<'_, '_, '_>, value: &Value, arguments: &[Value]) -> Result<Value> {
    let [default, base] = bind("int", ["default", "base"], arguments)?;
    let default = default.unwrap_or_else(|| Value::from(0));
    let base = u32::try_from(integer_or("int", &base, 10)?).unwrap_or(10);
    let whole = |number: f64| if number.is_finite() { Some(operators::int(number.trunc() as i128)) } else { None };
    let integer = match Kind::of(value) {
        Kind::Undefined => return Err(undefined()),
        Kind::Bool(truth) => Some(Value::from(i64::from(truth))),
        Kind::Int(_) => Some(value.clone()),
        Kind::Float(number) => whole(number),
        Kind::Str(text) => parse_int(text, base).map(operators::int).or_else(|| whole(parse_float(text)?)),
        _ if value.downcast_object_ref::<LongInteger>().is_some() => Some(value.clone()),
        _ => None,
    };
    Ok(integer.unwrap_or(default))
}

pub(super) fn float(_: Scope<'_, '_, '_>, value: &Value, arguments: &[Value]) -> Result<Value> {
    let [default] = bind("float", ["default"], arguments)?;
    let number = match Kind::of(value) {
        Kind::Undefined => return Err(undefined()),
        Kind::Bool(truth) => Some(f64::from(truth)),
        Kind::Int(integer) => Some(integer as f64),
        Kind::Float(number) => Some(number),
        Kind::Str(text) => parse_float(text),
        _ => None,
    };
    Ok(number.map(Value::from).unwrap_or_else(|| default.unwrap_or_else(|| Value::from(0.0))))
}

pub(super) fn round(_: Scope<'_, '_, '_>, value: &Value, arguments: &[Value]) -> Result<Value> {
    let [precision, method] = bind("round", ["precision", "method"], arguments)?;
    let precision = integer_or("round", &precision, 0)?;
    let method = method.as_ref().map_or_else(|| "common".into(), to_str);
    let places = i32::try_from(precision).unwrap_or(0).clamp(-300, 300);
    let number = match Kind::of(value) {
        Kind::Bool(truth) => f64::from(truth),
        Kind::Int(integer) => integer as f64,
        Kind::Float(number) => number,
        _ => return Err(error(format!("type {} doesn't define __round__ method", type_name(value)))),
    };
    let scale = 10_f64.powi(places);
    match &*method {
        "common" => match Kind::of(value) {
            Kind::Float(_) if places >= 0 => {
                // Formatting rounds the exact value, to even where it is a tie: Python's `round`.
                let places = usize::try_from(places).unwrap_or(0);
                Ok(Value::from(format!("{number:.places$}").parse().unwrap_or(number)))
            }
            Kind::Float(_) => Ok(Value::from((number * scale).round_ties_even() / scale)),
            _ if places >= 0 => operators::pos(value),
            _ => Ok(operators::int(((number * scale).round_ties_even() / scale) as i128)),
        },
        "ceil" => Ok(Value::from((number * scale).ceil() / scale)),
        "floor" => Ok(Value::from((number * scale).floor() / scale)),
        _ => Err(error("method must be common, ceil or floor")),
    }
}

pub(super) fn filesizeformat(state: Scope<'_, '_, '_>, value: &Value, arguments: &[Value]) -> Result<Value> {
    let [binary] = bind("filesizeformat", ["binary"], arguments)?;
    let bytes = f64::try_from(float(state, value, &[])?).unwrap_or(0.0);
    let (base, units) = if truth_or(&binary, false) {
        (1024.0, ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"])
    } else {
        (1000.0, ["kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"])
    };
    if bytes == 1.0 {
        return Ok(Value::from("1 Byte"));
    }
    if bytes < base {
        return Ok(Value::from(format!("{} Bytes", bytes.trunc())));
    }
    let mut size = bytes / base;
    let mut chosen = "";
    for (index, unit) in units.into_iter().enumerate() {
        if index > 0 {
            size /= base;
        }
        chosen = unit;
        if size < base {
            break;
        }
    }
    Ok(Value::from(format!("{size:.1} {chosen}")))
}
