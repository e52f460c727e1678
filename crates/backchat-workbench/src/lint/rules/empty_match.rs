//! RT014: a delimiter that can match without taking a character.

use crate::lint::check::{Check, Finder};
use crate::lint::subject::{Side, Subject};
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity};
use backchat_parser::pattern::Pattern;
use backchat_parser::template::Delimiter;

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT014",
        name: "empty-match",
        severity: Severity::Warning,
        page: Page {
            what: "A delimiter can match without consuming a character.",
            why: "An empty open matches everywhere. If transformers meets an empty close of the field without `open` before that has any text, it stops looking, and the rest of the message vanishes; if open and close can both be empty, it never ends.",
            example: "\"content\": {\"close_pattern\": \"(?=<)\"}",
            fix: "Let the pattern take at least the first character of the marker, or omit the close: another field's open ends the field without `open` by itself.",
        },
    },
    finder: Finder::Check(check),
};

fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let is_empty =
        |delimiter: Option<&Delimiter>| delimiter.is_some_and(|delimiter| matches_nothing(delimiter.pattern()));
    let mut found = Vec::new();
    for field in subject.template.fields() {
        let (open, close) = (field.open.as_ref(), field.close.as_ref());
        // If a region has a marker on one side, an empty match on the other does no harm.
        let (side, message) = if is_empty(open) && is_empty(close) {
            (Side::Open, "open and close can both match nothing: transformers never ends".to_owned())
        } else if open.is_some_and(|open| matches_nothing_in(open.pattern(), "ab c\nd")) {
            (Side::Open, format!("`{}` can open without a marker, in the middle of plain text", field.name))
        } else if open.is_none() && is_empty(close) {
            let message = "this can match nothing: where it does before any text has come, transformers drops the rest of the message";
            (Side::Close, message.to_owned())
        } else {
            continue;
        };
        let finding = rule.finding(message).at(subject.place(&Subject::delimiter_path(field, side)));
        found.push(finding.help("let the pattern take at least one character"));
    }
    found
}

/// Whether a pattern has an empty match before the end of one of its example texts, or of plain text.
fn matches_nothing(pattern: &Pattern) -> bool {
    let mut probes = pattern.examples().iter().map(String::as_str).chain(["ab c\n<x>"]);
    probes.any(|probe| matches_nothing_in(pattern, &format!("{probe}~z")))
}

/// Whether a pattern has an empty match inside a text, apart from its start and its end.
fn matches_nothing_in(pattern: &Pattern, text: &str) -> bool {
    let is_inside = |at: usize| at > 0 && at + 1 < text.len();
    pattern.can_be_empty()
        && pattern.matches(text).flatten().take(64).any(|found| found.text().is_empty() && is_inside(found.span().0))
}
