//! A rule of this linter with the source of its findings.

use super::subject::Subject;
use backchat_core::diagnostic::{Diagnostic, Rule};

/// One rule, and what finds it.
#[derive(Debug)]
pub(super) struct Check {
    pub rule: Rule,
    pub finder: Finder,
}

/// Where a rule's findings come from.
#[derive(Debug)]
pub(super) enum Finder {
    /// The linter looks for them itself.
    Check(fn(&Subject<'_>, &Rule) -> Vec<Diagnostic>),
    /// It runs the template on texts, which takes longer with more fields: a large template is examined in parts.
    Run(fn(&Subject<'_>, &Rule) -> Vec<Diagnostic>),
    /// The loader warns of them, under these ids.
    Loader(&'static [&'static str]),
    /// `doctor` finds them in the renders of a chat template.
    Doctor,
}
