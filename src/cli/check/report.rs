//! The report of `check`: findings in each format, the summary, the exit code.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use crate::cli::diagnostic_outputs::{Outputs, Results};
use crate::cli::{Failure, Global};
use backchat_core::diagnostic::{self, Diagnostic, Label, Place, Severity, Sources, Suite, counted};
use backchat_workbench::check::fixture::TemplateSource;
use backchat_workbench::check::{Report, Status};

/// Writes the findings to all requested outputs.
pub fn write(reports: &[Report<'_>], sources: &Sources, outputs: &Outputs, global: &Global) -> Result<(), Failure> {
    let mut seen = HashSet::new();
    let mut allowed = AllowedTruncations::default();
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    let mut suites: Vec<Suite> = Vec::new();
    for report in reports {
        // Problems of a template, or of shared values, are reported once.
        let file = report.entry.file();
        let is_own = |place: &Place| place.file.as_deref() == Some(&*file);
        let new = report.diagnostics.iter().filter(|found| {
            report.status != Status::NotRun && found.place.as_ref().is_none_or(is_own)
                || seen.insert(format!("{:?}", (found.id, &found.message, &found.place)))
        });
        for found in new {
            if let Some(group) = allowed.group_of(report, found, diagnostics.len()) {
                group.others.push(report.entry.id().into_owned());
            } else {
                diagnostics.push(found.clone());
            }
        }
        if suites.last().is_none_or(|suite| suite.name != file) {
            suites.push(Suite { name: file.to_string(), cases: Vec::new() });
        }
        if let Some(suite) = suites.last_mut() {
            let name = report.entry.name().into_owned();
            let diagnostics = report.diagnostics.clone();
            suite.cases.push(diagnostic::Case { name, time: Some(report.time), diagnostics });
        }
    }
    allowed.describe(&mut diagnostics);
    outputs.write(&Results { diagnostics: &diagnostics, sources, suites: Some(&suites) }, global)
}

/// How many cases of a group are named.
const NAMED: usize = 6;

/// Truncations that cases allow. They come from the template, so each template gets one note, however many cases it
/// has.
#[derive(Default)]
struct AllowedTruncations {
    groups: Vec<Group>,
}

/// The allowed truncations of one template.
struct Group {
    template: PathBuf,
    /// The note about the first case, among all findings.
    first: usize,
    others: Vec<String>,
}

impl AllowedTruncations {
    /// The group that a finding belongs to; `None` if it has none, or begins one as the finding `next`.
    fn group_of(&mut self, report: &Report<'_>, found: &Diagnostic, next: usize) -> Option<&mut Group> {
        let TemplateSource::File(template) = &report.entry.case()?.template else { return None };
        if found.id != "check-truncated" || found.severity != Severity::Note {
            return None;
        }
        match self.groups.iter().position(|group| group.template == *template) {
            Some(known) => self.groups.get_mut(known),
            None => {
                self.groups.push(Group { template: template.clone(), first: next, others: Vec::new() });
                None
            }
        }
    }

    /// Adds to the first note of each group which cases share it.
    fn describe(self, diagnostics: &mut [Diagnostic]) {
        for Group { template, first, others } in self.groups {
            let Some(diagnostic) = diagnostics.get_mut(first).filter(|_| !others.is_empty()) else { continue };
            diagnostic.message += &format!("; {} of {} too", counted(others.len(), "more case"), template.display());
            let more = others.len().saturating_sub(NAMED);
            let mut names = others.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
            if more > 0 {
                names += &format!(" and {more} more");
            }
            diagnostic.labels.push(Label { place: Place::default(), message: format!("also {names}") });
        }
    }
}

pub fn worst(reports: &[Report<'_>]) -> u8 {
    let has = |status| reports.iter().any(|report| report.status == status);
    match (has(Status::NotRun), has(Status::Failed)) {
        (true, _) => 2,
        (false, true) => 1,
        (false, false) => 0,
    }
}

pub fn summary(reports: &[Report<'_>], blessed: usize, time: Duration) -> String {
    let count = |status| reports.iter().filter(|report| report.status == status).count();
    let (passed, failed, not_run) = (count(Status::Passed), count(Status::Failed), count(Status::NotRun));
    let mut text = format!("{}: {passed} passed", counted(reports.len(), "case"));
    if failed > 0 {
        text.push_str(&format!(", {failed} failed"));
    }
    if not_run > 0 {
        text.push_str(&format!(", {not_run} could not run"));
    }
    if blessed > 0 {
        text.push_str(&format!(", {blessed} blessed"));
    }
    text.push_str(&format!(" ({:.2} s)", time.as_secs_f64()));
    text
}
