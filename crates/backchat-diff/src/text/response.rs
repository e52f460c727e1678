//! The comparison of two response templates as text.

use super::lines::{COLUMNS, MOST_CHANGES, fitted, thousands, visible};
use super::markdown::{MOST_MARKDOWN, cell, section};
use crate::response::{ParseChange, Parsed, ResponseDiff};
use crate::templates::Verdict;
use backchat_core::diagnostic::counted;
use backchat_core::json::Value;

/// How many lines the changes may take together.
const LINES: usize = 15;

impl ResponseDiff {
    /// The first line: the verdict, and what differs.
    pub fn headline(&self) -> String {
        match self.verdict {
            _ if self.is_proved => "same, proved: the two are one response template".to_owned(),
            Verdict::Differs => {
                let fields: Vec<String> = self.changes.iter().map(|change| change.fields.join(" and ")).collect();
                let ways = counted(self.changes.len(), "way");
                fitted(&format!("differs in {ways}: {}", visible(&fields.join("; "))), COLUMNS)
            }
            Verdict::Undecided => {
                let fields: Vec<String> = self.unfilled.iter().map(|field| format!("`{}`", visible(field))).collect();
                let count = thousands(self.texts);
                fitted(&format!("undecided: none of {count} texts fills {}", fields.join(" and ")), COLUMNS)
            }
            Verdict::Same => format!("same on {} texts", thousands(self.texts)),
        }
    }

    /// The comparison for a terminal of 80 columns, with escapes for everything that could affect it.
    pub fn text(&self) -> String {
        let mut lines = vec![self.headline()];
        if self.verdict == Verdict::Undecided && self.turns == 0 {
            lines.push("`--chat-template SOURCE` compares them on the turns that it writes.".to_owned());
        }
        if !self.changes.is_empty() {
            lines.push(String::new());
        }
        let listed = self.changes.len().min(MOST_CHANGES);
        let whole = LINES.saturating_sub(listed) / 3;
        for (at, change) in self.changes.iter().take(listed).enumerate() {
            lines.extend(parse_lines(at + 1, change, self.turns, at < whole));
        }
        for (side, findings) in ["old", "new"].into_iter().zip(&self.lint) {
            for finding in findings.iter().take(3) {
                lines.push(fitted(&format!("{:<11}only of the {side} one: {}", "lint", visible(finding)), COLUMNS));
            }
        }
        lines.join("\n") + "\n"
    }

    /// A change as a whole.
    pub fn explained(&self, number: usize) -> Option<String> {
        let change = self.changes.get(number.checked_sub(1)?)?;
        let mut out = parse_lines(number, change, self.turns, true).join("\n") + "\n";
        out += &format!("\nafter the prompt `{}`\n", visible(&change.prefix));
        for (sign, parsed) in ['-', '+'].into_iter().zip(&change.parsed) {
            out += &format!("{sign} {}\n", visible(&parsed_words(parsed)));
        }
        Some(out)
    }

    /// The comparison as Markdown.
    pub fn markdown(&self) -> String {
        let mut out = format!("**{}**\n", cell(&self.headline()));
        for (at, _) in self.changes.iter().enumerate().take(30) {
            let section = section(at + 1, &self.explained(at + 1).unwrap_or_default());
            if out.len() + section.len() > MOST_MARKDOWN {
                break;
            }
            out += &section;
        }
        out
    }
}

fn parsed_words(parsed: &Parsed) -> String {
    match parsed {
        Parsed::Message(message) => Value::Object(message.clone()).to_string(),
        Parsed::Error(message) => format!("error: {message}"),
    }
}

fn parse_lines(number: usize, change: &ParseChange, of: usize, is_whole: bool) -> Vec<String> {
    let by = match (of, change.turns, change.is_written) {
        (0, ..) => String::new(),
        (_, 0, false) => " (in no turn of the chat template)".to_owned(),
        (_, 0, true) => " (in turns of the chat template that are cut off)".to_owned(),
        (of, turns, _) => format!(" (in {turns} of {of} turns of the chat template)"),
    };
    let mut lines = vec![fitted(&format!("{number:<2} {}{by}", visible(&change.fields.join(" and "))), COLUMNS)];
    if is_whole {
        lines.push(fitted(&format!("     `{}`", visible(&change.text)), COLUMNS));
        for (sign, words) in ['-', '+'].into_iter().zip(differing_words(change)) {
            lines.push(fitted(&format!("     {sign} {}", visible(&words)), COLUMNS));
        }
    }
    lines
}

/// How many characters are left before the first one in which two messages differ.
const BEFORE: usize = 24;

/// What each makes of the text: the fields that differ, or all beside an error, from a little before the first difference
/// on.
fn differing_words(change: &ParseChange) -> [String; 2] {
    let [old, new] = change.parsed.each_ref().map(|parsed| match parsed {
        Parsed::Message(message) => {
            let is_shown = |key: &str| change.fields.iter().any(|field| field == key || field == "error");
            let fields = message.iter().filter(|(key, _)| is_shown(key));
            Value::Object(fields.map(|(key, value)| (key.to_owned(), value.clone())).collect()).to_string()
        }
        Parsed::Error(_) => parsed_words(parsed),
    });
    let shared = old.chars().zip(new.chars()).take_while(|(one, other)| one == other).count();
    let skipped = shared.saturating_sub(BEFORE);
    let from = |text: &str| match skipped {
        0 => text.to_owned(),
        _ => format!("…{}", text.chars().skip(skipped).collect::<String>()),
    };
    [from(&old), from(&new)]
}
