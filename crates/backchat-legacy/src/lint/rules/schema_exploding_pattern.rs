//! SC030: a pattern of a response schema that can take exponential time.

use crate::lint::subject::Subject;
use crate::schema::Node;
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity};
use backchat_parser::pattern::Pattern;

pub(in crate::lint) static RULE: Rule = Rule {
    id: "SC030",
    name: "schema-exploding-pattern",
    severity: Severity::Warning,
    page: Page {
        what: "A pattern of a response schema can take exponential time.",
        why: "Python's `re` backtracks: on an output cut short in the wrong place the process hangs. Backchat stops with an error.",
        example: "\"x-regex\": \"(?:\\\\w+\\\\s*)+$\"",
        fix: "Let each character be taken by one part of the pattern only.",
    },
};

pub(in crate::lint) fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let found = subject.patterns().into_iter().filter(|(_, _, pattern)| pattern.shape().explosion.is_some());
    let finding = |(node, key, _): (&Node, &str, &Pattern)| {
        let finding = rule.finding("the pattern may take exponential time").at(subject.place(&node.path.key(key)));
        finding.help("let each character be taken by one part of the pattern only")
    };
    found.map(finding).collect()
}
