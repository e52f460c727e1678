//! RT002: a pattern holds plain text until the message is complete, found by running it.

use crate::lint::check::{Check, Finder};
use crate::lint::subject::{Side, Subject};
use crate::lint::trial_parse::parser;
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity};
use backchat_parser::parser::{Mode, Parser};

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT002",
        name: "holds-message",
        severity: Severity::Warning,
        page: Page {
            what: "A pattern holds plain text until the message is complete. A note if it can open only at the beginning of the text, because nothing else marks a region without an open.",
            why: "Nothing is shown before the message is complete: the stream does not stream. The usual cause is a look-ahead for a marker that may come much later, or `.*` in an open pattern.",
            example: "\"reasoning_content\": {\"open_pattern\": \"(?=[\\\\s\\\\S]*</think>)\", \"close\": \"</think>\"}",
            fix: "Open the region with a marker of its own, or let the start anchor end where the region begins: `\"start_anchor\": \"<|assistant|>\"` with an open that the prompt writes.",
        },
    },
    finder: Finder::Run(check),
};

/// Plain text, fed a piece at a time.
const PROSE: &str = "The quick brown fox, no. 7, jumps\nover the lazy dog. It's fine.\n\n";
/// How often the prose is written.
const ROUNDS: usize = 60;

fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let Some(outside) = parser(subject.template, Mode::Stable) else { return Vec::new() };
    let mut found: Vec<Diagnostic> = Vec::new();
    let insides = subject.fields().filter_map(|(field, markers)| {
        let mut parser = outside.clone();
        parser.feed(markers.open.first()?).ok()?;
        // A marker may wait until another pattern is decided.
        (parser.current_field() == Some(&field.name)).then_some(parser)
    });
    for mut parser in insides.collect::<Vec<_>>().into_iter().chain([outside.clone()]) {
        for (name, closes) in holders(&mut parser) {
            let Some(field) = subject.template.field(&name) else { continue };
            let side = if closes { Side::Close } else { Side::Open };
            let path = Subject::delimiter_path(field, side);
            let message =
                "nothing is shown until the message is complete: plain text may still become a match of this pattern";
            let finding = rule.finding(message).at(subject.place(&path));
            let mut finding =
                finding.help("use a marker that begins where the region begins, and no look-ahead without end");
            // An open at the beginning of the text that looks ahead for its close is the only way to detect a region
            // without opening marker. Its text is released once that close has come.
            if side == Side::Open && field.open.as_ref().is_some_and(|open| open.pattern().begins_the_text()) {
                finding.severity = Severity::Note;
            }
            if !found.contains(&finding) {
                found.push(finding);
            }
        }
    }
    found
}

/// The delimiters that hold all of a long plain text.
fn holders(parser: &mut Parser) -> Vec<(String, bool)> {
    let mut written = 0;
    for piece in std::iter::repeat_n(PROSE, ROUNDS) {
        if parser.feed_into(piece, &mut |_| {}).is_err() {
            return Vec::new();
        }
        written += piece.len();
    }
    let held = parser.held();
    if held.text.len() < written / 2 {
        return Vec::new();
    }
    let pending = held.pending.iter().filter(|pending| pending.start <= held.start);
    pending.map(|pending| (pending.field.to_owned(), pending.closes)).collect()
}
