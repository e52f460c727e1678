//! The report of `check`: findings in each format, the summary, the exit code.

use std::collections::HashSet;
use std::time::Duration;

use crate::cli::diagnostic_outputs::{Outputs, Results};
use crate::cli::{Failure, Global};
use backchat_core::diagnostic::{self, Diagnostic, Place, Sources, Suite, counted};
use backchat_workbench::check::{self, Report, Status, TemplateRepair};

/// Writes the findings, and the repairs of templates, to all requested outputs.
pub fn write(
    reports: &[Report<'_>],
    repairs: &[TemplateRepair],
    sources: &Sources,
    outputs: &Outputs,
    global: &Global,
) -> Result<(), Failure> {
    let mut seen = HashSet::new();
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
        diagnostics.extend(new.cloned());
        if suites.last().is_none_or(|suite| suite.name != file) {
            suites.push(Suite { name: file.to_string(), cases: Vec::new() });
        }
        if let Some(suite) = suites.last_mut() {
            let name = report.entry.name().into_owned();
            let diagnostics = report.diagnostics.clone();
            suite.cases.push(diagnostic::Case { name, time: Some(report.time), diagnostics });
        }
    }
    let offered = repairs.iter().map(TemplateRepair::diagnostic);
    let by_cause: Vec<Diagnostic> = check::by_cause(reports, repairs).into_iter().chain(offered.clone()).collect();
    diagnostics.extend(offered);
    let results = Results { diagnostics: &diagnostics, by_cause: Some(&by_cause), sources, suites: Some(&suites) };
    outputs.write(&results, global)
}

pub fn worst(reports: &[Report<'_>]) -> u8 {
    let has = |status| reports.iter().any(|report| report.status == status);
    match (has(Status::NotRun), has(Status::Failed)) {
        (true, _) => 2,
        (false, true) => 1,
        (false, false) => 0,
    }
}

pub fn summary(reports: &[Report<'_>], repairs: &[TemplateRepair], blessed: usize, time: Duration) -> String {
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
    let fixes: usize = repairs.iter().map(|repair| repair.fixed.len()).sum();
    if fixes > 0 {
        text.push_str(&format!("; `--fix` repairs {}, and fixes {fixes}", counted(repairs.len(), "template")));
    }
    text.push_str(&format!(" ({:.2} s)", time.as_secs_f64()));
    text
}
