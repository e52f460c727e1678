//! Advice about a template that loads, a response template or a chat template: each rule has an id, a level, a page,
//! and a fix if one is safe.
//!
//! ```
//! # mod backchat { pub use {backchat_derive::*, backchat_parser::*, backchat_workbench::*}; }
//! use backchat::lint::{Subject, lint};
//! use backchat::template::Template;
//!
//! let text = r#"{"start_anchor": "<|assistant|>", "fields": {"content": {"close_pattern": "<\\|end\\|>|$"}}}"#;
//! let template = Template::load(text)?.template;
//! let found = lint(&Subject::new(&template, &[]));
//! assert_eq!(found[0].id, "RT001");
//! # Ok::<(), backchat::LoadError>(())
//! ```

mod rewrite;
mod rule;
mod rules;
mod schema_subject;
mod subject;
#[cfg(test)]
mod tests;
mod trial_parse;

pub use rewrite::offer_rewrite;
pub use rule::{Page, Rule};
pub use rules::RULES;
pub use subject::Subject;

use std::collections::HashSet;

use backchat_chat::ChatTemplate;
use backchat_core::diagnostic::{Diagnostic, Edit, with_edits};
use backchat_legacy::schema::source::OpenedSchema;
use backchat_probe::doctor::{Options, examine, traps};
use rule::Source;

/// The rule of an id or a name.
pub fn rule(name: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.id.eq_ignore_ascii_case(name) || rule.name == name)
}

/// All findings about a response template, in the order of the file.
pub fn lint(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = subject.warnings.iter().map(adopt).collect();
    let parts = subject.parts();
    for rule in RULES {
        match rule.source {
            Source::Check(check) => found.extend(check(subject, rule)),
            Source::Run(run) if parts.is_empty() => found.extend(run(subject, rule)),
            Source::Run(run) => {
                let parts = parts.iter().filter_map(|part| subject.part(part));
                let mut of_parts: Vec<_> = parts.flat_map(|part| run(&part, rule)).collect();
                // The field without `open` is in every part, and its findings are reported once.
                let mut places = HashSet::new();
                of_parts.retain(|finding| places.insert(finding.place.as_ref().and_then(|place| place.path.clone())));
                found.extend(of_parts);
            }
            Source::Loader(_) | Source::Doctor | Source::Schema(_) => {}
        }
    }
    in_order(found)
}

/// All findings about a response schema, in the order of the file.
pub fn lint_schema(opened: &OpenedSchema) -> Vec<Diagnostic> {
    let subject = schema_subject::SchemaSubject::new(opened);
    let mut found = opened.loaded.warnings.clone();
    for rule in RULES {
        if let Source::Schema(check) = rule.source {
            found.extend(check(&subject, rule));
        }
    }
    in_order(found)
}

/// All findings about a chat template: the traps that `doctor` finds, in the order of the rules.
pub fn lint_chat_template(template: &ChatTemplate, options: &Options, file: &str) -> Vec<Diagnostic> {
    let rules = RULES.iter().filter(|rule| matches!(rule.source, Source::Doctor));
    let found = traps(&examine(template, options));
    rules
        .flat_map(|rule| {
            let of_rule = found.iter().filter(|trap| trap.id == rule.id);
            of_rule.map(|trap| {
                let place = trap.place.clone().unwrap_or_default();
                trap.clone().at(place.in_file(file))
            })
        })
        .collect()
}

fn in_order(mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let start =
        |finding: &Diagnostic| finding.place.as_ref().and_then(|place| place.span.as_ref()).map(|span| span.start);
    found.sort_by_key(|finding| (start(finding), finding.id));
    found
}

/// A warning of the loader under the id of its rule.
fn adopt(warning: &Diagnostic) -> Diagnostic {
    let of = |rule: &&&Rule| matches!(rule.source, Source::Loader(ids) if ids.contains(&warning.id));
    match RULES.iter().find(of) {
        Some(rule) => Diagnostic { id: rule.id, severity: rule.severity, ..warning.clone() },
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
