//! Finds the files of cases.

use std::fs;
use std::path::{Path, PathBuf};

use super::fixture::{DEFAULTS, EXTENSION, ROWS_EXTENSION};
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

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Diagnostic> {
    let failed = |error: std::io::Error| unreadable(folder, &error);
    let mut entries: Vec<_> = fs::read_dir(folder).map_err(failed)?.collect::<Result<_, _>>().map_err(failed)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    let has_defaults = entries.iter().any(|entry| entry.file_name() == DEFAULTS);
    for entry in entries {
        let name = entry.file_name();
        let path = match folder == Path::new(".") {
            true => PathBuf::from(&name),
            false => folder.join(&name),
        };
        let kind = entry.file_type().map_err(failed)?;
        let ends_in = |extension| path.extension().is_some_and(|found| found == extension);
        if kind.is_dir() && !is_passed_over(&path) {
            walk(&path, files)?;
        } else if !kind.is_dir() && name != DEFAULTS && (ends_in(EXTENSION) || ends_in(ROWS_EXTENSION) && has_defaults)
        {
            files.push(path);
        }
    }
    Ok(())
}

/// Whether a folder is skipped: it is hidden, or marked as a cache.
pub(super) fn is_passed_over(folder: &Path) -> bool {
    let is_hidden = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    is_hidden || folder.join("CACHEDIR.TAG").is_file()
}

fn unreadable(path: &Path, error: &std::io::Error) -> Diagnostic {
    let diagnostic = Diagnostic::error("unreadable-file", format!("cannot read the file: {error}"));
    diagnostic.at(Place::file(path.display().to_string())).help("check the name; it must be a fixture file or a folder")
}
