//! The lines of a change between two chat templates: its title, the conversation, and what differs.

use unicode_width::UnicodeWidthStr;

use super::conversation::conversation_line;
use super::lines::{COLUMNS, fitted, plain, visible};
use crate::pieces::tokens;
use crate::side::Outcome;
use crate::templates::{Change, LineHunk, What};
use backchat_core::diagnostic::counted;

/// How many characters around a hunk are shown at most.
const AROUND: usize = 24;

/// The beginning of a text that has at most so many characters and ends with a whole word or mark.
fn whole_words(text: &str, most: usize) -> &str {
    let Some((end, _)) = text.char_indices().nth(most) else { return text };
    let kept = text.get(..end).unwrap_or_default();
    let ends = tokens(text).into_iter().scan(0, |at, token| {
        *at += token.len();
        Some(*at)
    });
    let last = ends.take_while(|at| *at <= end).last().unwrap_or(0);
    if last == 0 { kept } else { text.get(..last).unwrap_or_default() }
}

/// One side of a hunk, with what is around it, and the line that prints it.
fn side_line(sign: char, text: &str, range: &std::ops::Range<usize>, line: Option<(&str, usize)>) -> String {
    let before: String = text.get(..range.start).unwrap_or_default().chars().rev().take(AROUND).collect();
    let before: String = before.chars().rev().collect();
    // From the last mark before it.
    let from = before.rfind('<').unwrap_or(0);
    let is_whole = before.len() == range.start && from == 0;
    let before = before.get(from..).unwrap_or_default();
    let rest = text.get(range.end..).unwrap_or_default();
    let after = whole_words(rest, AROUND);
    let end = if after.len() < rest.len() { "…" } else { "" };
    let own = text.get(range.clone()).unwrap_or_default();
    let own = match !own.is_empty() && own.chars().all(|c| c == ' ') {
        true => "␣".repeat(own.len()),
        false => own.to_owned(),
    };
    let start = if is_whole { "" } else { "…" };
    let shown = visible(&plain(&format!("{start}{before}{own}{after}{end}")));
    let note = line.map(|(side, line)| format!("{side} line {line}")).unwrap_or_default();
    let room = COLUMNS - 7 - note.len() - 2;
    let shown = fitted(&shown, room);
    match note.is_empty() {
        true => format!("     {sign} {shown}"),
        false => format!("     {sign} {shown}{} {note}", " ".repeat((room + 1).saturating_sub(shown.width()))),
    }
}

pub(super) fn hunk_lines(change: &Change, hunk: &LineHunk) -> Vec<String> {
    let Some(case) = change.cases.first() else { return Vec::new() };
    let [Some(old), Some(new)] = [case.outcomes[0].text(), case.outcomes[1].text()] else { return Vec::new() };
    let first = |side: &'static str, lines: &[usize]| lines.first().map(|line| (side, *line));
    vec![
        side_line('-', old, &hunk.old, first("old", &hunk.old_lines)),
        side_line('+', new, &hunk.new, first("new", &hunk.new_lines)),
    ]
}

/// A title in at most two lines.
fn titled(title: &str) -> Vec<String> {
    if title.width() <= COLUMNS {
        return vec![title.to_owned()];
    }
    let fits = |end: &usize| title.get(..*end).is_some_and(|start| start.width() <= COLUMNS);
    let end = title.match_indices(' ').map(|(at, _)| at).filter(|at| *at > 3).take_while(fits).last();
    match end.and_then(|end| Some((title.get(..end)?, title.get(end + 1..)?))) {
        Some((first, rest)) => vec![first.to_owned(), fitted(&format!("   {rest}"), COLUMNS)],
        None => vec![fitted(title, COLUMNS)],
    }
}

/// A change in lines.
pub(super) struct Entry {
    pub title: Vec<String>,
    /// The conversation, and what differs.
    pub body: Vec<String>,
}

impl Entry {
    /// The lines, with a reference in place of a body that an earlier change has, too.
    pub fn after(&self, earlier: &[Entry]) -> Vec<String> {
        let same = earlier.iter().position(|other| other.body == self.body && self.body.len() > 1);
        let body = same.map(|at| vec![format!("     as in {}", at + 1)]);
        [self.title.as_slice(), body.as_deref().unwrap_or(&self.body)].concat()
    }
}

/// The line of a change for which there is no more room.
pub(super) fn title_line(number: usize, change: &Change) -> String {
    fitted(&titled_with(number, change), COLUMNS)
}

fn titled_with(number: usize, change: &Change) -> String {
    format!("{number:<2} {}", visible(&change.summary))
}

/// A change: its title, the conversation, and what differs.
pub(super) fn entry(number: usize, change: &Change) -> Entry {
    let title = titled(&titled_with(number, change));
    let mut lines = Vec::new();
    let Some(case) = change.cases.first() else { return Entry { title, body: lines } };
    lines.push(fitted(&format!("     {}", conversation_line(&case.conversation)), COLUMNS));
    match (change.what, change.hunks.first()) {
        (What::Text, Some(hunk)) => lines.extend(hunk_lines(change, hunk)),
        (What::Refusal, _) => {
            for (sign, outcome) in ['-', '+'].into_iter().zip(&case.outcomes) {
                let shown = match outcome {
                    Outcome::Refused(message) => format!("refused: {}", visible(message)),
                    Outcome::Text { text, .. } => format!("rendered, {} bytes", text.len()),
                };
                lines.push(fitted(&format!("     {sign} {shown}"), COLUMNS));
            }
        }
        _ => {
            for (sign, outcome) in ['-', '+'].into_iter().zip(&case.outcomes) {
                if let Outcome::Text { spans, .. } = outcome {
                    lines.push(format!("     {sign} {}", counted(spans.len(), "generation block")));
                }
            }
        }
    }
    Entry { title, body: lines }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_an_earlier_change_has_are_not_repeated() {
        let entry = |title: &str, body: &[&str]| Entry {
            title: vec![title.to_owned()],
            body: body.iter().map(|line| (*line).to_owned()).collect(),
        };
        let earlier = [entry("1  tools", &["user", "- a", "+ b"]), entry("2  no room", &[])];
        assert_eq!(entry("3  calls", &["user", "- a", "+ b"]).after(&earlier), ["3  calls", "     as in 1"]);
        assert_eq!(entry("3  calls", &["user", "- a"]).after(&earlier), ["3  calls", "user", "- a"]);
        assert_eq!(entry("3  calls", &[]).after(&earlier), ["3  calls"]);
    }
}
