//! RT060: a pattern that can take exponential time.

use crate::lint::check::{Check, Finder};
use crate::lint::subject::Subject;
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity};
use backchat_parser::pattern::Explosion;

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT060",
        name: "exploding-pattern",
        severity: Severity::Warning,
        page: Page {
            what: "A pattern repeats something that can take the same text in many ways.",
            why: "An engine that backtracks, as Python's does, tries them all before it gives up: on an output that is cut short at the wrong place, a server hangs. Backchat stops with an error.",
            example: "\"open_pattern\": \"<call(?:\\\\s*\\\\w*)*>\"",
            fix: "Let each character be taken by one part of the pattern only: `<call[\\\\s\\\\w]*>`.",
        },
    },
    finder: Finder::Check(check),
};

fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let found = subject.patterns().into_iter().filter_map(|(path, pattern)| {
        let why = match pattern.shape().explosion? {
            Explosion::Nested => "a nested repeat can split one text in exponentially many ways",
            Explosion::Branches => "two branches under a repeat can take the same text",
        };
        let finding = rule.finding(format!("the pattern may take exponential time: {why}")).at(subject.place(&path));
        Some(finding.help("let each character be taken by one part of the pattern only"))
    });
    found.collect()
}
