//! Why a tokenizer is refused: the problem, and its place in the file.

use std::fmt;

/// Why a `tokenizer.json` cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokensError {
    /// The problem, and how to solve it.
    pub message: String,
    /// The keys that lead to the place, as in `decoder.decoders[1]`; empty for the whole file.
    pub path: String,
    /// The byte at which the text stops being JSON, if that is the problem.
    pub offset: Option<usize>,
}

impl TokensError {
    pub(super) fn at(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { message: message.into(), path: path.into(), offset: None }
    }

    pub(super) fn syntax(offset: usize, message: impl Into<String>) -> Self {
        Self { message: message.into(), path: String::new(), offset: Some(offset) }
    }
}

impl fmt::Display for TokensError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.offset, self.path.as_str()) {
            (Some(offset), _) => write!(f, "the tokenizer is not JSON at byte {offset}: {}", self.message),
            (None, "") => write!(f, "the tokenizer cannot be used: {}", self.message),
            (None, path) => write!(f, "the tokenizer's `{path}` cannot be used: {}", self.message),
        }
    }
}

impl std::error::Error for TokensError {}
