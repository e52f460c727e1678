//! RT010: a field that never opens, found by running the template.

use crate::lint::check::{Check, Finder};
use crate::lint::subject::{Side, Subject};
use crate::lint::trial_parse::read_whole;
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity};
use backchat_core::json::Value;
use backchat_parser::pattern::Construct;

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT010",
        name: "unreachable-field",
        severity: Severity::Warning,
        page: Page {
            what: "A field never opens: wherever its marker occurs, another field opens or closes instead.",
            why: "The field is missing from every message, and its text goes into another one. Of two delimiters that match at one place the longer one counts, and of two of one length an open before a close, then the name that sorts first.",
            example: "\"a\": {\"open\": \"<x>\", \"close\": \"</x>\"},\n\"b\": {\"open\": \"<x>\", \"close\": \"</x>\"}",
            fix: "Give the field a marker of its own, or a longer one.",
        },
    },
    finder: Finder::Run(check),
};

/// Texts that may follow a marker: a pattern may look ahead for white space, punctuation or a word.
const FOLLOWS: [&str; 4] = ["x", " x", "\nx", "{x"];

fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let regions = subject
        .fields()
        .filter_map(|(_, markers)| Some(format!("{}x{}", markers.open.first()?, markers.close.first()?)));
    let mut contexts: Vec<String> = ["", "x", "\n", "x\n"].map(str::to_owned).to_vec();
    contexts.extend(regions);
    contexts.extend(subject.fields().filter_map(|(_, markers)| markers.close.first().cloned()));
    let mut found = Vec::new();
    for (field, markers) in subject.fields().filter(|(field, _)| field.open.is_some()) {
        let sees_behind =
            field.open.as_ref().is_some_and(|open| open.pattern().shape().constructs.contains(&Construct::LookBehind));
        if markers.open.is_empty() || sees_behind {
            continue;
        }
        let opens = |text: &str| {
            read_whole(subject.template, text)
                .is_none_or(|answer| answer.regions.iter().any(|(name, _)| *name == field.name))
        };
        let reached = markers.open.iter().take(12).any(|open| {
            contexts.iter().any(|before| FOLLOWS.iter().any(|after| opens(&format!("{before}{open}{after}"))))
        });
        if reached {
            continue;
        }
        let text = markers.open.first().cloned().unwrap_or_default();
        let instead = read_whole(subject.template, &format!("{text}x"));
        let winner = instead
            .and_then(|answer| answer.regions.into_iter().map(|(name, _)| name).find(|name| *name != field.name));
        let message = match &winner {
            Some(winner) => {
                format!("`{}` never opens: {} is taken for `{winner}`", field.name, Value::from(text.as_str()))
            }
            None => format!("`{}` never opens: {} does something else", field.name, Value::from(text.as_str())),
        };
        let finding = rule.finding(message).at(subject.place(&Subject::delimiter_path(field, Side::Open)));
        let winner = winner.and_then(|name| subject.template.field(&name));
        let finding = match winner.filter(|winner| winner.open.is_some()) {
            Some(winner) => {
                finding.label(subject.place(&Subject::delimiter_path(winner, Side::Open)), "this one is taken")
            }
            None => finding,
        };
        found.push(finding.help("give it a marker of its own"));
    }
    found
}
