//! RT051: a construct of the format that a target refuses.

use crate::lint::check::{Check, Finder};
use crate::lint::subject::Subject;
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity};
use backchat_derive::targets::{Reason, Refusal};

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT051",
        name: "target-construct",
        severity: Severity::Error,
        page: Page {
            what: "A target (`--target`) refuses a construct of the format that this field uses.",
            why: "It refuses the whole template when it starts.",
            example: "\"content\": {\"repeats\": true, \"join\": \"\"} with `--target vllm`",
            fix: "Leave the construct out for this target.",
        },
    },
    finder: Finder::Check(check),
};

fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let is_ours = |reason| !matches!(reason, Reason::Field | Reason::Default | Reason::Pattern);
    let findings = subject.refusals(is_ours).into_iter().map(|Refusal { reader, place, reason, words }| {
        let help = match reason {
            Reason::NeedsOpen => "give the field an `open` with the text that begins a call",
            Reason::EmptyMatch => "let open or close take at least one character",
            Reason::SharedValue => "use each value once, and leave the list out of `defaults`",
            _ => "leave it out for this target",
        };
        let message = format!("{} refuses this: {words}", reader.title());
        rule.finding(message).at(subject.key_place(&place)).help(help)
    });
    findings.collect()
}
