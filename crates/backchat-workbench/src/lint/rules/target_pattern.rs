//! RT052: a pattern that a target refuses.

use crate::lint::check::{Check, Finder};
use crate::lint::subject::Subject;
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity};
use backchat_derive::targets::Reason;

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT052",
        name: "target-pattern",
        severity: Severity::Error,
        page: Page {
            what: "A target (`--target`) refuses something in this pattern.",
            why: "The template does not load there. For `smg`, the verdict comes from its own code, release 0.1.0.",
            example: "\"close_pattern\": \"</call>(?=\\\\s)\" with `--target smg`",
            fix: "Write literals, or the pattern without the construct.",
        },
    },
    finder: Finder::Check(check),
};

fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let findings = subject.refusals(|reason| reason == Reason::Pattern).into_iter().map(|refusal| {
        let message = format!("{} refuses this pattern: {}", refusal.reader.title(), refusal.words);
        rule.finding(message).at(subject.place(&refusal.place)).help("write literals, or the pattern without it")
    });
    findings.collect()
}
