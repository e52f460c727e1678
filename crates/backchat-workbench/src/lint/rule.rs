//! A rule: its id, level and page, and the source of its findings.

use super::schema_subject::SchemaSubject;
use super::subject::Subject;
use backchat_core::diagnostic::{Diagnostic, Severity};

/// One rule of the linter.
#[derive(Debug)]
pub struct Rule {
    /// Its stable id, such as `RT001`.
    pub id: &'static str,
    /// Its name, which can be used instead of the id everywhere.
    pub name: &'static str,
    /// Its default level.
    pub severity: Severity,
    /// Its page.
    pub page: Page,
    pub(super) source: Source,
}

/// The page of a rule.
#[derive(Debug)]
pub struct Page {
    /// The problem it finds, in one sentence.
    pub what: &'static str,
    /// Why that hurts.
    pub why: &'static str,
    /// An example that it reports.
    pub example: &'static str,
    /// What to write instead.
    pub fix: &'static str,
}

/// Where a rule's findings come from.
#[derive(Debug)]
pub(super) enum Source {
    /// The linter looks for them itself.
    Check(fn(&Subject<'_>, &Rule) -> Vec<Diagnostic>),
    /// It runs the template on texts, which takes longer with more fields: a large template is examined in parts.
    Run(fn(&Subject<'_>, &Rule) -> Vec<Diagnostic>),
    /// The linter looks for them in a response schema.
    Schema(fn(&SchemaSubject<'_>, &Rule) -> Vec<Diagnostic>),
    /// The loader warns of them, under these ids.
    Loader(&'static [&'static str]),
    /// `doctor` finds them in the renders of a chat template.
    Doctor,
}

impl Rule {
    pub(super) fn finding(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(self.severity, self.id, message)
    }

    /// The page as text for a terminal, or as Markdown, which is the same.
    pub fn explain(&self) -> String {
        let Page { what, why, example, fix } = self.page;
        let set_in: String = example.lines().map(|line| format!("    {line}\n")).collect();
        let Self { id, name, severity, .. } = self;
        format!(
            "## {id} `{name}`\n\nLevel: {}.\n\n{what}\n\n**Why it hurts.** {why}\n\n**Example.**\n\n{set_in}\n**What to do.** {fix}\n",
            severity.name()
        )
    }
}
