//! `backchat review`: the pending differences of fixtures, decided one by one in a terminal, or listed.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use super::cases::Cases;
use super::check::write_cases;
use super::{Failure, Global};
use crate::check::fixture::FixtureFile;
use crate::check::{self, Entry, Loaded, Report, Settings, Status};
use crate::diagnostic::{Diagnostic, Place, Severity, escape};
#[cfg(feature = "tui")]
use crate::tui::review as screen;

/// Decide about fixtures that no longer hold: accept or reject what their outputs give now
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  backchat review tests/fixtures
  backchat review --filter 'parallel'
  backchat review weather.fixture --template response_template.json

In a terminal, one key decides each case: a accepts (the expectation of the case is written, every other
byte of its file stays), r rejects (the template has to change), s skips, o opens the workbench, q quits.
Where standard output is not a terminal, the pending differences are listed and no file is written.

Exit status: 0 nothing is pending, 1 differences are pending, 2 a case or the command could not run.")]
pub struct Review {
    #[command(flatten)]
    cases: Cases,
}

/// A case with a difference to decide about.
struct Item {
    /// What it is called everywhere.
    id: String,
    file: String,
    #[cfg(feature = "tui")]
    is_chat: bool,
    /// What the check says of it.
    reasons: Vec<String>,
}

impl Review {
    pub fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        let settings = self.settings()?;
        let files = self.cases.files()?;
        let mut entries = Entry::all(&files, &[]);
        entries.retain(|entry| self.cases.selects(entry));
        let reports = check::run(&entries, &Loaded::new(&entries), &settings, false, &|_| ());
        let not_run = reports.iter().filter(|report| report.status == Status::NotRun).count();
        let items: Vec<Item> = reports.iter().filter_map(Item::of).collect();
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
            let next = if items.is_empty() { "" } else { "; `backchat review` in a terminal decides one by one" };
            super::say!("{}{next}", pending(items.len()));
            self.tell_not_run(not_run);
        }
        Ok(exit_code(items.len(), not_run))
    }

    /// What transformers makes of the outputs is not what is decided about.
    fn settings(&self) -> Result<Settings, Failure> {
        Ok(Settings { limit: self.cases.limit()?, reference: None, ..Settings::default() })
    }

    fn tell_not_run(&self, count: usize) {
        if count > 0 {
            let cases = if count == 1 { "case" } else { "cases" };
            super::say!("{count} {cases} could not run; `backchat check` says why");
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

impl Item {
    fn of(report: &Report<'_>) -> Option<Self> {
        report.undecided()?;
        Some(Self {
            id: report.entry.id().into_owned(),
            file: report.entry.file().into_owned(),
            #[cfg(feature = "tui")]
            is_chat: report.entry.chat().is_some(),
            reasons: reasons(report),
        })
    }
}

/// What the check says of the expectation, a difference each.
fn reasons(report: &Report<'_>) -> Vec<String> {
    let Some(pending) = report.undecided() else { return Vec::new() };
    let about = |found: &&Diagnostic| found.severity == Severity::Error && pending.settles().contains(&found.id);
    let said = report.diagnostics.iter().filter(about).flat_map(|found| {
        let more = found.labels.iter().filter(|label| label.place == Place::default());
        std::iter::once(found.message.clone()).chain(more.map(|label| label.message.clone()))
    });
    said.collect()
}

#[cfg(feature = "tui")]
impl Review {
    /// Shows the differences one by one, writes those that are accepted, and says what became of them.
    fn decide(
        &self,
        items: Vec<Item>,
        not_run: usize,
        settings: Settings,
        global: &Global,
    ) -> Result<ExitCode, Failure> {
        let names = items.iter().map(|item| item.id.clone()).collect();
        let mut docket = Docket { review: self, settings, items, names, shown: None };
        let theme = super::replay::theme(global);
        let mut review = screen::Review::new(&mut docket, theme);
        super::signals::hand_over();
        loop {
            match screen::run(&mut review)? {
                screen::Ended::Done => break,
                screen::Ended::Signal(signal) => return Ok(super::replay::ended_by(signal)),
                screen::Ended::Open(index) => {
                    let id = review.name(index).to_owned();
                    match super::replay::open_case(&id, self.cases.template.as_deref(), global) {
                        Ok(Some(signal)) => return Ok(super::replay::ended_by(signal)),
                        Ok(None) => review.look(),
                        Err(failure) => review.tell(super::replay::problem(failure).line()),
                    }
                }
            }
        }
        let decisions = review.decisions().to_vec();
        let left = decisions.iter().filter(|made| !is_settled(**made)).count();
        if !global.is_quiet() {
            docket.summarise(&decisions);
            self.tell_not_run(not_run);
        }
        Ok(exit_code(left, not_run))
    }
}

#[cfg(feature = "tui")]
fn is_settled(decision: Option<screen::Decision>) -> bool {
    matches!(decision, Some(screen::Decision::Accepted | screen::Decision::Settled))
}

/// The pending differences, each read anew when it is shown.
#[cfg(feature = "tui")]
struct Docket<'r> {
    review: &'r Review,
    settings: Settings,
    items: Vec<Item>,
    names: Vec<String>,
    /// The file and the name of the case shown last.
    shown: Option<(FixtureFile, String)>,
}

#[cfg(feature = "tui")]
impl Docket<'_> {
    /// Checks one case of a file; gives what `use_report` makes of that, or nothing if the file has no such case.
    fn with_report<T>(&self, file: &FixtureFile, id: &str, use_report: impl FnOnce(&Report<'_>) -> T) -> Option<T> {
        let mut entries = Entry::all(std::slice::from_ref(file), &[]);
        entries.retain(|entry| entry.id() == id);
        let reports = check::run(&entries, &Loaded::new(&entries), &self.settings, false, &|_| ());
        reports.first().map(use_report)
    }

    fn summarise(&self, decisions: &[Option<screen::Decision>]) {
        use screen::Decision;
        let count = |wanted: Decision| decisions.iter().filter(|made| **made == Some(wanted)).count();
        let left = decisions.iter().filter(|made| made.is_none()).count() + count(Decision::Skipped);
        let counts = [
            (count(Decision::Accepted), "accepted"),
            (count(Decision::Rejected), "rejected"),
            (count(Decision::Settled), "settled elsewhere"),
            (left, "left undecided"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        super::say!("{}", counts.collect::<Vec<_>>().join(", "));
        let rejected = self.items.iter().zip(decisions).filter(|(_, made)| **made == Some(Decision::Rejected));
        for (item, _) in rejected {
            let what = if item.is_chat { "backchat check" } else { "backchat replay" };
            let case = if item.is_chat { &item.file } else { &item.id };
            super::say!("rejected: correct the template; `{what} {}`", crate::diagnostic::shell_word(case));
        }
    }
}

#[cfg(feature = "tui")]
impl screen::Docket for Docket<'_> {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn change(&mut self, index: usize) -> Result<Option<screen::Change>, crate::tui::Problem> {
        self.shown = None;
        let Some(item) = self.items.get(index) else { return Ok(None) };
        let file = self.review.cases.file(Path::new(&item.file));
        let file = file.map_err(|error| super::replay::problem(error.into()))?;
        let change = self.with_report(&file, &item.id, |report| {
            if report.status == Status::NotRun {
                let sources = crate::diagnostic::Sources::none().with(&file.file, &file.text);
                return Err(crate::tui::Problem { diagnostics: report.diagnostics.clone(), sources });
            }
            let sections = |pending: check::Pending<'_>| {
                let sections = pending.sections().into_iter();
                let shown = |check::Section { name, expected, found }| screen::Section { name, expected, found };
                sections.map(shown).collect()
            };
            let pending = report.undecided();
            Ok(pending.map(|pending| screen::Change { reasons: reasons(report), sections: sections(pending) }))
        });
        let change = change.transpose()?.flatten();
        self.shown = change.is_some().then(|| (file, item.id.clone()));
        Ok(change)
    }

    fn accept(&mut self) -> Result<(), crate::tui::Problem> {
        let Some((file, id)) = &self.shown else { return Ok(()) };
        let now = self.review.cases.file(Path::new(&file.file));
        let now = now.map_err(|error| super::replay::problem(error.into()))?;
        if now.text != file.text {
            let problem = Diagnostic::error("file-changed", "the file changed since it was read; look again");
            return Err(problem.at(Place::file(&file.file)).into());
        }
        let written = self.with_report(file, id, |report| match report.undecided() {
            Some(pending) => write_cases(file, &[pending]),
            None => Ok(()),
        });
        written.unwrap_or(Ok(())).map_err(super::replay::problem)
    }

    fn can_open(&self, index: usize) -> bool {
        self.items.get(index).is_some_and(|item| !item.is_chat)
    }
}
