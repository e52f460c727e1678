//! The short report of `derive`, laid out for a terminal of 80 columns: a line or two for each subject.

use backchat_core::diagnostic::escape;
use backchat_derive::derive::Derivation;

const WIDTH: usize = 80;

/// Where the text of a line begins, after its subject.
const INDENT: usize = 13;

/// The lines of the report, cleaned for a terminal.
pub(super) fn report(derivation: &Derivation) -> Vec<String> {
    let mut lines = wrapped(&escape(&derivation.verdict_line()), WIDTH);
    let mut last = "";
    for (label, text) in derivation.summary_lines() {
        let shown = if label == last { "" } else { label };
        for (at, part) in wrapped(&escape(&text), WIDTH - INDENT).into_iter().enumerate() {
            let label = if at == 0 { shown } else { "" };
            lines.push(format!("  {label:<width$}{part}", width = INDENT - 2));
        }
        last = label;
    }
    lines
}

/// The text of a note, cleaned for a terminal.
pub(super) fn note(text: &str) -> String {
    wrapped(&escape(text), WIDTH - "note: ".len()).join("\n")
}

/// Wraps a text to a width, at spaces. A longer word has its own line.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words(text) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// The words of a text. Code with spaces counts as one word, so that it can be copied.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_code = false;
    for word in text.split(' ') {
        match words.last_mut().filter(|_| is_code) {
            Some(code) => {
                code.push(' ');
                code.push_str(word);
            }
            None => words.push(word.to_owned()),
        }
        is_code ^= word.matches('`').count() % 2 == 1;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_wrap_at_spaces() {
        for (text, lines) in [
            ("", vec![""]),
            ("one two", vec!["one two"]),
            ("one two three", vec!["one two", "three"]),
            ("extraordinary one", vec!["extraordinary", "one"]),
            ("say `a b c d e` now", vec!["say", "`a b c d e`", "now"]),
        ] {
            assert_eq!(wrapped(text, 8), lines, "{text}");
        }
    }
}
