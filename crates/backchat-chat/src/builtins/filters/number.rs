//! Filters that make numbers.

use minijinja::Value;

use crate::engine::run::Run;
use crate::values::arguments::{bind, integer_or, truth_or};
use crate::values::number::{self, LongInteger, parse_float, parse_int, truncated};
use crate::values::text::to_str;
use crate::values::{Kind, Number, Result, error, type_name};

pub(super) fn abs(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    bind("abs", [], arguments)?;
    match Number::of(value) {
        Some(Number::Int(integer)) => integer.checked_abs().map(number::int).ok_or_else(|| error("integer too large")),
        Some(Number::Float(number)) => Ok(Value::from(number.abs())),
        None => Err(error(format!("bad operand type for abs(): '{}'", type_name(value)))),
    }
}

fn undefined() -> minijinja::Error {
    error("a value is undefined")
}

pub(super) fn int(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    let [default, base] = bind("int", ["default", "base"], arguments)?;
    let default = default.unwrap_or_else(|| Value::from(0));
    // A base out of range parses nothing.
    let base = u32::try_from(integer_or("int", &base, 10)?).unwrap_or(1);
    let integer = match Kind::of(value) {
        Kind::Undefined => return Err(undefined()),
        Kind::Bool(truth) => Some(Value::from(i64::from(truth))),
        Kind::Int(_) => Some(value.clone()),
        Kind::Float(number) if number.is_infinite() => return Err(error("cannot convert float infinity to integer")),
        Kind::Float(number) => truncated(number),
        Kind::Str(text) => parse_int(text, base).or_else(|| truncated(parse_float(text)?)),
        _ if value.downcast_object_ref::<LongInteger>().is_some() => Some(value.clone()),
        _ => None,
    };
    Ok(integer.unwrap_or(default))
}

pub(super) fn float(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    let [default] = bind("float", ["default"], arguments)?;
    let number = match Kind::of(value) {
        Kind::Undefined => return Err(undefined()),
        Kind::Bool(_) | Kind::Int(_) | Kind::Float(_) => Number::of(value).map(|number| number.as_f64()),
        Kind::Str(text) => parse_float(text),
        _ => match value.downcast_object_ref::<LongInteger>().map(|long| long.0.parse::<f64>()) {
            Some(Ok(number)) if number.is_finite() => Some(number),
            Some(_) => return Err(error("int too large to convert to float")),
            None => None,
        },
    };
    Ok(number.map(Value::from).unwrap_or_else(|| default.unwrap_or_else(|| Value::from(0.0))))
}

pub(super) fn round(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    let [precision, method] = bind("round", ["precision", "method"], arguments)?;
    let precision = integer_or("round", &precision, 0)?;
    let method = method.as_ref().map_or_else(|| "common".into(), to_str);
    let places = i32::try_from(precision).unwrap_or(0).clamp(-300, 300);
    let Some(given) = Number::of(value) else {
        return Err(error(format!("type {} doesn't define __round__ method", type_name(value))));
    };
    let number = given.as_f64();
    let scale = 10_f64.powi(places);
    match &*method {
        "common" => match given {
            Number::Float(_) if places >= 0 => {
                // Formatting rounds the exact value, and ties to even, as Python's `round` does.
                let places = usize::try_from(places).unwrap_or(0);
                Ok(Value::from(format!("{number:.places$}").parse().unwrap_or(number)))
            }
            Number::Float(_) => Ok(Value::from((number * scale).round_ties_even() / scale)),
            Number::Int(integer) if places >= 0 => Ok(number::int(integer)),
            Number::Int(_) => Ok(number::int(((number * scale).round_ties_even() / scale) as i128)),
        },
        "ceil" => Ok(Value::from((number * scale).ceil() / scale)),
        "floor" => Ok(Value::from((number * scale).floor() / scale)),
        _ => Err(error("method must be common, ceil or floor")),
    }
}

pub(super) fn filesizeformat(run: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    let [binary] = bind("filesizeformat", ["binary"], arguments)?;
    let bytes = f64::try_from(float(run, value, &[])?).unwrap_or(0.0);
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
    let sizes = std::iter::successors(Some(bytes / base), |size| if *size < base { None } else { Some(size / base) });
    let largest = sizes.zip(units).last();
    Ok(largest.map(|(size, unit)| Value::from(format!("{size:.1} {unit}"))).unwrap_or_default())
}
