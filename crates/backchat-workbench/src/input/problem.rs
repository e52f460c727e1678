//! Something that failed, with everything needed to report it.

use backchat_core::diagnostic::{Diagnostic, Sources};
use backchat_parser::template::source::SourceError;

/// A failure and its reason.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The problems and their positions.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts it is about.
    pub sources: Sources,
}

impl From<Diagnostic> for Problem {
    fn from(diagnostic: Diagnostic) -> Self {
        Self { diagnostics: vec![diagnostic], sources: Sources::none() }
    }
}

impl From<SourceError> for Problem {
    fn from(error: SourceError) -> Self {
        Self { diagnostics: error.diagnostics, sources: error.sources }
    }
}

impl From<backchat_chat::source::SourceError> for Problem {
    fn from(error: backchat_chat::source::SourceError) -> Self {
        Self { diagnostics: error.diagnostics, sources: error.sources }
    }
}

impl Problem {
    /// The problem in one line.
    pub fn line(&self) -> String {
        let Some(first) = self.diagnostics.first() else { return "it failed".to_owned() };
        let place = first.place.as_ref();
        let file = place.and_then(|place| place.file.as_deref()).unwrap_or("");
        let line = place.and_then(|place| place.line_column).map(|(line, column)| format!(":{line}:{column}"));
        let separator = if file.is_empty() { "" } else { ": " };
        let more = match self.diagnostics.len() {
            ..=1 => String::new(),
            count => format!(" (and {} more)", count - 1),
        };
        format!("{file}{}{separator}{}{more}", line.unwrap_or_default(), first.message)
    }
}
