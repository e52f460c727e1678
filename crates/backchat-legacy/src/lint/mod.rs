//! Advice about a response schema that loads: one file for each rule in `rules/`.

mod rules;
mod subject;

use crate::schema::source::OpenedSchema;
use backchat_core::diagnostic::{Diagnostic, Rule, in_order};
use rules::CHECKS;
use subject::Subject;

/// Every rule about response schemas, in the order of the ids.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    CHECKS.iter().map(|(rule, _)| *rule)
}

/// All findings about a response schema, in the order of the file.
pub fn lint(opened: &OpenedSchema) -> Vec<Diagnostic> {
    let subject = Subject::new(opened);
    let mut found = opened.loaded.warnings.clone();
    for (rule, check) in CHECKS {
        found.extend(check(&subject, rule));
    }
    in_order(&mut found);
    found
}
