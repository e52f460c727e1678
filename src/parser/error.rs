use std::fmt;

/// Why a parse could not go on.
///
/// In stable mode the only reason is a pattern that used up its steps. Reference mode fails where transformers raises.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseError {
    /// While doing what.
    pub stage: Stage,
    /// What went wrong.
    pub kind: ParseErrorKind,
}

/// What a parser was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Reading the prefix.
    Prefix,
    /// Reading the text.
    Feed,
    /// Ending the message.
    Finalize,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// A pattern used up its steps.
    TooMuchWork {
        /// The pattern.
        pattern: String,
    },
    /// A region gives no value.
    Malformed {
        /// The field.
        field: String,
        /// The raw text of the region.
        text: String,
        /// Why.
        reason: String,
    },
    /// Required fields are absent.
    Missing(Vec<String>),
    /// The parser failed before.
    Failed,
}

impl Stage {
    /// Its name in machine rows.
    #[doc(hidden)]
    pub fn name(self) -> &'static str {
        match self {
            Stage::Prefix => "prefix",
            Stage::Feed => "feed",
            Stage::Finalize => "finalize",
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ParseErrorKind::TooMuchWork { pattern } => {
                write!(
                    f,
                    "the pattern `{pattern}` needs more steps on this text than are allowed; make it backtrack less"
                )
            }
            ParseErrorKind::Malformed { field, reason, .. } => write!(f, "field `{field}`: {reason}"),
            ParseErrorKind::Missing(names) => {
                let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
                write!(f, "required fields are absent: {}", names.join(", "))
            }
            ParseErrorKind::Failed => f.write_str("the parser has failed before and cannot go on"),
        }
    }
}

impl std::error::Error for ParseError {}
