//! RT054: something that a target loads and then drops or misreads.

use crate::lint::check::{Check, Finder};
use crate::lint::subject::Subject;
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity};

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT054",
        name: "target-caution",
        severity: Severity::Warning,
        page: Page {
            what: "A target (`--target`) loads the template and then drops or misreads something.",
            why: "The server starts without a warning, and then calls are dropped, reasoning never ends, or markers remain in the text.",
            example: "\"thinking\": {\"open\": \"<think>\", \"close_pattern\": \"</think>\\\\s*\"} with `--target vllm`",
            fix: "Write what the finding says; often a literal instead of a pattern.",
        },
    },
    finder: Finder::Check(check),
};

fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let cautions = subject.readers().into_iter().flat_map(|reader| reader.cautions(subject.template));
    let findings = cautions.map(|caution| {
        let message = format!("in {} {}", caution.reader.title(), caution.effect);
        rule.finding(message).at(subject.key_place(&caution.place)).help(caution.help)
    });
    findings.collect()
}
