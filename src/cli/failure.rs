//! Failures of a command: problems with their sources, or a failed standard stream.

use std::io::{self, Write};
use std::process::ExitCode;

use super::Global;
use backchat_core::diagnostic::{Diagnostic, Format, Sources, render};
use backchat_parser::template::source::SourceError;
use backchat_workbench::input::Problem;

/// Why a command could not run.
#[derive(Debug)]
pub enum Failure {
    /// The user's input is invalid.
    Diagnostics { diagnostics: Vec<Diagnostic>, sources: Sources },
    /// Standard input or output failed.
    Io(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Self {
        Problem::from(diagnostic).into()
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        Problem::from(error).into()
    }
}

impl From<backchat_chat::source::SourceError> for Failure {
    fn from(error: backchat_chat::source::SourceError) -> Self {
        Problem::from(error).into()
    }
}

impl From<Problem> for Failure {
    fn from(Problem { diagnostics, sources }: Problem) -> Self {
        Self::Diagnostics { diagnostics, sources }
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Diagnostics { diagnostics, sources } => Self { diagnostics, sources },
            Failure::Io(error) => Diagnostic::error("cannot-read", error.to_string()).into(),
        }
    }
}

/// How many problems are shown at once.
const MOST: usize = 100;

impl Failure {
    /// The failure with another name for a path and for what lies in it.
    pub fn shown_as(self, path: &str, shown: &str) -> Self {
        let Self::Diagnostics { mut diagnostics, mut sources } = self else { return self };
        for diagnostic in &mut diagnostics {
            let labels = diagnostic.labels.iter_mut().map(|label| &mut label.place);
            for file in diagnostic.place.iter_mut().chain(labels).filter_map(|place| place.file.as_mut()) {
                let Some(rest) = file.strip_prefix(path) else { continue };
                let name = format!("{shown}{rest}");
                if let Some(text) = sources.text(Some(file)).map(str::to_owned) {
                    sources = sources.with(&name, text);
                }
                *file = name;
            }
            diagnostic.help = diagnostic.help.take().map(|help| help.replace(path, shown));
        }
        Self::Diagnostics { diagnostics, sources }
    }

    /// Prints the error, and returns the exit code: 2, or 0 if only the reader of a pipe closed it.
    pub fn report(&self, global: &Global) -> ExitCode {
        let text = match self {
            Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
            Self::Io(error) => format!("error: cannot write the result: {error}\n"),
            Self::Diagnostics { diagnostics, sources } => {
                let shown = diagnostics.get(..MOST).unwrap_or(diagnostics);
                let mut text = render(shown, Format::Full, sources, global.colors(&io::stderr()));
                if let Some(more) = diagnostics.len().checked_sub(MOST).filter(|more| *more > 0) {
                    text.push_str(&format!("and {more} more problems\n"));
                }
                text
            }
        };
        // A closed standard error is ignored.
        let _ = io::stderr().write_all(text.as_bytes());
        ExitCode::from(2)
    }
}
