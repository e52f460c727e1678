//! Compares a message with the expected one of a sample, ignoring differences that the format leaves open.

use backchat_core::json::{self, Object, Value};
use backchat_core::python;
use backchat_probe::probe::REASONING_KEYS;

/// Keys that the text does not carry.
const IGNORED: [&str; 2] = ["role", "type"];

/// The first part in which two messages differ: a key, or a part of a call. Outer white space of texts, empty values,
/// the name of the reasoning among the usual ones, and types that the text does not carry make no difference.
pub(super) fn difference(wanted: &Object, got: &Object) -> Option<String> {
    let plain = |key: &str| !IGNORED.contains(&key) && !REASONING_KEYS.contains(&key) && key != "tool_calls";
    let mut keys = wanted.keys().chain(got.keys()).filter(|key| plain(key));
    if let Some(key) = keys.find(|key| !same_text(wanted.get(key), got.get(key))) {
        return Some(format!("`{key}`"));
    }
    let reasoning = |message: &Object| {
        REASONING_KEYS.iter().filter_map(|key| message.get(key)).find(|value| !is_empty(value)).cloned()
    };
    if !same_text(reasoning(wanted).as_ref(), reasoning(got).as_ref()) {
        return Some("the reasoning".to_owned());
    }
    let (wanted, got) = (calls_of(wanted), calls_of(got));
    if wanted.len() != got.len() {
        return Some(format!("the number of calls ({} instead of {})", got.len(), wanted.len()));
    }
    wanted.iter().zip(got).enumerate().find_map(|(i, (wanted, got))| {
        let number = i + 1;
        let name = |call: &Value| function_of(call).get("name").filter(|name| !name.is_null()).cloned();
        if name(wanted) != name(got) {
            return Some(format!("the name of call {number}"));
        }
        if !same(&arguments(wanted), &arguments(got)) {
            return Some(format!("the arguments of call {number}"));
        }
        let id = |call: &Value| call.get("id").filter(|id| !is_empty(id)).cloned();
        (id(wanted).is_some() && id(wanted) != id(got)).then(|| format!("the id of call {number}"))
    })
}

pub(in crate::derive) fn calls_of(message: &Object) -> &[Value] {
    message.get("tool_calls").and_then(Value::as_list).unwrap_or(&[])
}

pub(in crate::derive) fn function_of(call: &Value) -> &Value {
    call.get("function").unwrap_or(call)
}

/// The arguments of a call, read if they are JSON text.
pub(super) fn arguments(call: &Value) -> Value {
    match function_of(call).get("arguments") {
        Some(Value::String(text)) => json::read(text).unwrap_or_else(|_| Value::from(text.as_str())),
        Some(other) => other.clone(),
        None => Value::Object(Object::new()),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        _ => false,
    }
}

fn same_text(wanted: Option<&Value>, got: Option<&Value>) -> bool {
    match (wanted.filter(|value| !is_empty(value)), got.filter(|value| !is_empty(value))) {
        (None, None) => true,
        (Some(Value::String(a)), Some(Value::String(b))) => a.trim() == b.trim(),
        (a, b) => a == b,
    }
}

/// Whether two values are the same, or one is the text in which the other is written.
pub(super) fn same(wanted: &Value, got: &Value) -> bool {
    match (wanted, got) {
        (Value::String(a), Value::String(b)) => a == b,
        (Value::String(text), other) | (other, Value::String(text)) => {
            let text = text.trim();
            text == other.to_string()
                || text == python::spelling(other)
                || json::read(text).is_ok_and(|read| is_equal(&read, other))
        }
        (a, b) => with_test(a, b, same),
    }
}

/// Whether two values are equal, numbers by value: `1.5e10` is `15000000000.0`.
pub(super) fn is_equal(wanted: &Value, got: &Value) -> bool {
    with_test(wanted, got, is_equal)
}

/// Whether two values are equal, given a test for the values inside them.
fn with_test(wanted: &Value, got: &Value, test: fn(&Value, &Value) -> bool) -> bool {
    match (wanted, got) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| test(value, other)))
        }
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| test(a, b)),
        (Value::Number(a), Value::Number(b)) => {
            // An integer may have more digits than a float can hold.
            a == b || (!(a.is_integer() && b.is_integer()) && a.as_f64() == b.as_f64())
        }
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object {
        json::read(text).unwrap().as_object().unwrap().clone()
    }

    #[test]
    fn differences_that_a_format_leaves_open_are_ignored() {
        let call = |arguments: &str| {
            format!(
                r#"{{"tool_calls": [{{"type": "function", "function": {{"name": "f", "arguments": {arguments}}}}}]}}"#
            )
        };
        for (wanted, got) in [
            (r#"{"content": "Hi. "}"#.to_owned(), r#"{"role": "assistant", "content": "Hi."}"#.to_owned()),
            (r#"{"reasoning": "Hm."}"#.to_owned(), r#"{"thinking": "Hm.\n", "tool_calls": []}"#.to_owned()),
            (call(r#"{"a": 5, "b": null}"#), call(r#"{"a": "5", "b": "None"}"#)),
            (call(r#"{"a": 1}"#), call(r#""{\"a\": 1}""#)),
            (call(r#"{"a": 1.5e10, "b": 2}"#), call(r#"{"a": 15000000000.0, "b": 2.0}"#)),
            (call(r#"{"a": [15000000000.0]}"#), call(r#"{"a": "[1.5e10]"}"#)),
        ] {
            assert_eq!(difference(&object(&wanted), &object(&got)), None, "{wanted} {got}");
        }
    }

    #[test]
    fn the_first_difference_is_reported() {
        let call =
            |name: &str| format!(r#"{{"tool_calls": [{{"function": {{"name": "{name}", "arguments": {{}}}}}}]}}"#);
        for (wanted, got, named) in [
            (r#"{"content": "Hi."}"#.to_owned(), r#"{"content": "Ho."}"#.to_owned(), "`content`"),
            (r#"{"thinking": "Hm."}"#.to_owned(), "{}".to_owned(), "the reasoning"),
            (call("f"), "{}".to_owned(), "the number of calls (0 instead of 1)"),
            (call("f"), call("g"), "the name of call 1"),
            (
                call("f").replace("{}", r#"{"a": 9007199254740993}"#),
                call("f").replace("{}", r#"{"a": 9007199254740992}"#),
                "the arguments of call 1",
            ),
        ] {
            assert_eq!(difference(&object(&wanted), &object(&got)).as_deref(), Some(named), "{wanted} {got}");
        }
    }
}
