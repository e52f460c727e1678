//! SC010: a pattern, replacement or expression of a response schema that cannot be read.

use crate::lint::subject::Subject;
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity};

pub(in crate::lint) static RULE: Rule = Rule {
    id: "SC010",
    name: "schema-pattern",
    severity: Severity::Error,
    page: Page {
        what: "A pattern, a replacement or a JMESPath expression of a response schema cannot be read.",
        why: "The reference raises when it gets there, which may be on some outputs only.",
        example: "\"x-regex\": \"\\\\p{L}+\"",
        fix: "Write it in the syntax of Python's `re` (flags at the front, look-behinds of fixed width, no `\\p{…}`) or of JMESPath.",
    },
};

pub(in crate::lint) fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for node in subject.nodes() {
        let keys =
            [("x-regex", &node.regex), ("x-regex-iterator", &node.iterator), ("x-regex-key-value", &node.key_value)];
        for (key, regex) in keys {
            if let Some(Err(error)) = regex.as_ref().map(|regex| &regex.pattern) {
                let message = format!("the pattern does not compile: {error} (at byte {})", error.offset);
                found.push(rule.finding(message).at(subject.place(&node.path.key(key))));
            }
        }
        for (index, substitution) in node.substitutions.iter().enumerate() {
            let path = node.path.key("x-regex-substitutions").index(index);
            let message = match (&substitution.regex.pattern, &substitution.replacement) {
                (Err(error), _) => format!("the pattern does not compile: {error}"),
                (Ok(_), Err(error)) => format!("the replacement cannot be read: {error}"),
                _ => continue,
            };
            found.push(rule.finding(message).at(subject.place(&path)));
        }
        if let Some((_, Err(error))) = node.parser.as_ref().and_then(|parser| parser.transform.as_ref()) {
            let path = node.path.key("x-parser-args").key("transform");
            let message = format!("the JMESPath expression cannot be read: {error}");
            found.push(rule.finding(message).at(subject.place(&path)));
        }
    }
    found.into_iter().map(|finding| finding.help("the reference raises when it gets there")).collect()
}
