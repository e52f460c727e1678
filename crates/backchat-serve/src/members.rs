//! Members of a request, each of one type.

use crate::api_error::ApiError;
use backchat_core::json::{Object, Value};

pub fn wrong(name: &str, expected: &str, value: &Value) -> ApiError {
    ApiError::param(name, format!("`{name}` must be {expected}, not {}", value.kind()))
}

/// Takes a member of one type.
pub fn take<T>(
    body: &mut Object,
    name: &str,
    expected: &str,
    read: impl FnOnce(Value) -> Result<T, Value>,
) -> Result<Option<T>, ApiError> {
    let value = body.shift_remove(name).map(read).transpose();
    value.map_err(|value| wrong(name, expected, &value))
}

pub fn flag(body: &mut Object, name: &str) -> Result<Option<bool>, ApiError> {
    take(body, name, "true or false", |value| value.as_bool().ok_or(value))
}

pub fn object(body: &mut Object, name: &str) -> Result<Option<Object>, ApiError> {
    take(body, name, "an object", |value| match value {
        Value::Object(entries) => Ok(entries),
        other => Err(other),
    })
}

pub fn string(value: Value) -> Result<String, Value> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(other),
    }
}

/// A whole number of at least 1.
pub fn count(body: &mut Object, name: &str) -> Result<Option<u64>, ApiError> {
    let Some(value) = body.shift_remove(name) else { return Ok(None) };
    match value.as_u64() {
        Some(0) | None => Err(ApiError::param(name, format!("`{name}` must be a whole number of at least 1"))),
        count => Ok(count),
    }
}
