//! SC020: a key of a response schema that nothing reads.

use crate::lint::subject::Subject;
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity};

pub(in crate::lint) static RULE: Rule = Rule {
    id: "SC020",
    name: "schema-unread-key",
    severity: Severity::Warning,
    page: Page {
        what: "A node of a response schema has a key that nothing reads.",
        why: "`anyOf`, `enum` and `pattern` do nothing, `x-mapping` and `x-mapping-regex` do nothing since transformers 5.4, and neither does an `x-` key with a typing mistake.",
        example: "\"x-mapping\": {\"a\": \"b\"}",
        fix: "Remove it; to rename something, do so in `x-parser-args.transform`.",
    },
};

pub(in crate::lint) fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for node in subject.nodes() {
        for key in &node.unread {
            let message = format!("nothing reads `{}`", backchat_core::diagnostic::shortened(key, 40));
            found.push(rule.finding(message).at(subject.place(&node.path.key(key))).help("remove it"));
        }
    }
    found
}
