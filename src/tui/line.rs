//! Text from models and templates, made safe and measured.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::diagnostic::escape;

/// A character as the screen shows it, on its own line.
pub fn glyph(c: char, whitespace: bool) -> Cow<'static, str> {
    match c {
        '\n' if whitespace => Cow::Borrowed("⏎"),
        '\n' => Cow::Borrowed(""),
        '\t' if whitespace => Cow::Borrowed("→   "),
        '\t' => Cow::Borrowed("    "),
        ' ' if whitespace => Cow::Borrowed("·"),
        ' '..='~' => Cow::Owned(c.to_string()),
        c => Cow::Owned(escape(c.encode_utf8(&mut [0; 4])).into_owned()),
    }
}

/// How many columns [`glyph`] takes.
pub fn glyph_width(c: char, whitespace: bool) -> usize {
    match c {
        '\n' => usize::from(whitespace),
        '\t' => 4,
        ' '..='~' => 1,
        c => {
            let mut bytes = [0; 4];
            match escape(c.encode_utf8(&mut bytes)) {
                Cow::Borrowed(_) => c.width().unwrap_or(0),
                Cow::Owned(escaped) => escaped.width(),
            }
        }
    }
}

/// Whether a character is only shown by a mark of ours.
pub fn is_mark(c: char, whitespace: bool) -> bool {
    let mut bytes = [0; 4];
    matches!(c, '\n' | '\t' | ' ') && whitespace || matches!(escape(c.encode_utf8(&mut bytes)), Cow::Owned(_))
}

/// A text on one line, safe to show, at most so many columns wide.
pub fn fit(text: &str, width: usize) -> String {
    // What is far too long need not be escaped as a whole.
    let head = text.char_indices().nth(width + 1).map_or(text, |(end, _)| text.get(..end).unwrap_or(text));
    let safe = escape(head);
    if safe.width() <= width && head.len() == text.len() {
        return safe.into_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in safe.chars() {
        used += c.width().unwrap_or(0);
        if used + 1 > width {
            break;
        }
        out.push(c);
    }
    if width > 0 {
        out.push('…');
    }
    out
}

/// The end of a text on one line, safe to show, at most so many columns wide.
pub fn fit_end(text: &str, width: usize) -> String {
    let start = text.char_indices().nth_back(width).map_or(0, |(at, _)| at);
    let safe = escape(text.get(start..).unwrap_or(text));
    if safe.width() <= width && start == 0 {
        return safe.into_owned();
    }
    let mut kept: Vec<char> = Vec::new();
    let mut used = 1;
    for c in safe.chars().rev() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    kept.iter().rev().collect()
}

/// A text that is safe to show, broken into lines of at most so many columns, at spaces where there are any.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    let mut last_space: Option<usize> = None;
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if used + wide > width {
            let rest = match last_space.take() {
                Some(space) if c != ' ' => line.split_off(space + 1),
                _ => String::new(),
            };
            lines.push(std::mem::replace(&mut line, rest));
            used = line.width();
            if c == ' ' && line.is_empty() {
                continue;
            }
        }
        if c == ' ' {
            last_space = Some(line.len());
        }
        line.push(c);
        used += wide;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_spelled_out() {
        for (c, whitespace, shown) in [
            ('a', false, "a"),
            ('\u{1b}', false, "\\u{1b}"),
            ('\r', false, "\\r"),
            ('\u{202e}', true, "\\u{202e}"),
            ('\n', false, ""),
            ('\n', true, "⏎"),
            (' ', true, "·"),
            ('\t', true, "→   "),
            ('日', true, "日"),
        ] {
            assert_eq!(glyph(c, whitespace), shown, "{c:?}");
            assert_eq!(glyph_width(c, whitespace), shown.width(), "{c:?}");
        }
    }

    #[test]
    fn a_text_is_cut_to_its_room() {
        for (text, width, shown) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("日本", 3, "日…"),
            ("a\nb", 9, "a\\nb"),
            ("abc", 0, ""),
            ("", 3, ""),
        ] {
            assert_eq!(fit(text, width), shown);
        }
        for (text, width, shown) in [("abc", 3, "abc"), ("abcd", 3, "…cd"), ("日本", 3, "…本")] {
            assert_eq!(fit_end(text, width), shown);
        }
    }

    #[test]
    fn a_text_is_wrapped_at_spaces() {
        assert_eq!(wrap("one two three", 8), ["one two ", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("日本語", 4), ["日本", "語"]);
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(wrap("abc def", 3), ["abc", "def"]);
    }
}
