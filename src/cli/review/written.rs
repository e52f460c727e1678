//! What the review wrote, so that it can be taken back.

use std::path::{Path, PathBuf};

use crate::cli::input;
use backchat_core::diagnostic::{Diagnostic, Place};
use backchat_parser::template::source::replace_file;
use backchat_workbench::session::Problem;

/// A file before and after a case was written.
pub struct Written {
    file: PathBuf,
    before: String,
    after: String,
}

impl Written {
    /// Notes what a file holds now that held another text before.
    pub fn note(file: &str, before: &str) -> Result<Self, Problem> {
        Ok(Self { file: file.into(), before: before.to_owned(), after: read(Path::new(file))? })
    }

    /// Writes the text before, if the file is still as it was written.
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
