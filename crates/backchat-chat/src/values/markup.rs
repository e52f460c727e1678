//! Strings marked as safe for HTML, and the escaping of those that are not.

use minijinja::Value;

use crate::values::text::to_str;

/// Appends a text with the five characters that matter to HTML escaped as Markup escapes them.
pub(crate) fn escape_into(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

/// A value as escaped text.
pub(crate) fn escaped(value: &Value) -> Value {
    let mut out = String::new();
    escape_into(&mut out, &to_str(value));
    Value::from_safe_string(out)
}

/// An argument to a method of `text`: escaped if `text` is marked safe and the argument is not.
pub(crate) fn escaped_for(text: &Value, argument: &Value) -> Value {
    let stays = !text.is_safe() || argument.is_safe() || argument.is_kwargs();
    if stays { argument.clone() } else { escaped(argument) }
}

/// A part of a text, marked safe if the whole is; the whole itself is not copied.
pub(crate) fn part(whole: &Value, part: &str) -> Value {
    match whole.as_str() {
        Some(text) if text.len() == part.len() => whole.clone(),
        _ if whole.is_safe() => Value::from_safe_string(part.to_owned()),
        _ => Value::from(part),
    }
}

/// A text that is marked safe if the value it was made from is.
pub(crate) fn like(original: &Value, text: String) -> Value {
    if original.is_safe() { Value::from_safe_string(text) } else { Value::from(text) }
}
