//! The option `--report`, and where it writes its page.

use std::path::PathBuf;

use super::signals::uninterrupted;
use super::{Failure, Global, input};
use crate::diagnostic::escape;
use crate::template::source::replace_file;

/// The option of every command that has something to show on a page.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Report {
    /// Also write an HTML report: one self-contained file that can be attached to a pull request
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

impl Report {
    /// Whether a page was asked for.
    pub fn is_asked(&self) -> bool {
        self.report.is_some()
    }

    /// Writes the page if one was asked for, and prints its path.
    pub fn write(&self, global: &Global, page: impl FnOnce() -> String) -> Result<(), Failure> {
        let Some(file) = &self.report else { return Ok(()) };
        let shown = file.display().to_string();
        let page = page();
        uninterrupted(|| replace_file(file, page.as_bytes())).map_err(|error| input::cannot_write(&shown, &error))?;
        if !global.is_quiet() {
            super::say!("Wrote the report {}.", escape(&shown));
        }
        Ok(())
    }
}
