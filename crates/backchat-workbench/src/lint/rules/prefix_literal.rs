//! RT011: a literal of a list begins another one that is longer by more than one character.

use std::collections::HashSet;

use crate::lint::check::{Check, Finder};
use crate::lint::subject::Subject;
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity};
use backchat_core::json::Value;

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT011",
        name: "prefix-literal",
        severity: Severity::Warning,
        page: Page {
            what: "One literal of a list is the beginning of another that is longer by more than one character.",
            why: "The longest one counts, but in a stream the shorter one is complete before the longer one has come. transformers waits for only one more character: which one it takes depends on the chunks.",
            example: "\"close\": [\"</think>\", \"</think>\\n\\n\"]",
            fix: "Keep the shorter one and let a pattern take the rest: `\"close_pattern\": \"</think>\\\\s*\"`.",
        },
    },
    finder: Finder::Check(check),
};

fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (field, side, delimiter) in subject.delimiters() {
        let literals = delimiter.literals().unwrap_or(&[]);
        let known: HashSet<&str> = literals.iter().map(String::as_str).collect();
        for (index, long) in literals.iter().enumerate() {
            let begins = |end: usize| long.get(..end).filter(|text| known.contains(text));
            let Some(short) = (1..long.len()).rev().find_map(begins) else { continue };
            // A stream waits for one more character.
            if long.chars().count() == short.chars().count() + 1 {
                continue;
            }
            let message = format!("{} is the beginning of {}", Value::from(short), Value::from(long.as_str()));
            let path = Subject::delimiter_path(field, side);
            let path = if literals.len() > 1 { path.index(index) } else { path };
            let finding = rule.finding(message).at(subject.place(&path));
            found.push(finding.help("keep the shorter one, and let a pattern take what may follow"));
        }
    }
    found
}
