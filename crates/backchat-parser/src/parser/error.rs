//! Parse errors. Bad model output is not an error: it is an event.

use std::fmt;

/// Why parsing stopped: [`ParseError::kind`] for programs, its text for people.
///
/// In stable mode the only reason is a pattern that exceeded its step limit. Reference mode fails where transformers
/// raises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// What the parser was doing.
    pub(crate) stage: Stage,
    /// What went wrong.
    pub(crate) cause: Cause,
}

/// The kind of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// A pattern exceeded its step limit.
    TooMuchWork,
    /// A region has no value.
    Malformed,
    /// Required fields are absent.
    Missing,
    /// The parser failed before.
    Failed,
    /// A parser of ids was given text, or a parser of text was given ids.
    WrongInput,
}

/// What a parser was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Reading the prefix.
    Prefix,
    /// Reading the text.
    Feed,
    /// Ending the message.
    Finalize,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// This pattern exceeded its step limit.
    TooMuchWork { pattern: String },
    /// A region of this field is malformed, for this reason.
    Malformed { field: String, text: String, reason: String },
    /// These required fields are absent.
    Missing(Vec<String>),
    /// The parser failed before.
    Failed,
    /// A parser of ids was given text.
    TextForIds,
    /// A parser of text was given ids.
    IdsForText,
}

/// What went wrong, for comparisons: errors at different stages may have the same cause.
pub fn cause(error: &ParseError) -> &Cause {
    &error.cause
}

impl ParseError {
    /// The kind of error.
    pub fn kind(&self) -> ParseErrorKind {
        match self.cause {
            Cause::TooMuchWork { .. } => ParseErrorKind::TooMuchWork,
            Cause::Malformed { .. } => ParseErrorKind::Malformed,
            Cause::Missing(_) => ParseErrorKind::Missing,
            Cause::Failed => ParseErrorKind::Failed,
            Cause::TextForIds | Cause::IdsForText => ParseErrorKind::WrongInput,
        }
    }

    /// The field whose region has no value, and the reason, if that is the cause.
    pub fn malformed(&self) -> Option<(&str, &str)> {
        match &self.cause {
            Cause::Malformed { field, reason, .. } => Some((field, reason)),
            _ => None,
        }
    }

    /// What the parser was doing, as machine rows name it.
    pub fn stage(&self) -> &'static str {
        match self.stage {
            Stage::Prefix => "prefix",
            Stage::Feed => "feed",
            Stage::Finalize => "finalize",
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::TooMuchWork { pattern } => {
                write!(
                    f,
                    "the pattern `{pattern}` needs more steps on this text than are allowed; make it backtrack less"
                )
            }
            Cause::Malformed { field, reason, .. } => write!(f, "field `{field}`: {reason}"),
            Cause::Missing(names) => {
                let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
                write!(f, "required fields are absent: {}", names.join(", "))
            }
            Cause::Failed => f.write_str("the parser has failed and cannot continue"),
            Cause::TextForIds => f.write_str("this parser reads token ids; feed it with `feed_tokens`"),
            Cause::IdsForText => f.write_str("this parser reads text; make it with `Parser::with_tokens` to feed ids"),
        }
    }
}

impl std::error::Error for ParseError {}
