//! The cases that a command line selects.

use std::path::PathBuf;
use std::time::Duration;

use super::durations::seconds;
use super::input;
use backchat_core::diagnostic::escape;
use backchat_parser::template::source::SourceError;
use backchat_workbench::answers;
use backchat_workbench::check::fixture::{FixtureFile, TemplateSource};
use backchat_workbench::check::{self, Derived, Entry};

#[derive(Debug, clap::Args)]
pub struct Cases {
    /// Fixture files, or folders of them
    #[arg(default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Select the cases with this text in their path or name
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,
    /// Read every case with this response template instead of its own
    #[arg(long, value_name = "TEMPLATE")]
    pub template: Option<String>,
    /// Limit the time of each case, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub timeout: Duration,
}

impl Cases {
    /// The files of cases, each read once.
    pub fn files(&self) -> Result<Vec<FixtureFile>, SourceError> {
        answers::case_files(&self.paths, self.stand_in()?.as_ref())
    }

    /// A file of cases as it is now.
    #[cfg(feature = "tui")]
    pub fn file(&self, path: &std::path::Path) -> Result<FixtureFile, SourceError> {
        Ok(answers::case_file(path, self.stand_in()?.as_ref()))
    }

    /// The derived templates, which are checked with the cases unless another template is requested.
    pub fn derived(&self) -> Vec<Derived> {
        if self.template.is_some() { Vec::new() } else { check::derived_files(&self.paths) }
    }

    pub fn selects(&self, entry: &Entry<'_>) -> bool {
        self.filter.as_ref().is_none_or(|filter| entry.id().contains(filter))
    }

    /// The reason why no case is selected.
    pub fn nothing(&self, files: &[FixtureFile]) -> String {
        let paths: Vec<_> = self.paths.iter().map(|path| path.display().to_string()).collect();
        let paths = paths.join(", ");
        let paths = escape(&paths);
        match (files, &self.filter) {
            ([], _) => format!("no fixtures in {paths}; start with `backchat check --new MODEL`"),
            (_, Some(filter)) => format!("no case in {paths} has `{}` in its name", escape(filter)),
            _ => format!("no case in {paths} was selected"),
        }
    }

    fn stand_in(&self) -> Result<Option<TemplateSource>, SourceError> {
        let file = self.template.as_deref().map(input::place).transpose()?;
        Ok(file.map(|file| TemplateSource::File(file.into())))
    }
}
