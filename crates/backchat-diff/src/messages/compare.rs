//! The differences between two values, path by path.

use backchat_core::diagnostic::shortened;
use backchat_core::json::{Number, Object, Path, Value};
use backchat_core::text::common_start;

/// How much of a value a difference shows, in characters.
const SHOWN: usize = 80;

/// One path at which two values differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The path of the value, `$` for the value itself.
    pub path: String,
    /// The expected value; `None` if the key should be absent.
    pub expected: Option<String>,
    /// The actual value.
    pub found: Option<String>,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
        write!(out, "{}: expected {}, found {}", self.path, shown(&self.expected), shown(&self.found))
    }
}

/// Every place at which two values differ. The order of keys does not count.
pub fn differences(expected: &Value, found: &Value) -> Vec<Difference> {
    let mut out = Vec::new();
    compare(Some(expected), Some(found), &Path::root(), &mut out);
    out
}

/// The keys under which two messages differ, sorted.
pub fn differing_keys(expected: &Object, found: &Object) -> Vec<String> {
    let differs = |key: &&str| match (expected.get(key), found.get(key)) {
        (Some(one), Some(other)) => !differences(one, other).is_empty(),
        _ => true,
    };
    let mut keys: Vec<String> = expected.keys().chain(found.keys()).filter(differs).map(str::to_owned).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn compare(expected: Option<&Value>, found: Option<&Value>, path: &Path, out: &mut Vec<Difference>) {
    match (expected, found) {
        (Some(one), Some(other)) if one == other => {}
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            for (key, value) in one {
                compare(Some(value), other.get(key), &path.key(key), out);
            }
            for (key, value) in other.iter().filter(|(key, _)| !one.contains_key(key)) {
                compare(None, Some(value), &path.key(key), out);
            }
        }
        (Some(Value::List(one)), Some(Value::List(other))) => {
            for index in 0..one.len().max(other.len()) {
                compare(one.get(index), other.get(index), &path.index(index), out);
            }
        }
        (Some(Value::Number(one)), Some(Value::Number(other))) if same(one, other) => {}
        // JSON has no other word for NaN and the infinities: an expectation that was written as JSON says `null`.
        (Some(Value::Null), Some(Value::Number(number))) | (Some(Value::Number(number)), Some(Value::Null))
            if !number.is_json() => {}
        (expected, found) => {
            let (expected, found) = match (expected, found) {
                (Some(Value::String(one)), Some(Value::String(other))) => show_texts(one, other),
                (expected, found) => (expected.map(show), found.map(show)),
            };
            out.push(Difference { path: path.to_string(), expected, found });
        }
    }
}

/// Whether two numbers are the same to a reader of JSON: `1.0` and `1.00` are, `1` and `1.0` are not.
fn same(one: &Number, other: &Number) -> bool {
    let (a, b) = (one.as_f64(), other.as_f64());
    !one.is_integer() && !other.is_integer() && (a == b || a.is_nan() && b.is_nan())
}

fn show(value: &Value) -> String {
    shortened(&value.to_string(), SHOWN).into_owned()
}

/// Two texts that differ, from a little before their first difference.
fn show_texts(one: &str, other: &str) -> (Option<String>, Option<String>) {
    let common = common_start(one, other).chars().count();
    let skip = if common > SHOWN / 2 { common - SHOWN / 4 } else { 0 };
    let tail = |text: &str| {
        let rest: String = text.chars().skip(skip).collect();
        let dots = if skip > 0 { "…" } else { "" };
        Some(format!("{dots}{}", show(&rest.into())))
    };
    (tail(one), tail(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::json;

    #[test]
    fn differences_name_their_path() {
        for (expected, found, said) in [
            (r#"{"a": 1, "b": 2}"#, r#"{"b": 2, "a": 1}"#, ""),
            (r#"{"a": 1.0}"#, r#"{"a": 1.00}"#, ""),
            (r#"{"a": 1}"#, r#"{"a": 1.0}"#, "a: expected 1, found 1.0"),
            (r#"{"a": NaN}"#, r#"{"a": NaN}"#, ""),
            (r#"{"a": null, "b": [-Infinity]}"#, r#"{"a": NaN, "b": [null]}"#, ""),
            (r#"{"a": 1e400}"#, r#"{"a": Infinity}"#, ""),
            (r#"{"a": 1e400}"#, r#"{"a": null}"#, "a: expected 1e400, found null"),
            (r#"{"a": null}"#, r#"{"a": 0}"#, "a: expected null, found 0"),
            (
                r#"{"a": [1, 2]}"#,
                r#"{"a": [1], "b": null}"#,
                "a[1]: expected 2, found nothing; b: expected nothing, found null",
            ),
            (r#"[]"#, r#"{}"#, "$: expected [], found {}"),
        ] {
            let [expected, found] = [expected, found].map(|text| json::read(text).unwrap());
            let all: Vec<_> = differences(&expected, &found).iter().map(Difference::to_string).collect();
            assert_eq!(all.join("; "), said, "{expected} {found}");
        }
    }

    #[test]
    fn keys_under_which_messages_differ_are_sorted() {
        let message = |text: &str| json::read(text).unwrap().as_object().cloned().unwrap();
        let one = message(r#"{"b": "x", "a": [1], "same": {"n": 1.0}, "gone": null}"#);
        let other = message(r#"{"a": [2], "b": "y", "same": {"n": 1.00}, "new": 1}"#);
        assert_eq!(differing_keys(&one, &other), ["a", "b", "gone", "new"]);
        assert!(differing_keys(&one, &one).is_empty());
    }

    #[test]
    fn long_texts_are_shown_from_the_first_difference() {
        let text = "x".repeat(1000);
        let differences = differences(&(text.clone() + "a").into(), &(text + "b").into());
        assert_eq!(differences[0].expected.as_deref(), Some("…\"xxxxxxxxxxxxxxxxxxxxa\""));
    }
}
