//! What Backchat has to say to a person: one shape for every complaint, rendered in several ways.

use std::ops::Range;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// It loads or runs, and will hurt.
    Warning,
    /// It cannot be used as it is.
    Error,
}

/// Where in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file as the user named it.
    pub file: Option<String>,
    /// Bytes of the file.
    pub span: Option<Range<usize>>,
    /// 1-based line and column (code points), where `span` starts.
    pub line_column: Option<(usize, usize)>,
    /// Path of the JSON value, such as `fields.tool_calls.open`.
    pub path: Option<String>,
}

/// One thing to say: what is wrong, where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable name of the kind of problem.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub message: String,
    /// Where it is.
    pub place: Option<Place>,
    /// What to do.
    pub help: Option<String>,
}
