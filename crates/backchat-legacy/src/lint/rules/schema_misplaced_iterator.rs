//! SC012: an iterator or a key-value pattern on a node of the wrong type.

use crate::lint::subject::Subject;
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity};

pub(in crate::lint) static RULE: Rule = Rule {
    id: "SC012",
    name: "schema-misplaced-iterator",
    severity: Severity::Error,
    page: Page {
        what: "`x-regex-iterator` is on a node that is not an array, or `x-regex-key-value` on one that is not an object.",
        why: "The reference raises on every output that reaches the node.",
        example: "{\"type\": \"object\", \"x-regex-iterator\": \"<call>(.*?)</call>\"}",
        fix: "Give the node the type `array` with `items`, or `object`.",
    },
};

pub(in crate::lint) fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let found = subject.patterns().into_iter().filter_map(|(node, key, _)| {
        let wanted = match key {
            "x-regex-iterator" => "array",
            "x-regex-key-value" => "object",
            _ => return None,
        };
        let message = format!("`{key}` works in a node of type `{wanted}` only");
        let finding = rule.finding(message).at(subject.place(&node.path.key(key)));
        (node.type_name() != Some(wanted)).then(|| finding.help(format!("write `\"type\": \"{wanted}\"`")))
    });
    found.collect()
}
