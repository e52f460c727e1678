//! SC001: a response schema, which transformers ignores.

use crate::lint::subject::Subject;
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity, shell_word};
use backchat_core::json::Path;

pub(in crate::lint) static RULE: Rule = Rule {
    id: "SC001",
    name: "schema-is-ignored",
    severity: Severity::Note,
    page: Page {
        what: "The file has a response schema, which transformers 5.15 and later ignore.",
        why: "The key `response_schema` is dropped silently: `parse_response` gives the raw text, and no server reads it.",
        example: "\"response_schema\": {\"type\": \"object\", \"properties\": {…}}",
        fix: "Convert it: `backchat convert SOURCE --write` makes a response template of it and reports what changes.",
    },
};

pub(in crate::lint) fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let file = shell_word(&subject.opened.file);
    let finding = rule.finding("transformers 5.15 and later ignore response schemas").at(subject.place(&Path::root()));
    vec![finding.help(format!("make a response template of it: `backchat convert {file}`"))]
}
