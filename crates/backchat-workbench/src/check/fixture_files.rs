//! Finds the files of cases.

use std::collections::BTreeMap;
use std::fs::{self, DirEntry, FileType};
use std::io;
use std::path::{Path, PathBuf};

use super::fixture::{DEFAULTS, EXTENSION, ROWS_EXTENSION, split_id};
use backchat_core::diagnostic::{Diagnostic, Place};

/// The files of cases below some paths, in the order of the paths and sorted within each.
///
/// A file that is named counts whatever it is called. In a folder, files that end in `.fixture` count, and those that
/// end in `.jsonl` if a `defaults.fixture` is in their folder. Hidden folders, caches
/// (with a `CACHEDIR.TAG`) and links to folders are passed over.
pub fn fixture_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Diagnostic> {
    let mut files = Vec::new();
    for path in paths {
        let kind = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
        if kind.is_dir() {
            walk(path, &mut files)?;
        } else {
            files.push(path.clone());
        }
    }
    let mut seen = std::collections::HashSet::new();
    files.retain(|file| seen.insert(file.clone()));
    Ok(files)
}

/// Whether a name on the command line refers to outputs that name their own templates.
pub fn holds_cases(name: &str) -> bool {
    let (path, case) = split_id(name);
    let path = Path::new(path);
    let extension = path.extension().and_then(|extension| extension.to_str());
    let is_file = matches!(extension, Some(EXTENSION | ROWS_EXTENSION));
    match path.is_dir() {
        true => {
            !path.join("tokenizer_config.json").is_file()
                && fixture_files(&[path.to_owned()]).is_ok_and(|files| !files.is_empty())
        }
        false => case.is_some() || is_file,
    }
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Diagnostic> {
    let entries = entries(folder).and_then(|entries| entries.collect::<io::Result<Entries>>());
    let entries = entries.map_err(|error| unreadable(folder, &error))?;
    let is_defaults = |path: &Path| path.file_name().is_some_and(|name| name == DEFAULTS);
    let has_defaults = entries.keys().any(|path| is_defaults(path));
    for (path, kind) in entries {
        let ends_in = |extension| path.extension().is_some_and(|found| found == extension);
        let is_ours = ends_in(EXTENSION) || ends_in(ROWS_EXTENSION) && has_defaults;
        match kind.is_dir() {
            true if is_passed_over(&path) => {}
            true => walk(&path, files)?,
            false if is_ours && !is_defaults(&path) => files.push(path),
            false => {}
        }
    }
    Ok(())
}

/// Entries of folders, sorted by name.
pub(super) type Entries = BTreeMap<PathBuf, FileType>;

/// The entries of a folder, in any order. Those of the current folder are named without it.
pub(super) fn entries(folder: &Path) -> io::Result<impl Iterator<Item = io::Result<(PathBuf, FileType)>>> {
    let entry = move |entry: io::Result<DirEntry>| {
        let entry = entry?;
        let name = PathBuf::from(entry.file_name());
        let path = if folder == Path::new(".") { name } else { folder.join(name) };
        Ok((path, entry.file_type()?))
    };
    Ok(fs::read_dir(folder)?.map(entry))
}

/// Whether a folder is skipped: it is hidden, or marked as a cache.
pub(super) fn is_passed_over(folder: &Path) -> bool {
    let is_hidden = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    is_hidden || folder.join("CACHEDIR.TAG").is_file()
}

fn unreadable(path: &Path, error: &io::Error) -> Diagnostic {
    let diagnostic = Diagnostic::error("unreadable-file", format!("cannot read the file: {error}"));
    let help = match path == Path::new("-") {
        true => "`check` reads fixtures from files, not from standard input",
        false => "check the name; it must be a fixture file or a folder",
    };
    diagnostic.at(Place::file(path.display().to_string())).help(help)
}
