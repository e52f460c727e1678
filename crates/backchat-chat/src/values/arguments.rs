//! Binds the arguments of a call to Python's names for them.

use minijinja::Value;
use minijinja::value::Kwargs;

use super::{Kind, Number, Result, error, type_name};

/// Splits arguments into positional ones and keywords.
pub(crate) fn split(arguments: &[Value]) -> (&[Value], Option<Kwargs>) {
    match arguments.split_last() {
        Some((last, positional)) if last.is_kwargs() => (positional, Kwargs::try_from(last.clone()).ok()),
        _ => (arguments, None),
    }
}

/// Binds arguments to names, positional ones first, as a Python function with these parameters does.
pub(crate) fn bind<const N: usize>(
    function: &str,
    names: [&str; N],
    arguments: &[Value],
) -> Result<[Option<Value>; N]> {
    let mut bound = [const { None }; N];
    let (positional, keywords) = split(arguments);
    if positional.len() > N {
        return Err(error(format!("{function}() takes at most {N} arguments ({} given)", positional.len())));
    }
    for (slot, value) in bound.iter_mut().zip(positional) {
        *slot = Some(value.clone());
    }
    if let Some(keywords) = keywords {
        for keyword in keywords.args() {
            let place = names.iter().position(|name| *name == keyword);
            let Some(slot) = place.and_then(|place| bound.get_mut(place)) else {
                return Err(error(format!("{function}() got an unexpected keyword argument '{keyword}'")));
            };
            if slot.is_some() {
                return Err(error(format!("{function}() got multiple values for argument '{keyword}'")));
            }
            *slot = Some(keywords.peek(keyword)?);
        }
    }
    Ok(bound)
}

/// Binds arguments to the parameters of a function without keyword arguments.
pub(crate) fn positional<const N: usize>(
    function: &str,
    names: [&str; N],
    arguments: &[Value],
) -> Result<[Option<Value>; N]> {
    match split(arguments) {
        (_, Some(_)) => Err(error(format!("{function}() takes no keyword arguments"))),
        _ => bind(function, names, arguments),
    }
}

/// The only argument of a function without keyword arguments.
pub(crate) fn only(function: &str, name: &str, arguments: &[Value]) -> Result<Value> {
    let [value] = positional(function, [name], arguments)?;
    required(function, name, value)
}

/// Refuses any argument.
pub(crate) fn none(function: &str, arguments: &[Value]) -> Result<()> {
    bind(function, [], arguments).map(|_| ())
}

pub(crate) fn required(function: &str, name: &str, value: Option<Value>) -> Result<Value> {
    value.ok_or_else(|| error(format!("{function}() missing the argument '{name}'")))
}

pub(crate) fn string<'v>(function: &str, value: &'v Value) -> Result<&'v str> {
    match Kind::of(value) {
        Kind::Str(text) => Ok(text),
        _ => Err(error(format!("{function}() expects a string, not '{}'", type_name(value)))),
    }
}

/// An integer argument, clamped to 64 bits.
pub(crate) fn integer(function: &str, value: &Value) -> Result<i64> {
    clamped(value).ok_or_else(|| error(format!("{function}() expects an integer, not '{}'", type_name(value))))
}

/// The value of an integer, clamped to 64 bits; as in Python, a bool is one.
pub(super) fn clamped(value: &Value) -> Option<i64> {
    match Number::of(value) {
        Some(Number::Int(value)) => Some(i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })),
        _ => None,
    }
}

pub(crate) fn integer_or(function: &str, value: &Option<Value>, default: i64) -> Result<i64> {
    value.as_ref().map_or(Ok(default), |value| integer(function, value))
}

/// An optional argument that counts by its truth.
pub(crate) fn truth_or(value: &Option<Value>, default: bool) -> bool {
    value.as_ref().map_or(default, Value::is_true)
}
