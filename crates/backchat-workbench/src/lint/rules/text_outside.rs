//! RT005: no field takes the text outside all regions.

use crate::lint::check::{Check, Finder};
use crate::lint::subject::Subject;
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity};
use backchat_core::json::Path;

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT005",
        name: "text-outside",
        severity: Severity::Warning,
        page: Page {
            what: "No field takes the text outside all regions.",
            why: "Text that the model writes there is lost. `backchat parse` reports it as `text-outside`, and most other readers say nothing. It is a note where `content` has an opening delimiter: then all text may be between markers.",
            example: "\"tool_calls\": {\"open\": \"<call>\", \"close_pattern\": \"</call>\\\\s*\", \"repeats\": true, \"content\": \"json\"}\n\n\"Let me look.<call>{}</call>\" has no content.",
            fix: "Add a field without `open`, closed by the marker that ends the turn: `\"content\": {\"close\": \"<|end|>\"}`.",
        },
    },
    finder: Finder::Check(check),
};

/// The field of the answer.
const CONTENT: &str = "content";

fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    if subject.template.implicit_field().is_some() {
        return Vec::new();
    }
    let finding = rule.finding("no field takes the text outside all regions: it is lost");
    let mut finding = finding.at(subject.key_place(&Path::root().key("fields"))).help("add a field without `open`");
    if subject.template.field(CONTENT).is_some() {
        finding.severity = Severity::Note;
    }
    vec![finding]
}
