//! SC011: a pattern whose groups its node cannot use.

use crate::lint::subject::Subject;
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity};

pub(in crate::lint) static RULE: Rule = Rule {
    id: "SC011",
    name: "schema-groups",
    severity: Severity::Error,
    page: Page {
        what: "A pattern of a response schema has groups that its node cannot use.",
        why: "Without named groups there must be exactly one group; `x-regex-key-value` needs the groups `key` and `value`. Otherwise the reference raises on every match.",
        example: "\"x-regex\": \"<think>.*?</think>\"",
        fix: "Put one group around what the node takes, and write the others as `(?:…)`.",
    },
};

pub(in crate::lint) fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let found = subject.patterns().into_iter().filter_map(|(node, key, pattern)| {
        let named: Vec<&str> = pattern.names().collect();
        let message = match (key, pattern.group_count()) {
            ("x-regex-key-value", _) if ["key", "value"].iter().all(|name| named.contains(name)) => return None,
            ("x-regex-key-value", _) => "the pattern needs the groups `key` and `value`".to_owned(),
            (_, 1) => return None,
            _ if !named.is_empty() => return None,
            (_, 0) => "the pattern has no group that takes the value".to_owned(),
            (_, count) => format!("the pattern has {count} groups without names, and one is needed"),
        };
        let finding = rule.finding(message).at(subject.place(&node.path.key(key)));
        Some(finding.help("put one group around the value; write the others as `(?:…)`"))
    });
    found.collect()
}
