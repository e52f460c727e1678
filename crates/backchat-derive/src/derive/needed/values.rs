//! Values for missing variables: recognizable in renders, and placed anywhere inside a variable.

use backchat_core::json::{Object, Value};
use backchat_probe::probe::needle;

/// The placeholder for a text; no delimiter may contain it.
pub(super) use needle::FILLED as TEXT;

/// The placeholder for a number. Few templates write these digits themselves.
const NUMBER: i64 = 918_273;

/// A number for templates that refuse a large one.
const SMALL: i64 = 7;

/// The placeholder for a date.
const DATE: &str = "2187-06-05";

/// Every placeholder that may appear in a render unchanged.
pub const FILLED: [&str; 3] = [TEXT, "918273", DATE];

/// Whether a text contains a needle other than the placeholder of a variable.
pub(in crate::derive) fn holds_probe(text: &str) -> bool {
    let text = text.replace(TEXT, "");
    needle::BEGINNINGS.iter().any(|beginning| text.contains(beginning))
}

/// How placeholders look after a template has changed them: an incremented number keeps its first digits.
const TRACES: [&str; 3] = [TEXT, "91827", "2187"];

/// Whether a text contains a placeholder, changed or not.
pub(in crate::derive) fn is_traced(text: &str) -> bool {
    TRACES.iter().any(|trace| text.contains(trace))
}

/// Values of every type, the most informative first. The template compares the value with `constants`.
pub(super) fn kinds(constants: &[Value]) -> Vec<Value> {
    let text = || Value::from(TEXT);
    let object = || Value::Object(Object::new());
    let mut kinds = vec![text()];
    kinds.extend(constants.iter().filter(|constant| **constant != Value::Null).cloned());
    kinds.extend([Value::from(NUMBER), SMALL.into(), Value::List(vec![text()]), true.into(), DATE.into(), object()]);
    kinds.extend([Value::List(vec![object()]), false.into()]);
    kinds
}

/// Puts a value at a path such as `documents[].title`; `None` if a value along the path has another type.
pub(super) fn put(variables: &Object, path: &str, value: Value) -> Option<Object> {
    let mut filled = Value::Object(variables.clone());
    let path = path.replace("[]", ".[]");
    put_below(&mut filled, &path.split('.').collect::<Vec<_>>(), value)?;
    filled.as_object().cloned()
}

/// Puts a value at the end of these keys, of which `[]` is the first element of a list.
fn put_below(target: &mut Value, keys: &[&str], value: Value) -> Option<()> {
    let (key, rest) = keys.split_first()?;
    match (*key, target) {
        ("[]", Value::List(items)) if rest.is_empty() => *items = vec![value],
        ("[]", Value::List(items)) => put_below(items.first_mut()?, rest, value)?,
        ("[]", _) => return None,
        (key, Value::Object(entries)) if rest.is_empty() => drop(entries.insert(key, value)),
        (key, Value::Object(entries)) => put_below(entries.get_mut(key)?, rest, value)?,
        _ => return None,
    }
    Some(())
}

/// The paths of all values that contain no others.
pub(super) fn leaves(variables: &Object) -> Vec<String> {
    let mut leaves = Vec::new();
    for (name, value) in variables {
        leaves_below(name.to_owned(), value, &mut leaves);
    }
    leaves
}

fn leaves_below(path: String, value: &Value, leaves: &mut Vec<String>) {
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            entries.iter().for_each(|(key, value)| leaves_below(format!("{path}.{key}"), value, leaves));
        }
        Value::List(items) if items.iter().any(|item| matches!(item, Value::Object(_))) => {
            items.iter().for_each(|item| leaves_below(format!("{path}[]"), item, leaves));
        }
        _ => leaves.push(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::object;

    #[test]
    fn a_value_is_put_at_its_place_or_not_at_all() {
        for (before, path, after) in [
            ("{}", "a", Some(r#"{"a": 1}"#)),
            (r#"{"a": {}}"#, "a.b", Some(r#"{"a": {"b": 1}}"#)),
            (r#"{"a": {"b": {}}}"#, "a.b.c", Some(r#"{"a": {"b": {"c": 1}}}"#)),
            (r#"{"a": [{}]}"#, "a[].b", Some(r#"{"a": [{"b": 1}]}"#)),
            (r#"{"a": [0]}"#, "a[]", Some(r#"{"a": [1]}"#)),
            (r#"{"a": "text"}"#, "a.b", None),
            ("{}", "a.b", None),
            (r#"{"a": []}"#, "a[].b", None),
        ] {
            assert_eq!(put(&object(before), path, 1.into()), after.map(object), "{before} {path}");
        }
    }

    #[test]
    fn leaves_are_the_values_that_contain_no_others() {
        let variables = object(r#"{"a": "x", "b": {"c": {}, "d": [{"e": 1}], "f": ["y"]}}"#);
        assert_eq!(leaves(&variables), ["a", "b.c", "b.d[].e", "b.f"]);
    }

    #[test]
    fn a_placeholder_is_recognized_after_the_template_changed_it() {
        for (text, traced) in [(TEXT, true), ("918274", true), ("5 June 2187", true), ("<end>", false)] {
            assert_eq!(is_traced(text), traced, "{text}");
        }
    }
}
