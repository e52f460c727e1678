//! The cause of a difference between two messages: the one change that explains the others, in words without anything
//! that varies from message to message.

use backchat_core::json::{Object, Value};
use backchat_core::text::markers;

/// Why a message is not the expected one; `None` if it is.
///
/// One misread delimiter changes several parts: the text after it is in one part too many and in others too few. The
/// cause is the change that says most about the delimiter.
///
/// ```
/// # mod backchat { pub use backchat_core::json; }
/// # use backchat_diff::messages::cause;
/// use backchat::json;
///
/// let message = |text| json::read(text).ok().and_then(|message| message.as_object().cloned()).unwrap_or_default();
/// let expected = message(r#"{"reasoning": "Hm.", "content": "Yes."}"#);
/// let found = message(r#"{"reasoning": "Hm.</think>Yes."}"#);
/// assert_eq!(cause(&expected, &found).as_deref(), Some("the text from `</think>` on is read as `reasoning`"));
/// ```
pub fn cause(expected: &Object, found: &Object) -> Option<String> {
    of_objects("", expected, found).map(|change| change.words)
}

/// One change between two messages.
struct Change {
    weight: Weight,
    words: String,
}

/// How much a change says about its cause, the most first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// A part has too much text, from a marker on.
    TooLong,
    /// A part begins at a marker before it, or holds one.
    Holds,
    /// A part ends before a marker.
    TooShort,
    /// A part has more or less text, and no marker says why.
    Length,
    /// A part is there or not.
    Presence,
    Value,
    Space,
}

impl Change {
    fn new(weight: Weight, words: String) -> Option<Self> {
        Some(Self { weight, words })
    }
}

/// The most telling of some changes; of equal ones, the first.
fn first(changes: impl Iterator<Item = Change>) -> Option<Change> {
    changes.min_by_key(|change| change.weight)
}

fn of_objects(path: &str, expected: &Object, found: &Object) -> Option<Change> {
    let added = found.keys().filter(|key| !expected.contains_key(key));
    let changes = expected.keys().chain(added).filter_map(|key| {
        // The names of arguments vary from tool to tool.
        let key_shown = if path.ends_with("arguments") { "*" } else { key };
        let path = if path.is_empty() { key_shown.to_owned() } else { format!("{path}.{key_shown}") };
        of_values(&path, expected.get(key), found.get(key))
    });
    first(changes)
}

fn of_values(path: &str, expected: Option<&Value>, found: Option<&Value>) -> Option<Change> {
    match (expected, found) {
        (one, other) if one == other => None,
        (Some(Value::String(one)), Some(Value::String(other))) => of_texts(path, one, other),
        (Some(Value::String(one)), None) => {
            of_texts(path, one, "").filter(|change| change.weight == Weight::TooShort).or_else(|| missing(path))
        }
        (None, Some(Value::String(other))) => {
            of_texts(path, "", other).filter(|change| change.weight == Weight::TooLong).or_else(|| added(path))
        }
        (Some(_), None) => missing(path),
        (None, Some(_)) => added(path),
        (Some(Value::Object(one)), Some(Value::Object(other))) => of_objects(path, one, other),
        (Some(Value::List(one)), Some(Value::List(other))) => of_lists(path, one, other),
        (Some(one), Some(other)) if one.kind() == other.kind() => {
            Change::new(Weight::Value, format!("`{path}` is another value"))
        }
        (Some(one), Some(other)) => {
            Change::new(Weight::Value, format!("`{path}` is {} instead of {}", other.kind(), one.kind()))
        }
        (None, None) => None,
    }
}

fn missing(path: &str) -> Option<Change> {
    Change::new(Weight::Presence, format!("`{path}` is missing"))
}

fn added(path: &str) -> Option<Change> {
    Change::new(Weight::Presence, format!("`{path}` is added"))
}

fn of_lists(path: &str, expected: &[Value], found: &[Value]) -> Option<Change> {
    let count = match expected.len().cmp(&found.len()) {
        std::cmp::Ordering::Greater => Change::new(Weight::Presence, format!("`{path}` has fewer elements")),
        std::cmp::Ordering::Less => Change::new(Weight::Presence, format!("`{path}` has more elements")),
        std::cmp::Ordering::Equal => None,
    };
    let path = format!("{path}[]");
    let pairs = expected.iter().zip(found);
    first(count.into_iter().chain(pairs.filter_map(|(one, other)| of_values(&path, Some(one), Some(other)))))
}

/// How two texts differ: at an end, or anywhere.
fn of_texts(path: &str, expected: &str, found: &str) -> Option<Change> {
    let (one, other) = (expected.trim(), found.trim());
    if one == other {
        return Change::new(Weight::Space, format!("`{path}` differs in white space at its ends"));
    }
    if let Some(more) = other.strip_prefix(one) {
        return match leading_marker(more) {
            Some(marker) => Change::new(Weight::TooLong, format!("the text from `{marker}` on is read as `{path}`")),
            None => Change::new(Weight::Length, format!("`{path}` has more text at its end")),
        };
    }
    if let Some(less) = one.strip_prefix(other) {
        return match leading_marker(less) {
            Some(marker) => Change::new(Weight::TooShort, format!("`{path}` ends before `{marker}`")),
            None => Change::new(Weight::Length, format!("`{path}` lacks the end of its text")),
        };
    }
    if let Some(marker) = marker_of_only(other, one) {
        return Change::new(Weight::Holds, format!("`{path}` holds `{marker}`"));
    }
    if let Some(marker) = marker_of_only(one, other) {
        return Change::new(Weight::Holds, format!("`{path}` lacks `{marker}`"));
    }
    let (weight, words) = match (other.ends_with(one), one.ends_with(other)) {
        (true, _) => (Weight::Length, "has more text at its beginning"),
        (_, true) => (Weight::Length, "lacks the beginning of its text"),
        _ => (Weight::Value, "is another text"),
    };
    Change::new(weight, format!("`{path}` {words}"))
}

/// The marker that a text begins with.
fn leading_marker(text: &str) -> Option<String> {
    let text = text.trim_start();
    markers(text).next().filter(|marker| text.starts_with(marker)).map(generic)
}

/// The first marker of a text that another does not have.
fn marker_of_only(text: &str, other: &str) -> Option<String> {
    markers(text).find(|marker| !other.contains(marker)).map(generic)
}

/// A marker without what it captures, such as the name of a tool: `<call=f>` is `<call=…>`.
fn generic(marker: &str) -> String {
    match (marker.split_once('='), marker.chars().last()) {
        (Some((name, _)), Some(end)) => format!("{name}=…{end}"),
        _ => marker.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::json;

    fn said(expected: &str, found: &str) -> Option<String> {
        let [expected, found] = [expected, found].map(|text| json::read(text).unwrap().as_object().unwrap().clone());
        cause(&expected, &found)
    }

    #[test]
    fn one_wrong_delimiter_is_one_cause_whatever_the_message() {
        let call = r#"[{"function": {"name": "f", "arguments": {"a": 1}}}]"#;
        for (expected, found) in [
            (r#"{"content": "Yes."}"#.to_owned(), r#"{"thinking": "</think>\n\nYes."}"#.to_owned()),
            (r#"{"thinking": "Hm."}"#.to_owned(), r#"{"thinking": "Hm.\n</think>"}"#.to_owned()),
            (format!(r#"{{"tool_calls": {call}}}"#), r#"{"thinking": "</think>\n<call>{}</call>"}"#.to_owned()),
            (
                format!(r#"{{"thinking": "Hm.", "content": "Yes.", "tool_calls": {call}}}"#),
                r#"{"thinking": "Hm.\n</think>\n\nYes.<call>{}</call>"}"#.to_owned(),
            ),
        ] {
            let cause = said(&expected, &found);
            assert_eq!(cause.as_deref(), Some("the text from `</think>` on is read as `thinking`"), "{found}");
        }
    }

    #[test]
    fn each_change_has_its_words() {
        for (expected, found, words) in [
            (r#"{"a": "x"}"#, r#"{"a": "x"}"#, ""),
            (r#"{"a": "x"}"#, r#"{"a": " x\n"}"#, "`a` differs in white space at its ends"),
            (r#"{"a": "x y"}"#, r#"{"a": "x y z"}"#, "`a` has more text at its end"),
            (r#"{"a": "x y"}"#, r#"{"a": "x"}"#, "`a` lacks the end of its text"),
            (r#"{"a": "x <call=f>"}"#, r#"{"a": "x"}"#, "`a` ends before `<call=…>`"),
            (r#"{"a": "</think>x"}"#, r#"{"b": "x"}"#, "`a` ends before `</think>`"),
            (r#"{"a": "x"}"#, r#"{"a": "<think>x"}"#, "`a` holds `<think>`"),
            (r#"{"a": "1 <b2b> 3"}"#, r#"{"a": "1  3"}"#, "`a` lacks `<b2b>`"),
            (r#"{"a": "y x"}"#, r#"{"a": "x"}"#, "`a` lacks the beginning of its text"),
            (r#"{"a": "x"}"#, r#"{"a": "y x"}"#, "`a` has more text at its beginning"),
            (r#"{"a": "x"}"#, r#"{"a": "y"}"#, "`a` is another text"),
            (r#"{"a": "x", "b": 1}"#, r#"{"b": 2}"#, "`a` is missing"),
            (r#"{"b": 1}"#, r#"{"a": "x", "b": 1}"#, "`a` is added"),
            (r#"{"a": [1]}"#, r#"{"a": [1, 2]}"#, "`a` has more elements"),
            (r#"{"a": [1, 2]}"#, r#"{"a": [2]}"#, "`a` has fewer elements"),
            (
                r#"{"c": [{"name": "f", "arguments": {"n": 1}}]}"#,
                r#"{"c": [{"name": "f", "arguments": {"n": "1"}}]}"#,
                "`c[].arguments.*` is a string instead of a number",
            ),
            (
                r#"{"c": [{"name": "f"}, {"name": "g", "id": "1"}]}"#,
                r#"{"c": [{"name": "f"}, {"name": "g", "id": "2"}]}"#,
                "`c[].id` is another text",
            ),
        ] {
            assert_eq!(said(expected, found).unwrap_or_default(), words, "{expected} {found}");
        }
    }
}
