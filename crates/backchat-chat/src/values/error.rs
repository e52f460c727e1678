//! The error that a value, an operator or a builtin gives.

use minijinja::{Error, ErrorKind};

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// An error with a message in Python's words.
pub(crate) fn error(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into())
}
