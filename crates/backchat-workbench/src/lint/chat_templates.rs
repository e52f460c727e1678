//! Lints chat templates. `doctor` finds the traps in renders and their severity; each has a page among the rules.

use super::rule::Source;
use super::rules::RULES;
use backchat_chat::ChatTemplate;
use backchat_core::diagnostic::{Diagnostic, Place};
use backchat_probe::doctor::{Options, examine, traps};

/// All findings about a chat template: the traps that its renders show.
pub fn lint_chat_template(template: &ChatTemplate, options: &Options, file: &str) -> Vec<Diagnostic> {
    let rules = RULES.iter().filter(|rule| matches!(rule.source, Source::Doctor));
    let found = traps(&examine(template, options));
    rules
        .flat_map(|rule| {
            let of_rule = found.iter().filter(|trap| trap.id == rule.id);
            of_rule.map(|trap| trap.clone().at(Place::file(file)))
        })
        .collect()
}
