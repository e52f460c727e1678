//! RT041: a marker of a delimiter that the tokenizer has no token for.

use crate::lint::check::{Check, Finder};
use crate::lint::subject::Subject;
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity};
use backchat_core::json::{Path, Value};

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT041",
        name: "tokenless-marker",
        severity: Severity::Note,
        page: Page {
            what: "The tokenizer has no token for a marker of a delimiter. Checked with `lint --tokenizer FILE`.",
            why: "Where a model's output is parsed as token ids, a marker with a token of its own cannot be forged: its characters in other tokens are text. A marker without one is matched as text, so that a model that quotes it ends or begins a region.",
            example: "\"open\": \"<function=\"",
            fix: "If the tokenizer spells the marker differently, use its spelling. If the model was trained to write it in plain text, nothing can be done: the marker is matched as text.",
        },
    },
    finder: Finder::Check(check),
};

fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let Some(tokens) = &subject.tokens else { return Vec::new() };
    let finding = |mark: String| {
        rule.finding(format!("the tokenizer has no token for {}, so it is matched as text", Value::from(mark)))
            .at(subject.place(&Path::root().key("fields")))
            .help("see `backchat lint --explain tokenless-marker`")
    };
    tokens.unmatched(subject.template).into_iter().map(finding).collect()
}
