//! A rule of a linter: its id, its level and its page.

use super::{Diagnostic, Severity};

/// One rule of a linter.
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

impl Rule {
    /// A finding of this rule, at its default level.
    pub fn finding(&self, message: impl Into<String>) -> Diagnostic {
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

/// Sorts findings by their places, those of one place by their rules.
pub fn in_order(findings: &mut [Diagnostic]) {
    let start =
        |finding: &Diagnostic| finding.place.as_ref().and_then(|place| place.span.as_ref()).map(|span| span.start);
    findings.sort_by_key(|finding| (start(finding), finding.id));
}
