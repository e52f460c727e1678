//! `backchat review`: the pending differences of fixtures, decided one by one in a terminal, or listed.

#[cfg(feature = "tui")]
mod decide;
#[cfg(feature = "tui")]
mod file_change;

use std::io::{self, Write};
use std::process::ExitCode;

use super::case_selection::Cases;
use super::{Failure, Global};
use backchat_core::diagnostic::{Diagnostic, Place, Severity, counted, escape};
use backchat_workbench::check::{self, Entry, Loaded, Report, Settings, Status};
#[cfg(feature = "tui")]
use backchat_workbench::tui::review as screen;

/// Accept or reject changed messages, case by case
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  backchat review tests/fixtures
  backchat review --filter 'parallel'
  backchat review weather.fixture --template response_template.json

In a terminal, one key decides each case: `a` accepts (writes the expectation and changes no other
byte of the file), `r` rejects (the template has to change), `s` skips. Cases with the same
difference follow one another, and `A` accepts all of them. `u` undoes the last decision, `b` goes
back, `o` opens the workbench, `q` quits.
If stdout is not a terminal, the pending differences are listed and no file is written.

Exit codes: 0 nothing is pending, 1 differences are pending, 2 a case or the command could not run,
4 no case was selected.")]
pub struct Review {
    #[command(flatten)]
    cases: Cases,
}

/// A case with a difference to decide about.
struct OpenCase {
    /// Its name in every report.
    id: String,
    #[cfg(feature = "tui")]
    file: String,
    #[cfg(feature = "tui")]
    is_chat: bool,
    /// The lines that the case loses and gains.
    #[cfg(feature = "tui")]
    difference: String,
    /// The findings of the check.
    reasons: Vec<String>,
}

impl Review {
    pub fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        // transformers' answers are not reviewed.
        let settings = Settings { limit: self.cases.timeout, reference: None, ..Settings::default() };
        let files = self.cases.files()?;
        let mut entries = Entry::all(&files, &[]);
        entries.retain(|entry| self.cases.selects(entry));
        if entries.is_empty() {
            tell!(global, "{}", self.cases.nothing(&files));
            return Ok(ExitCode::from(4));
        }
        let reports = check::run(&entries, &Loaded::new(&entries), &settings, false, &|_| ());
        let not_run = reports.iter().filter(|report| report.status == Status::NotRun).count();
        let items: Vec<OpenCase> = reports.iter().filter_map(OpenCase::pending).collect();
        #[cfg(feature = "tui")]
        if !items.is_empty() && super::replay::has_screen() {
            return self.decide(items, not_run, settings, global);
        }
        let mut out = io::stdout().lock();
        for item in &items {
            writeln!(out, "{}", escape(&item.id))?;
            for reason in &item.reasons {
                writeln!(out, "  {}", escape(reason))?;
            }
        }
        out.flush()?;
        if !global.is_quiet() {
            let next = match items.is_empty() {
                true => "",
                false if cfg!(feature = "tui") => "; `backchat review` in a terminal decides one by one",
                false => "; `backchat check --bless` accepts all of them",
            };
            super::say!("{}{next}", pending(items.len()));
            self.note_not_run(not_run);
        }
        Ok(exit_code(items.len(), not_run))
    }

    fn note_not_run(&self, count: usize) {
        if count > 0 {
            super::say!("{} could not run; `backchat check` says why", counted(count, "case"));
        }
    }
}

fn pending(count: usize) -> String {
    match count {
        0 => "nothing is pending".to_owned(),
        1 => "1 case is pending".to_owned(),
        count => format!("{count} cases are pending"),
    }
}

fn exit_code(pending: usize, not_run: usize) -> ExitCode {
    ExitCode::from(match (not_run, pending) {
        (0, 0) => 0,
        (0, _) => 1,
        _ => 2,
    })
}

impl OpenCase {
    fn pending(report: &Report<'_>) -> Option<Self> {
        #[cfg_attr(not(feature = "tui"), expect(unused_variables, reason = "nothing is grouped without a screen"))]
        let pending = report.undecided()?;
        Some(Self {
            id: report.entry.id().into_owned(),
            #[cfg(feature = "tui")]
            file: report.entry.file().into_owned(),
            #[cfg(feature = "tui")]
            is_chat: report.entry.chat().is_some(),
            #[cfg(feature = "tui")]
            difference: screen::difference(&pending.sections()),
            reasons: reasons(report),
        })
    }
}

/// The differences from the expectation, one finding each.
fn reasons(report: &Report<'_>) -> Vec<String> {
    let Some(pending) = report.undecided() else { return Vec::new() };
    let about = |found: &&Diagnostic| found.severity == Severity::Error && pending.settles().contains(&found.id);
    let reasons = report.diagnostics.iter().filter(about).flat_map(|found| {
        let more = found.labels.iter().filter(|label| label.place == Place::default());
        std::iter::once(found.message.clone()).chain(more.map(|label| label.message.clone()))
    });
    reasons.collect()
}
