//! Inlay hints and code lenses of a chat template.

use std::ops::Range;

use backchat_core::text::{Lines, slice};
use backchat_derive::derive::Mark;

use crate::chat_facts::{ChatFacts, Headline};
use crate::chat_hover::{marks_of, takers};
use crate::chat_text::ChatText;

/// A hint at the end of a line: its byte in the document, and its text.
pub fn inlay_hints(text: &ChatText, facts: &ChatFacts) -> Vec<(usize, String)> {
    let lines = Lines::of(&text.source);
    let mut hints: Vec<(usize, String)> = Vec::new();
    let mut add = |at: usize, hint: String| {
        let line = lines.line(at);
        if !hints.iter().any(|(known, _)| *known == line) {
            hints.push((line, hint));
        }
    };
    for literal in &text.reading.literals {
        for line in pieces_of(text, &literal.span) {
            let Some(earlier) = facts.earlier_span(&text.source, &line) else { continue };
            if let Some(hint) = marks_of(facts, &earlier).first().and_then(|(mark, _)| short(mark)) {
                add(line.start, hint);
            }
        }
    }
    for block in text.reading.blocks.iter().filter(|block| block.name == "if") {
        for (number, part) in block.parts.iter().enumerate() {
            if takers(text, facts, block, number).is_some_and(|takers| takers.is_empty()) {
                add(part.tag.start, "never".to_owned());
            }
        }
    }
    let end = |line: usize| text.to_document(lines.span(&text.source, line).end);
    let mut found: Vec<(usize, String)> = hints.into_iter().map(|(line, hint)| (end(line), hint)).collect();
    found.sort();
    found
}

/// The lines of a literal that are more than white space.
fn pieces_of(text: &ChatText, span: &Range<usize>) -> Vec<Range<usize>> {
    let mut at = span.start;
    let mut found = Vec::new();
    for line in slice(&text.source, span.clone()).split_inclusive('\n') {
        let end = at + line.len();
        if !line.trim().is_empty() {
            found.push(at..end);
        }
        at = end;
    }
    found
}

fn short(mark: &Mark) -> Option<String> {
    Some(match mark {
        Mark::Start => "assistant ▸".to_owned(),
        Mark::Open(field) => format!("{field} ▸"),
        Mark::Close(field) => format!("◂ {field}"),
        Mark::End => "turn ◂".to_owned(),
        Mark::Body(_) => return None,
    })
}

/// The verdict in one line, as lenses and the status bar show it.
pub fn verdict_line(verdict: &Headline) -> String {
    let Headline { status, passed, cases, first } = verdict;
    let first = first.as_deref().map(|first| {
        let line: String = first.lines().next().unwrap_or_default().chars().take(80).collect();
        format!(" · first: {line}")
    });
    match *status {
        "failed" if *cases == 0 => format!("no draft: {}", first.unwrap_or_default().trim_start_matches(" · first: ")),
        _ => format!("{status}: {passed} of {cases}{}", first.unwrap_or_default()),
    }
}

/// The title of the first lens of a chat template.
pub fn lens(facts: &ChatFacts) -> String {
    let mut parts = vec![verdict_line(&facts.verdict)];
    if !facts.parts.is_empty() {
        parts.push(facts.parts.join(", "));
    }
    if !facts.readers.is_empty() {
        parts.push(facts.readers.join(", "));
    }
    parts.join(" · ")
}
