//! Findings, each with its two renders side by side.

use super::html::Html;
use super::sides::{Piece, columns};
use backchat_core::diagnostic::{escape_json, shortened};
use backchat_core::json::Value;
use backchat_core::text::slice;
use backchat_derive::derive::Evidence;

/// How much of the output of a line is shown, in characters.
const SHOWN: usize = 80;

/// The findings, in the order of a turn.
const FINDINGS: [(&str, &str); 6] = [
    ("turn", "The turn"),
    ("generation_prompts", "Generation prompts"),
    ("content", "Content"),
    ("reasoning", "Reasoning"),
    ("tools", "Calls"),
    ("arguments", "Arguments"),
];

/// Every finding that has evidence.
pub(super) fn write(html: &mut Html, evidence: &[Evidence]) {
    html.tag("p", "", "Each pair of renders differs in one thing. Words that begin with Qz or qz are probes.");
    for (finding, title) in FINDINGS {
        let mut pairs = evidence.iter().filter(|evidence| evidence.finding == finding).peekable();
        if pairs.peek().is_none() {
            continue;
        }
        html.tag("h3", "", title);
        for evidence in pairs {
            columns(html, [&evidence.without, &evidence.with], &pieces(evidence));
            printed(html, evidence);
        }
    }
}

/// The lines of the chat template that print the text that only the second render has.
fn printed(html: &mut Html, evidence: &Evidence) {
    let mut pieces = evidence.changes.iter().flat_map(|change| &change.printed).peekable();
    if pieces.peek().is_none() {
        return;
    }
    html.of_class("p", "printed", |html| {
        html.text("Printed by the chat template:");
        for piece in pieces {
            html.text(&format!(" line {} ", piece.line));
            html.tag("code", "", &escape_json(&shortened(&Value::from(piece.text.as_str()).to_string(), SHOWN)));
        }
    });
}

/// The two renders, taken apart at their differences.
fn pieces(evidence: &Evidence) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    // Between two differences both renders are the same, so a position in one gives the position in the other.
    let (mut at, mut other) = (0, 0);
    for change in &evidence.changes {
        let alike = change.at.saturating_sub(other);
        pieces.push(Piece::Same(slice(&evidence.first, at..at + alike)));
        pieces.extend([Piece::First(&change.removed), Piece::Second(&change.inserted)]);
        at += alike + change.removed.len();
        other = change.at + change.inserted.len();
    }
    pieces.push(Piece::Same(slice(&evidence.first, at..)));
    pieces.retain(|piece| !matches!(piece, Piece::Same("") | Piece::First("") | Piece::Second("")));
    pieces
}
