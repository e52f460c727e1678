//! RT050: a field or default whose name a target refuses; the fix renames it.

use crate::lint::check::{Check, Finder};
use crate::lint::subject::{REASONING, Subject};
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity};
use backchat_derive::targets::{Reason, Refusal};

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT050",
        name: "target-field",
        severity: Severity::Error,
        page: Page {
            what: "A target (`--target`) does not take a field or a default of this name.",
            why: "It refuses the whole template when it starts.",
            example: "\"reasoning_content\": {…} with `--target vllm`, which knows `thinking`",
            fix: "Rename the field as the target does; keep one file for each target if their names differ.",
        },
    },
    finder: Finder::Check(check),
};

fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for Refusal { reader, place, reason, words } in
        subject.refusals(|reason| matches!(reason, Reason::Field | Reason::Default))
    {
        let finding = rule.finding(format!("{} refuses this: {words}", reader.title())).at(subject.key_place(&place));
        // Only the name of the reasoning differs from reader to reader.
        let name =
            subject.template.fields().iter().find(|field| Subject::path(field) == place).map(|field| &field.name);
        let is_reasoning = name.is_some_and(|name| REASONING.contains(&name.as_str()));
        let new = reader.limits().reasoning.filter(|new| is_reasoning && subject.template.field(new).is_none());
        found.push(match new {
            Some(new) => {
                let help = format!("rename it to `{new}`");
                // A new name of the field would not rename its default.
                let has_default = name.is_some_and(|name| subject.template.defaults().contains_key(name));
                let edits = subject.rename_key(&place, new).filter(|_| !has_default);
                let finding = finding.help(help.clone());
                match edits {
                    Some(edits) => finding.fix(help, edits),
                    None => finding,
                }
            }
            None if reason == Reason::Default => finding.help("leave this default out for the target"),
            None => finding.help("leave it out for this target, or keep a file for each target"),
        });
    }
    // With two names for the reasoning only one can be renamed to the other.
    let names = subject.template.fields().iter().filter(|field| REASONING.contains(&field.name.as_str()));
    if names.count() > 1 {
        found.iter_mut().for_each(|finding| finding.fix = None);
    }
    found
}
