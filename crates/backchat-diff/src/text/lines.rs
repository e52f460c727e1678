//! Texts in lines of 80 columns: white space visible, made words ordinary, nothing that could affect a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use backchat_core::diagnostic::escape;
use backchat_core::python::text::is_word;

/// Columns of a line.
pub(super) const COLUMNS: usize = 80;

/// How many changes are listed.
pub(super) const MOST_CHANGES: usize = 12;

/// What the words of conversations are shown as.
const WORDS: [(&str, &str); 24] = [
    ("zqu1", "hi"),
    ("zqu2", "go on"),
    ("zqu3", "and then?"),
    ("zqa1", "yes"),
    ("zqa2", "sure"),
    ("zqa3", "done"),
    ("zqa9", "all right"),
    ("zqr1", "so"),
    ("zqr2", "hm"),
    ("zqr3", "ah"),
    ("zqr9", "aha"),
    ("zqi1", "so"),
    ("zqi2", "hm"),
    ("zqi3", "ah"),
    ("zqi9", "aha"),
    ("zqs", "be kind"),
    ("zqd", "brief"),
    ("zql", "stop"),
    ("zqo", "once"),
    ("zqt1", "22"),
    ("zqt2", "8"),
    ("zqc1", "Oslo"),
    ("zqc2", "Rome"),
    ("zqn", "Ann"),
];

/// A text with ordinary words in the place of the made ones.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("zq") {
        let (before, from) = (rest.get(..at).unwrap_or_default(), rest.get(at..).unwrap_or_default());
        let end = from.find(|c| !is_word(c)).unwrap_or(from.len());
        // Two made words may be printed without anything between them.
        let end = from.get(2..end).and_then(|inside| inside.find("zq")).map_or(end, |next| next + 2);
        let (word, after) = from.split_at(end);
        out.push_str(before);
        match WORDS.iter().find(|(known, _)| *known == word) {
            Some((_, shown)) => out.push_str(shown),
            None => out.push_str(word.strip_prefix("zq").filter(|rest| !rest.is_empty()).unwrap_or("x")),
        }
        rest = after;
    }
    out + rest
}

/// A text in one line: line breaks and tabs as signs, everything else that moves a cursor escaped.
pub(super) fn visible(text: &str) -> String {
    escape(&text.replace('\n', "⏎").replace('\t', "⇥")).into_owned()
}

/// The beginning of a text that takes at most so many columns.
pub(super) fn fitted(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut left = columns.saturating_sub(1);
    for c in text.chars() {
        let width = c.width().unwrap_or(0);
        if width > left {
            break;
        }
        left -= width;
        out.push(c);
    }
    out + "…"
}
/// The lines of a text after a label.
pub(super) fn labelled(label: &str, text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.width() + word.width() + 12 > COLUMNS {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    let first = |at: usize| if at == 0 { label } else { "" };
    lines.iter().enumerate().map(|(at, line)| fitted(&format!("{:<11}{line}", first(at)), COLUMNS)).collect()
}

/// A sentence in lines that fit.
pub(super) fn wrapped(sentence: &str) -> Vec<String> {
    if sentence.width() <= COLUMNS {
        return vec![sentence.to_owned()];
    }
    labelled("", sentence).into_iter().map(|line| line.trim_start().to_owned()).collect()
}

pub(super) fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_affects_a_terminal_is_left_and_lines_fit() {
        let hostile = "\u{1b}[31m\u{202e}x\r\n\u{7}".repeat(2_000);
        let shown = fitted(&visible(&hostile), COLUMNS);
        assert!(shown.width() <= COLUMNS, "{shown}");
        assert!(!shown.contains(|c: char| c.is_control() || c == '\u{202e}'), "{shown}");
    }

    #[test]
    fn made_words_are_ordinary_ones() {
        assert_eq!(plain("<u>zqu1<e> zqunknown zq"), "<u>hi<e> unknown x");
    }
}
