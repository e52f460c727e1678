//! Makes hostile text safe to print: no result moves the cursor, changes colors, reorders or hides text.

use std::borrow::Cow;
use std::fmt::Write;

/// A text that is safe to print: characters that move the cursor, change colors, reorder or hide text are escaped.
/// Newlines and tabs are escaped as well, so the result stays on one line.
///
/// ```
/// # use backchat_core as backchat;
/// use backchat::diagnostic::escape;
///
/// assert_eq!(escape("a\u{1b}[31mb\n"), "a\\u{1b}[31mb\\n");
/// ```
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hostile) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_hostile(c) => {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// The same for a text of several lines, which stay lines.
pub fn escape_lines(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| c != '\n' && is_hostile(c)) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.split('\n').map(escape).collect::<Vec<_>>().join("\n"))
}

/// JSON with an escape for every such character; they occur in its strings only.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    let hostile = |c: char| c != '\n' && is_hostile(c);
    if !json.chars().any(hostile) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 8);
    for c in json.chars() {
        if hostile(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// The visible escape of a character with an effect on the terminal; `None` for every other character.
pub fn escaped(c: char) -> Option<String> {
    is_hostile(c).then(|| escape(c.encode_utf8(&mut [0; 4])).into_owned())
}

/// Whether a character has an effect on a terminal, or on the reading of the line, besides being shown.
fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{FEFF}'
            | '\u{200B}'..='\u{200F}'
            | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{FFF9}'..='\u{FFFB}'
            | '\u{E0000}'..='\u{E007F}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{self, Value};
    use proptest::prelude::*;

    /// Controls of a terminal, and those that set the direction of text.
    const WORST: &str = "\u{1b}\u{7}\u{8}\r\n\t\u{7f}\u{9b}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\
                         \u{2069}\u{200e}\u{200f}\u{61c}";

    fn text() -> impl Strategy<Value = String> {
        let character = prop_oneof![prop::sample::select(WORST.chars().collect::<Vec<_>>()), any::<char>()];
        prop::collection::vec(character, 0..40).prop_map(String::from_iter)
    }

    fn is_among_the_worst(text: &str) -> bool {
        text.contains(|c: char| WORST.contains(c) || c.is_control())
    }

    proptest! {
        #[test]
        fn escaped_text_has_no_character_that_affects_a_terminal(text in text()) {
            prop_assert!(!is_among_the_worst(&escape(&text)));
            prop_assert!(!is_among_the_worst(&escape_lines(&text).replace('\n', "")));
            prop_assert_eq!(escape_lines(&text).matches('\n').count(), text.matches('\n').count());
        }

        #[test]
        fn escaped_json_has_the_same_value(text in text()) {
            let value = Value::List(vec![text.into()]);
            let pretty = value.to_pretty("  ");
            let escaped = escape_json(&pretty);
            prop_assert!(!is_among_the_worst(&escaped.replace('\n', "")));
            prop_assert_eq!(json::read(&escaped).unwrap(), value);
        }
    }
}
