//! A finding in a document, with related places and the changes that would remove it.

use std::ops::Range;
use std::path::PathBuf;

use backchat_core::diagnostic::{Diagnostic, Edit, Severity};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Error,
    Warning,
    Information,
    Hint,
}

impl From<Severity> for Level {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Error => Self::Error,
            Severity::Warning => Self::Warning,
            _ => Self::Information,
        }
    }
}

/// A change of the document that removes a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    pub title: String,
    pub edits: Vec<Edit>,
    /// Whether it can be applied without a look at it.
    pub is_safe: bool,
}

/// A place in another file that explains a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    pub path: PathBuf,
    pub span: Range<usize>,
    pub message: String,
}

/// A finding in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub span: Range<usize>,
    pub level: Level,
    pub code: String,
    pub message: String,
    pub related: Vec<Related>,
    pub remedies: Vec<Remedy>,
}

impl Finding {
    /// A finding with a message and nothing else.
    pub fn new(level: Level, code: impl Into<String>, span: Range<usize>, message: impl Into<String>) -> Self {
        let (related, remedies) = Default::default();
        Self { span, level, code: code.into(), message: message.into(), related, remedies }
    }

    /// Offers a change.
    #[must_use]
    pub fn remedy(mut self, title: impl Into<String>, edits: Vec<Edit>, is_safe: bool) -> Self {
        self.remedies.push(Remedy { title: title.into(), edits, is_safe });
        self
    }

    /// A diagnostic of the library as a finding of the document that it is about.
    pub fn of(diagnostic: &Diagnostic) -> Self {
        let span = diagnostic.place.as_ref().and_then(|place| place.span.clone()).unwrap_or(0..0);
        let mut message = diagnostic.message.clone();
        for label in diagnostic.labels.iter().filter(|label| label.place.span.is_none()) {
            message.push_str(&format!("\n{}", label.message));
        }
        if let Some(help) = &diagnostic.help {
            message.push_str(&format!("\n{help}"));
        }
        let finding = Self::new(diagnostic.severity.into(), diagnostic.id, span, message);
        match &diagnostic.fix {
            Some(fix) => finding.remedy(fix.message.clone(), fix.edits.clone(), true),
            None => finding,
        }
    }
}
