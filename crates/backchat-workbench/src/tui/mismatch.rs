//! The expected and the actual value at a moment, and their comparison in rows.

use ratatui::text::Line;
use unicode_width::UnicodeWidthStr;

use super::diff;
use super::line::whole;
use super::theme::Theme;
use crate::session::Session;
use backchat_core::diagnostic::escape;
use backchat_core::json::Value;

/// An expected value and the actual one, as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    pub title: String,
    /// The expected value; empty if nothing is expected.
    pub expected: String,
    /// The actual value; empty if there is none.
    pub actual: String,
}

/// The longest string shown whole, in characters, and how much of a longer one is shown around the difference.
const LONGEST: usize = 4000;
const BEFORE: usize = 200;
const AFTER: usize = 2000;

/// The longest list shown whole, and how many elements are shown from the first that differs on.
const MOST: usize = 400;

/// The expected and the actual value at the moment of a session. `None` if nothing differs.
pub fn mismatch(session: &Session) -> Option<Mismatch> {
    let expected = session.library.material.expected.as_ref().filter(|_| session.is_mismatch())?;
    let side = session.side()?;
    let recording = &side.recording;
    if recording.has_ended(side.moment) {
        let actual = Value::Object(recording.message(side.moment));
        return Some(Mismatch::new("the message", Some(Value::Object(expected.clone())), Some(actual)));
    }
    let index = recording.last_event(side.moment)?;
    let event = recording.event(index)?;
    let title = format!("`{}`", recording.field_name(event.field));
    let actual = event.value.map(|value| value.map_or_else(|reason| reason.into(), |value| value.read()));
    Some(Mismatch::new(&title, recording.expected_value(expected, index), actual))
}

impl Mismatch {
    fn new(title: &str, mut expected: Option<Value>, mut actual: Option<Value>) -> Self {
        if let (Some(expected), Some(actual)) = (&mut expected, &mut actual) {
            shorten(expected, actual);
        }
        let text = |value: Option<Value>| value.map_or_else(String::new, |value| value.to_pretty("  "));
        Self { title: title.to_owned(), expected: text(expected), actual: text(actual) }
    }
}

/// Shortens the common parts of two long values.
fn shorten(one: &mut Value, other: &mut Value) {
    match (one, other) {
        (Value::String(one), Value::String(other)) if one.len().max(other.len()) > LONGEST => {
            let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
            (*one, *other) = (around(one, same), around(other, same));
        }
        (Value::List(one), Value::List(other)) => {
            let same = match one.len().max(other.len()) > MOST {
                true => one.iter().zip(&*other).take_while(|(one, other)| one == other).count(),
                false => 0,
            };
            for items in [&mut *one, &mut *other] {
                items.drain(..same);
                items.truncate(MOST);
            }
            one.iter_mut().zip(&mut *other).for_each(|(one, other)| shorten(one, other));
            if same > 0 {
                let left_out = Value::from(format!("… {same} equal elements …"));
                for items in [one, other] {
                    items.insert(0, left_out.clone());
                }
            }
        }
        (Value::Object(one), Value::Object(other)) => {
            for (key, value) in one.iter_mut() {
                other.get_mut(key).into_iter().for_each(|other| shorten(value, other));
            }
        }
        _ => {}
    }
}

/// The part of a text around the first difference.
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

/// From this width on, an expected value is shown beside the actual one.
pub const WIDE: usize = 70;

/// An expected value and the actual one, in rows; side by side, in halves no wider than they need.
pub fn comparison(mismatch: &Mismatch, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let title = escape(&mismatch.title);
    if width < WIDE {
        let head = Line::styled(format!(" {title}: - expected, + actual"), theme.bad());
        let rows = diff::rows(&mismatch.expected, &mismatch.actual, width, false, theme);
        return std::iter::once(head).chain(rows).collect();
    }
    // Texts begin after a sign and a space.
    let left = format!("  {title}: expected");
    let lines = mismatch.expected.lines().chain(mismatch.actual.lines());
    let needed = lines.map(|line| whole(line, width).map_or(width, |line| line.width() + 3)).max();
    let width = width.min(2 * needed.unwrap_or(0).max(left.width() + 1) + 1);
    let half = diff::half(width);
    let head = format!("{}{}│  actual", left, " ".repeat(half.saturating_sub(left.width())));
    let rows = diff::rows(&mismatch.expected, &mismatch.actual, width, true, theme);
    std::iter::once(Line::styled(head, theme.bad())).chain(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::json;

    #[test]
    fn long_values_are_shown_around_the_difference() {
        let same = "x".repeat(5000);
        let values = |end: &str| json::read(&format!(r#"{{"a": "{same}{end}", "b": [1, 2], "c": {end}}}"#)).unwrap();
        let shortened = |mut one, mut other| {
            shorten(&mut one, &mut other);
            (one, other)
        };
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
