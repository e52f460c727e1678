//! Files that are not JSON: one diagnostic for all of them, whose position is on a line with text.

use std::ops::Range;

use super::{Diagnostic, Place};
use crate::json::Error;
use crate::text::slice;

/// The problem of a text that a user wrote, and how to correct it.
pub fn invalid_json(text: &str, error: &Error) -> Diagnostic {
    let span = json_problem_span(text, error);
    let help = match slice(text, span.start..) {
        rest if rest.trim().is_empty() => "the text ends too early: is the file truncated?",
        rest if rest.starts_with('\u{FEFF}') => "save the file as UTF-8 without the byte order mark",
        _ => "correct the JSON here; nothing after this position was read",
    };
    let message = format!("not valid JSON: {}", error.message());
    Diagnostic::error("invalid-json", message).at(Place::span(text, span)).help(help)
}

/// The character that is wrong. If the text ends too early, this is the end of its last line that has text: empty lines
/// after it explain nothing.
pub fn json_problem_span(text: &str, error: &Error) -> Range<usize> {
    let end = text.trim_end_matches([' ', '\t', '\n', '\r']).len();
    if error.offset() >= end {
        return end..end;
    }
    let length = slice(text, error.offset()..).chars().next().map_or(0, char::len_utf8);
    error.offset()..error.offset() + length
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn the_position_of_a_problem_is_on_a_line_with_text() {
        for (text, position, span) in [
            ("{\"a\": [1,\n\n\n", (1, 10), 9..9),
            ("{\"a\": 1\n  \r\n", (1, 8), 7..7),
            ("{\"a\": 1,}\n", (1, 9), 8..9),
            ("[1]\né\n", (2, 1), 4..6),
            ("\n\n", (1, 1), 0..0),
        ] {
            let diagnostic = invalid_json(text, &json::read(text).unwrap_err());
            let place = diagnostic.place.unwrap();
            assert_eq!((place.line_column, place.span), (Some(position), Some(span)), "{text:?}");
        }
    }

    #[test]
    fn the_help_is_about_the_cause() {
        let help = |text: &str| invalid_json(text, &json::read(text).unwrap_err()).help.unwrap();
        assert!(help("{\"a\":\n\n").contains("truncated"));
        assert!(help("\u{FEFF}{}").contains("byte order mark"));
        assert!(help("[1}\n").contains("correct the JSON here"));
    }
}
