//! What was expected at the place at hand, if the answer departs from it there.

use super::session::Session;
use super::verdict::Verdict;
use backchat_core::json::{Object, Value};

/// An expected value and the actual one, as lines of JSON that differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// What they are values of.
    pub title: String,
    /// The expected value; empty if nothing is expected.
    pub expected: String,
    /// The actual value; empty if there is none.
    pub actual: String,
}

/// The longest string shown whole, in characters, and how much of a longer one is shown before and after the
/// difference.
const LONGEST: usize = 4000;
const BEFORE: usize = 200;
const AFTER: usize = 2000;

/// The longest list shown whole, and how many elements are shown from the first that differs on.
const MOST: usize = 400;

impl Session {
    /// Whether the answer departs from the expectation here: by the last event, or by the whole message at its end.
    pub fn departs(&self) -> bool {
        let Some(side) = self.side().filter(|_| self.library.material.expected.is_some()) else { return false };
        match side.recording.has_ended(side.moment) {
            true => matches!(self.verdict(), Some(Verdict::Failed | Verdict::Excused)),
            false => {
                let last = side.recording.last_event(side.moment);
                last.is_some_and(|event| self.playback.wrong.binary_search(&event).is_ok())
            }
        }
    }

    /// What was expected here and what came instead. None if nothing departs.
    pub fn departure(&self) -> Option<Departure> {
        let expected = self.library.material.expected.as_ref().filter(|_| self.departs())?;
        let side = self.side()?;
        let recording = &side.recording;
        if recording.has_ended(side.moment) {
            let actual = Value::Object(recording.message(side.moment));
            return Some(departure("the message", Some(Value::Object(expected.clone())), Some(actual)));
        }
        let index = recording.last_event(side.moment)?;
        let event = recording.event(index)?;
        let title = format!("`{}`", recording.field_name(event.field));
        let actual = event.value.map(|value| value.map_or_else(|reason| reason.into(), |value| value.read()));
        Some(departure(&title, recording.expected_value(expected, index), actual))
    }
}

fn departure(title: &str, expected: Option<Value>, actual: Option<Value>) -> Departure {
    let (expected, actual) = match (expected, actual) {
        (Some(expected), Some(actual)) => {
            let (expected, actual) = shortened(expected, actual);
            (Some(expected), Some(actual))
        }
        one_sided => one_sided,
    };
    let text = |value: Option<Value>| value.map_or_else(String::new, |value| value.to_pretty("  "));
    Departure { title: title.to_owned(), expected: text(expected), actual: text(actual) }
}

/// Two values without most of what they have in common, if they are long.
fn shortened(one: Value, other: Value) -> (Value, Value) {
    match (one, other) {
        (Value::String(one), Value::String(other)) if one.len().max(other.len()) > LONGEST => {
            let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
            (around(&one, same).into(), around(&other, same).into())
        }
        (Value::List(one), Value::List(other)) => {
            let same = match one.len().max(other.len()) > MOST {
                true => one.iter().zip(&other).take_while(|(one, other)| one == other).count(),
                false => 0,
            };
            let left_out = (same > 0).then(|| Value::from(format!("… {same} equal elements …")));
            let (mut ones, mut others): (Vec<Value>, Vec<Value>) = (Vec::new(), Vec::new());
            ones.extend(left_out.clone());
            others.extend(left_out);
            let (mut one, mut other) = (one.into_iter().skip(same), other.into_iter().skip(same));
            for _ in 0..MOST {
                match (one.next(), other.next()) {
                    (Some(one), Some(other)) => {
                        let (one, other) = shortened(one, other);
                        ones.push(one);
                        others.push(other);
                    }
                    (one, other) => {
                        ones.extend(one);
                        others.extend(other);
                    }
                }
            }
            (Value::List(ones), Value::List(others))
        }
        (Value::Object(one), Value::Object(mut other)) => {
            let mut ones = Object::new();
            for (key, value) in one {
                let value = match other.get_mut(&key) {
                    Some(slot) => {
                        let (value, shown) = shortened(value, std::mem::take(slot));
                        *slot = shown;
                        value
                    }
                    None => value,
                };
                ones.insert(key, value);
            }
            (Value::Object(ones), Value::Object(other))
        }
        values => values,
    }
}

/// The part of a text around the character from which it differs.
fn around(text: &str, from: usize) -> String {
    let start = from.saturating_sub(BEFORE);
    let mut shown: String = text.chars().skip(start).take(BEFORE + AFTER).collect();
    if start > 0 {
        shown.insert_str(0, &format!("… {start} equal characters … "));
    }
    if text.chars().nth(start + BEFORE + AFTER).is_some() {
        shown.push_str(" …");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::json;

    #[test]
    fn long_values_are_shown_around_what_differs() {
        let same = "x".repeat(5000);
        let values = |end: &str| json::read(&format!(r#"{{"a": "{same}{end}", "b": [1, 2], "c": {end}}}"#)).unwrap();
        let (one, other) = shortened(values("1"), values("2"));
        for (value, end) in [(one, '1'), (other, '2')] {
            let text = value.get("a").and_then(Value::as_str).unwrap().to_owned();
            assert!(text.starts_with("… 4800 equal characters … xxx") && text.ends_with(end), "{text}");
            assert_eq!(value.get("b").unwrap().to_string(), "[1, 2]");
            assert_eq!(value.get("c").unwrap().to_string(), end.to_string());
        }
        let list = |last: i64| Value::List((0..500).map(Value::from).chain([Value::from(last)]).collect());
        let (one, other) = shortened(list(1), list(2));
        assert_eq!(one.to_string(), r#"["… 500 equal elements …", 1]"#);
        assert_eq!(other.to_string(), r#"["… 500 equal elements …", 2]"#);
    }
}
