//! Text from models and templates, made safe and measured.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::emoji;
use backchat_core::diagnostic::escape;
use backchat_core::text::slice;

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

/// A character with its combining marks: one place on the screen.
pub struct Cluster<'t> {
    /// The byte of the text at which it begins.
    pub at: usize,
    pub base: char,
    pub marks: &'t str,
    pub width: usize,
}

/// The characters of a text with their marks, place by place.
pub fn clusters(text: &str, whitespace: bool) -> impl Iterator<Item = Cluster<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..)?;
        let base = rest.chars().next()?;
        let start = at;
        at += base.len_utf8();
        let after = slice(rest, base.len_utf8()..rest.len());
        // Most text is plain; it has no marks.
        let marks = match base == '\n' || after.is_empty() || after.starts_with(|c: char| c.is_ascii()) {
            true => "",
            false => {
                let end = after.find(|c| !combines(c)).unwrap_or(after.len());
                let end = end.max(emoji::rest_of(base, after, combines));
                if is_mark(base, whitespace) { "" } else { slice(after, ..end) }
            }
        };
        at += marks.len();
        let width = match marks.is_empty() {
            true if combines(base) => 1,
            true => glyph_width(base, whitespace),
            // A mark may make its character wide.
            false if combines(base) => 1,
            false => rest.get(..base.len_utf8() + marks.len()).map_or(1, UnicodeWidthStr::width).max(1),
        };
        Some(Cluster { at: start, base, marks, width })
    })
}

impl Cluster<'_> {
    pub fn text<'t>(&self, text: &'t str) -> &'t str {
        slice(text, self.at..self.at + self.base.len_utf8() + self.marks.len())
    }

    /// The displayed form. A lone combining mark is put on a circle.
    pub fn glyph(&self, whitespace: bool) -> Cow<'static, str> {
        match (combines(self.base), self.marks) {
            (false, "") => glyph(self.base, whitespace),
            (true, marks) => Cow::Owned(format!("◌{}{marks}", self.base)),
            (false, marks) => Cow::Owned(format!("{}{marks}", self.base)),
        }
    }
}

/// Whether a character combines with the one before it.
fn combines(c: char) -> bool {
    !c.is_ascii() && c.width() == Some(0) && matches!(escape(c.encode_utf8(&mut [0; 4])), Cow::Borrowed(_))
}

/// Whether a character is shown only by a visible escape.
pub fn is_mark(c: char, whitespace: bool) -> bool {
    let mut bytes = [0; 4];
    matches!(c, '\n' | '\t' | ' ') && whitespace || matches!(escape(c.encode_utf8(&mut bytes)), Cow::Owned(_))
}

/// The part of a text that is examined to fill a line: combining marks take no columns.
fn head(text: &str, width: usize) -> &str {
    text.char_indices().nth(width * 4 + 1).map_or(text, |(end, _)| text.get(..end).unwrap_or(text))
}

/// A text that is safe to show on one line, with emoji of several code points whole.
pub fn safe(text: &str) -> Cow<'_, str> {
    emoji::escaped(text, escape)
}

/// A text on one line, safe to show. `None` if it is wider than `width` columns.
pub fn whole(text: &str, width: usize) -> Option<Cow<'_, str>> {
    let head = head(text, width);
    Some(safe(head)).filter(|safe| head.len() == text.len() && safe.width() <= width)
}

/// A text on one line, safe to show, at most `width` columns wide.
pub fn fit(text: &str, width: usize) -> String {
    if let Some(safe) = whole(text, width) {
        return safe.into_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    let safe = safe(head(text, width));
    for cluster in clusters(&safe, false) {
        used += cluster.width;
        if used + 1 > width {
            break;
        }
        out.push_str(cluster.text(&safe));
    }
    if width > 0 {
        out.push('…');
    }
    out
}

/// The same as [`fit`], but begins a little before the byte `at` if that would not be seen otherwise.
pub fn fit_around(text: &str, at: usize, width: usize) -> String {
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    // A third of the room is left for the text after it.
    if width == 0 || whole(before, width - width / 3).is_some() || whole(text, width).is_some() {
        return fit(text, width);
    }
    let mut start = before.len();
    let mut used = 0;
    for (here, c) in before.char_indices().rev() {
        used += escape(c.encode_utf8(&mut [0; 4])).width();
        if used > width / 3 {
            break;
        }
        start = here;
    }
    format!("…{}", fit(text.get(start..).unwrap_or(after), width.saturating_sub(1)))
}

/// The end of a text on one line, safe to show, at most `width` columns wide.
pub fn fit_end(text: &str, width: usize) -> String {
    let start = text.char_indices().nth_back(width * 4 + 1).map_or(0, |(at, _)| at);
    let safe = safe(text.get(start..).unwrap_or(text));
    if safe.width() <= width && start == 0 {
        return safe.into_owned();
    }
    let clusters: Vec<Cluster<'_>> = clusters(&safe, false).collect();
    let mut used = 1;
    let kept = clusters.iter().rev().take_while(|cluster| {
        used += cluster.width;
        used <= width
    });
    let first = kept.last().map_or(safe.len(), |cluster| cluster.at);
    format!("…{}", slice(&safe, first..safe.len()))
}

/// A text that is safe to show, broken into lines of at most `width` columns, at spaces if there are any.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    let mut last_space: Option<usize> = None;
    for cluster in clusters(text, false) {
        let (c, wide) = (cluster.base, cluster.width);
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
        line.push_str(cluster.text(text));
        used += wide;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::text::common_start;

    #[test]
    fn control_characters_are_escaped() {
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
    fn marks_stay_with_their_character() {
        for (text, shown) in [
            ("ab", &[(0, "a", 1), (1, "b", 1)][..]),
            ("e\u{301}a", &[(0, "e\u{301}", 1), (3, "a", 1)]),
            ("\u{301}a", &[(0, "◌\u{301}", 1), (2, "a", 1)]),
            ("\n\u{301}\u{302}", &[(0, "", 0), (1, "◌\u{301}\u{302}", 1)]),
            ("\u{1b}\u{301}", &[(0, "\\u{1b}", 6), (1, "◌\u{301}", 1)]),
            ("ที่日\u{302}", &[(0, "ที่", 1), (9, "日\u{302}", 2)]),
            ("\u{2764}\u{fe0f}", &[(0, "\u{2764}\u{fe0f}", 2)]),
            ("a👨\u{200d}👩\u{200d}👧b", &[(0, "a", 1), (1, "👨\u{200d}👩\u{200d}👧", 2), (19, "b", 1)]),
            ("👍🏽🇫🇷🇩", &[(0, "👍🏽", 2), (8, "🇫🇷", 2), (16, "🇩", 1)]),
            ("a\u{200d}b", &[(0, "a", 1), (1, "\\u{200d}", 8), (4, "b", 1)]),
        ] {
            let found: Vec<(usize, String, usize)> = clusters(text, false)
                .map(|cluster| (cluster.at, cluster.glyph(false).into_owned(), cluster.width))
                .collect();
            let shown: Vec<(usize, String, usize)> =
                shown.iter().map(|(at, glyph, width)| (*at, (*glyph).to_owned(), *width)).collect();
            assert_eq!(found, shown, "{text:?}");
        }
        assert_eq!(fit("👍🏽👍🏽👍🏽", 5), "👍🏽👍🏽…");
        assert_eq!(fit_end("👍🏽👍🏽👍🏽", 5), "…👍🏽👍🏽");
        assert_eq!(wrap("👍🏽👍🏽👍🏽", 4), ["👍🏽👍🏽", "👍🏽"]);
        assert_eq!(fit("e\u{301}e\u{301}e\u{301}", 3), "e\u{301}e\u{301}e\u{301}");
    }

    #[test]
    fn a_text_is_cut_to_its_width() {
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
    fn a_text_is_cut_around_the_first_difference() {
        let long = "x".repeat(1_000_000);
        for (text, other, width, shown) in [
            ("abcdef", "abcdxx", 6, "abcdef"),
            ("abcdefghij", "abx", 6, "abcde…"),
            ("abcdefghij", "abcdefghi", 6, "…hij"),
            ("abcdefghijklmnop", "abcdefghijklxxxx", 9, "…jklmnop"),
            ("abcdefghijklmnopqrstuvw", "abcdefghijklx", 9, "…jklmnop…"),
            ("ab\ncd\n\n\nefghi", "ab\ncd\n\n\nx", 9, "…\\nefghi"),
            ("日本語日本語日本", "日本語日本語x", 9, "…語日本"),
            ("aé", "aè", 9, "aé"),
            (&format!("{long}!"), &format!("{long}?"), 6, "…xx!"),
            ("abc", "ab", 0, ""),
            ("abc", "ab", 1, "…"),
        ] {
            assert_eq!(fit_around(text, common_start(text, other).len(), width), shown, "{width}");
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
