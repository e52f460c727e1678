//! Strings marked as safe for HTML, and the escaping of those that are not.

use minijinja::Value;

/// Appends a text with the five characters that matter to HTML written as Markup writes them.
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

/// A text marked safe where the one it was made from is.
pub(crate) fn like(original: &Value, text: String) -> Value {
    if original.is_safe() { Value::from_safe_string(text) } else { Value::from(text) }
}
