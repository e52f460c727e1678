//! The cases of fixtures that a command selects, and their verdicts.

use std::path::{Path, PathBuf};

use crate::check::fixture::{self, FixtureFile, TemplateSource};
use crate::check::{self, Entry, Loaded, Settings, Status};
use crate::input::Problem;
use backchat_core::diagnostic::{Diagnostic, Sources};
use backchat_parser::template::source::SourceError;

/// The results of the cases that `backchat check` selects, including derived templates unless `--template` replaces
/// them.
///
/// # Errors
///
/// A path cannot be read.
pub fn check(
    paths: &[PathBuf],
    filter: Option<&str>,
    template: Option<&TemplateSource>,
) -> Result<Vec<(Status, Vec<Diagnostic>)>, Problem> {
    let files = case_files(paths, template)?;
    let derived = if template.is_some() { Vec::new() } else { check::derived_files(paths) };
    let mut entries = Entry::all(&files, &derived);
    entries.retain(|entry| filter.is_none_or(|filter| entry.id().contains(filter)));
    let reports = check::run(&entries, &Loaded::new(&entries), &Settings::default(), false, &|_| {});
    Ok(reports.into_iter().map(|report| (report.status, report.diagnostics)).collect())
}

/// The files of cases at these paths, each read once, with the requested template instead of their own.
pub fn case_files(paths: &[PathBuf], template: Option<&TemplateSource>) -> Result<Vec<FixtureFile>, SourceError> {
    let failed = |diagnostic| SourceError::new(vec![diagnostic], Sources::none());
    let paths = check::fixture_files(paths).map_err(failed)?;
    let is_case = |path: &&PathBuf| check::derived_files(std::slice::from_ref(*path)).is_empty();
    Ok(paths.iter().filter(is_case).map(|path| case_file(path, template)).collect())
}

/// The cases of a file, with the requested template instead of their own.
pub fn case_file(path: &Path, template: Option<&TemplateSource>) -> FixtureFile {
    let Some(template) = template else { return fixture::read(path) };
    let mut file = fixture::read_with(path, |shared| shared.standing_in(template.clone(), None));
    for case in file.cases.iter_mut().flatten() {
        case.template.clone_from(template);
    }
    file
}
