use std::io::{self, Write};
use std::process::ExitCode;

use super::Global;
use crate::diagnostic::Diagnostic;

/// Why a command could not run.
#[derive(Debug)]
pub enum Failure {
    /// Something the user gave is wrong.
    Diagnostics(Vec<Diagnostic>),
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
        Self::Diagnostics(vec![diagnostic])
    }
}

impl From<crate::template::LoadError> for Failure {
    fn from(error: crate::template::LoadError) -> Self {
        Self::Diagnostics(error.diagnostics)
    }
}

impl Failure {
    /// Tells the user, and gives the exit code: 2, or 0 where only the reader of a pipe went away.
    pub fn report(&self, _global: &Global) -> ExitCode {
        let text = match self {
            Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
            Self::Io(error) => format!("error: {error}\n"),
            Self::Diagnostics(diagnostics) => diagnostics
                .iter()
                .map(|diagnostic| format!("{}: {}\n", diagnostic.severity.name(), diagnostic.message))
                .collect(),
        };
        // Where standard error is gone there is nobody left to tell.
        let _ = io::stderr().write_all(text.as_bytes());
        ExitCode::from(2)
    }
}
