//! Records the writes of a review so that they can be undone.

use std::path::{Path, PathBuf};

use crate::cli::input;
use backchat_core::diagnostic::{Diagnostic, Place};
use backchat_parser::template::source::replace_file;
use backchat_workbench::session::Problem;

/// A file before and after a case was written.
pub struct FileChange {
    file: PathBuf,
    before: String,
    after: String,
}

impl FileChange {
    /// Records the old and the new text of a file.
    pub fn note(file: &str, before: &str) -> Result<Self, Problem> {
        Ok(Self { file: file.into(), before: before.to_owned(), after: read(Path::new(file))? })
    }

    /// Restores the old text, if the file has not changed since.
    pub fn take_back(&self) -> Result<(), Problem> {
        let name = self.file.display().to_string();
        if read(&self.file)? != self.after {
            let problem = Diagnostic::error("file-changed", "the file changed since it was written; it stays as it is");
            return Err(problem.at(Place::file(name)).into());
        }
        let written = replace_file(&self.file, self.before.as_bytes());
        written.map_err(|error| input::cannot_write(&name, &error).into())
    }
}

fn read(file: &Path) -> Result<String, Problem> {
    backchat_workbench::input::text(&file.display().to_string())
}
