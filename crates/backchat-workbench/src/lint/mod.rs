//! Advice about a template that loads, a response template or a chat template: each rule has an id, a level, a page,
//! and a fix if one is safe.
//!
//! ```
//! use backchat_workbench::lint::{Subject, lint};
//! use backchat_parser::template::Template;
//!
//! let text = r#"{"start_anchor": "<|assistant|>", "fields": {"content": {"close_pattern": "<\\|end\\|>|$"}}}"#;
//! let template = Template::load(text)?.template;
//! let found = lint(&Subject::new(&template, &[]));
//! assert_eq!(found[0].id, "RT001");
//! # Ok::<(), backchat_parser::LoadError>(())
//! ```

mod check;
mod rewrite;
mod rules;
mod subject;
#[cfg(test)]
mod tests;
mod trial_parse;

pub use rewrite::offer_rewrite;
pub use subject::Subject;

use std::collections::HashSet;

use backchat_chat::ChatTemplate;
use backchat_core::diagnostic::{Diagnostic, Edit, Rule, in_order, with_edits};
use backchat_probe::doctor::{Options, examine, traps};
use check::{Check, Finder};
use rules::CHECKS;

/// Every rule, of chat templates, response templates and response schemas, in the order of the ids.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    CHECKS.iter().map(|check| &check.rule).chain(backchat_legacy::lint::rules())
}

/// The rule of an id or a name.
pub fn rule(name: &str) -> Option<&'static Rule> {
    rules().find(|rule| rule.id.eq_ignore_ascii_case(name) || rule.name == name)
}

/// All findings about a response template, in the order of the file.
pub fn lint(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = subject.warnings.iter().map(adopt).collect();
    let parts = subject.parts();
    for Check { rule, finder } in CHECKS {
        match finder {
            Finder::Check(check) => found.extend(check(subject, rule)),
            Finder::Run(run) if parts.is_empty() => found.extend(run(subject, rule)),
            Finder::Run(run) => {
                let parts = parts.iter().filter_map(|part| subject.part(part));
                let mut of_parts: Vec<_> = parts.flat_map(|part| run(&part, rule)).collect();
                // The field without `open` is in every part, and its findings are reported once.
                let mut places = HashSet::new();
                of_parts.retain(|finding| places.insert(finding.place.as_ref().and_then(|place| place.path.clone())));
                found.extend(of_parts);
            }
            Finder::Loader(_) | Finder::Doctor => {}
        }
    }
    in_order(&mut found);
    found
}

/// All findings about a chat template: the traps that `doctor` finds, in the order of the rules.
pub fn lint_chat_template(template: &ChatTemplate, options: &Options, file: &str) -> Vec<Diagnostic> {
    let checks = CHECKS.iter().filter(|check| matches!(check.finder, Finder::Doctor));
    let found = traps(&examine(template, options));
    checks
        .flat_map(|check| {
            let of_rule = found.iter().filter(|trap| trap.id == check.rule.id);
            of_rule.map(|trap| {
                let place = trap.place.clone().unwrap_or_default();
                trap.clone().at(place.in_file(file))
            })
        })
        .collect()
}

/// A warning of the loader under the id of its rule.
fn adopt(warning: &Diagnostic) -> Diagnostic {
    let of = |check: &&&Check| matches!(check.finder, Finder::Loader(ids) if ids.contains(&warning.id));
    match CHECKS.iter().find(of) {
        Some(Check { rule, .. }) => Diagnostic { id: rule.id, severity: rule.severity, ..warning.clone() },
        None => warning.clone(),
    }
}

/// The text with the fixes of some findings, and how many were applied. Of fixes that touch the same bytes only the
/// first is applied; the others are offered at the next run.
pub fn apply_fixes(text: &str, findings: &[Diagnostic]) -> (String, usize) {
    let mut edits: Vec<&Edit> = Vec::new();
    let mut made = 0;
    for fix in findings.iter().filter_map(|finding| finding.fix.as_ref()) {
        let is_free = |edit: &Edit| {
            edits.iter().all(|other| edit.span.end <= other.span.start || other.span.end <= edit.span.start)
        };
        if !fix.edits.is_empty() && fix.edits.iter().all(is_free) {
            edits.extend(&fix.edits);
            made += 1;
        }
    }
    (with_edits(text, edits), made)
}
