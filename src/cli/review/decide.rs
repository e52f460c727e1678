//! The review in a terminal: shows each difference, and writes accepted ones.

use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;

use super::file_change::FileChange;
use super::{OpenCase, Review, exit_code, reasons};
use crate::cli::check::write_cases;
use crate::cli::{Failure, Global, replay, signals};
use backchat_core::diagnostic::{Diagnostic, Place, Sources, shell_word};
use backchat_workbench::check::fixture::FixtureFile;
use backchat_workbench::check::{self, Entry, Loaded, Report, Settings, Status};
use backchat_workbench::session::Problem;
use backchat_workbench::tui::review as screen;

impl Review {
    /// Shows the differences one by one, writes accepted ones, and prints a summary.
    pub(super) fn decide(
        &self,
        items: Vec<OpenCase>,
        not_run: usize,
        settings: Settings,
        global: &Global,
    ) -> Result<ExitCode, Failure> {
        let (items, groups) = grouped(items);
        let names = items.iter().map(|item| item.id.clone()).collect();
        let mut docket = Docket { review: self, settings, items, names, groups, shown: None, written: Vec::new() };
        let theme = replay::theme(global);
        let mut review = screen::Review::new(&mut docket, theme);
        signals::hand_over();
        loop {
            match screen::run(&mut review)? {
                screen::Ended::Done => break,
                screen::Ended::Signal(signal) => return Ok(replay::ended_by(signal)),
                screen::Ended::Open(index) => {
                    let id = review.name(index).to_owned();
                    match replay::open_case(&id, self.cases.template.as_deref(), global) {
                        Ok(Some(signal)) => return Ok(replay::ended_by(signal)),
                        Ok(None) => review.look(),
                        Err(failure) => review.notify(Problem::from(failure).line()),
                    }
                }
            }
        }
        let decisions = review.decisions().to_vec();
        let left = decisions.iter().filter(|made| !is_settled(**made)).count();
        if !global.is_quiet() {
            docket.summarize(&decisions);
            self.note_not_run(not_run);
        }
        Ok(exit_code(left, not_run))
    }
}

/// The cases sorted so that those with the same difference follow the first of them; and the group of each.
fn grouped(mut items: Vec<OpenCase>) -> (Vec<OpenCase>, Vec<usize>) {
    let mut kinds: HashMap<String, usize> = HashMap::new();
    for item in &items {
        let next = kinds.len();
        kinds.entry(item.difference.clone()).or_insert(next);
    }
    let group = |item: &OpenCase| kinds.get(&item.difference).copied().unwrap_or(0);
    items.sort_by_key(group);
    let groups = items.iter().map(group).collect();
    (items, groups)
}

fn is_settled(decision: Option<screen::Decision>) -> bool {
    matches!(decision, Some(screen::Decision::Accepted | screen::Decision::Settled))
}

/// The pending differences, each read again when it is shown.
struct Docket<'r> {
    review: &'r Review,
    settings: Settings,
    items: Vec<OpenCase>,
    names: Vec<String>,
    /// Cases of one group have the same difference.
    groups: Vec<usize>,
    /// The accepted changes, in order.
    written: Vec<FileChange>,
    /// The file and the name of the case shown last.
    shown: Option<(FixtureFile, String)>,
}

impl Docket<'_> {
    /// Checks one case of a file; returns the result of `use_report`, or `None` if the file has no such case.
    fn with_report<T>(&self, file: &FixtureFile, id: &str, use_report: impl FnOnce(&Report<'_>) -> T) -> Option<T> {
        let mut entries = Entry::all(std::slice::from_ref(file), &[]);
        entries.retain(|entry| entry.id() == id);
        let reports = check::run(&entries, &Loaded::new(&entries), &self.settings, false, &|_| ());
        reports.first().map(use_report)
    }

    fn summarize(&self, decisions: &[Option<screen::Decision>]) {
        use screen::Decision;
        let count = |wanted: Decision| decisions.iter().filter(|made| **made == Some(wanted)).count();
        let left = decisions.iter().filter(|made| made.is_none()).count() + count(Decision::Skipped);
        let counts = [
            (count(Decision::Accepted), "accepted"),
            (count(Decision::Rejected), "rejected"),
            (count(Decision::Settled), "resolved elsewhere"),
            (left, "left undecided"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        crate::cli::say!("{}", counts.collect::<Vec<_>>().join(", "));
        let rejected = self.items.iter().zip(decisions).filter(|(_, made)| **made == Some(Decision::Rejected));
        for (item, _) in rejected {
            let what = if item.is_chat { "backchat check" } else { "backchat replay" };
            let case = if item.is_chat { &item.file } else { &item.id };
            crate::cli::say!("rejected: correct the template; `{what} {}`", shell_word(case));
        }
    }
}

impl screen::Docket for Docket<'_> {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn change(&mut self, index: usize) -> Result<Option<screen::Change>, Problem> {
        self.shown = None;
        let Some(item) = self.items.get(index) else { return Ok(None) };
        let file = self.review.cases.file(Path::new(&item.file)).map_err(Problem::from)?;
        let change = self.with_report(&file, &item.id, |report| {
            if report.status == Status::NotRun {
                let sources = Sources::none().with(&file.file, &file.text);
                return Err(Problem { diagnostics: report.diagnostics.clone(), sources });
            }
            let pending = report.undecided();
            Ok(pending.map(|pending| screen::Change { reasons: reasons(report), sections: pending.sections() }))
        });
        let change = change.transpose()?.flatten();
        self.shown = change.is_some().then(|| (file, item.id.clone()));
        Ok(change)
    }

    fn accept(&mut self) -> Result<(), Problem> {
        let Some((file, id)) = &self.shown else { return Ok(()) };
        let now = self.review.cases.file(Path::new(&file.file)).map_err(Problem::from)?;
        if now.text != file.text {
            let problem = Diagnostic::error("file-changed", "the file changed since it was read; look again");
            return Err(problem.at(Place::file(&file.file)).into());
        }
        let written = self.with_report(file, id, |report| match report.undecided() {
            // The screen only records signals, so none interrupts this.
            Some(pending) => write_cases(file, &[pending]),
            None => Ok(()),
        });
        written.unwrap_or(Ok(())).map_err(Problem::from)?;
        self.written.push(FileChange::note(&file.file, &file.text)?);
        Ok(())
    }

    fn group(&self, index: usize) -> usize {
        self.groups.get(index).copied().unwrap_or(0)
    }

    fn take_back(&mut self) -> Result<(), Problem> {
        let Some(written) = self.written.last() else { return Ok(()) };
        written.take_back()?;
        self.written.pop();
        Ok(())
    }

    fn can_open(&self, index: usize) -> bool {
        self.items.get(index).is_some_and(|item| !item.is_chat)
    }
}
