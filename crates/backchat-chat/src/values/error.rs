//! The errors of values, operators and builtins.

use minijinja::{Error, ErrorKind};

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// An error with a message worded as in Python.
pub(crate) fn error(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into())
}
