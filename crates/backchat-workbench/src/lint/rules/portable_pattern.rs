//! RT053: a pattern that the engines of other languages refuse.

use crate::lint::check::{Check, Finder};
use crate::lint::subject::Subject;
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity};
use backchat_core::json::Value;
use backchat_derive::targets::ENGINES;

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT053",
        name: "portable-pattern",
        severity: Severity::Note,
        page: Page {
            what: "The engines of other languages refuse this pattern.",
            why: "The format is read in Python, Rust and JavaScript; a pattern that only one of them takes binds the model to it.",
            example: "\"open_pattern\": \"<call>(?!\\\\s*</call>)\"",
            fix: "Write literals if they match the same, and no look-around, back-references, atomic groups or possessive repeats.",
        },
    },
    finder: Finder::Check(check),
};

fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (path, pattern) in subject.patterns() {
        let refusing =
            ENGINES.iter().filter_map(|engine| Some(format!("{} ({})", engine.name, engine.check(pattern)?)));
        let refusing: Vec<String> = refusing.collect();
        if !refusing.is_empty() {
            let message = format!("engines that refuse this pattern: {}", refusing.join("; "));
            let example = Value::from(pattern.source());
            let help = format!("for those engines, rewrite {example} without the constructs they name");
            found.push(rule.finding(message).at(subject.place(&path)).help(help));
        }
    }
    found
}
