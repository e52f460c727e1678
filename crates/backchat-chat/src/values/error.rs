//! The errors of values, operators and builtins.

use std::error::Error as _;
use std::fmt;

use minijinja::{Error, ErrorKind};

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// An error with a message worded as in Python.
pub(crate) fn error(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into())
}

/// The cause of an error: the sandbox lets no template change a value that it was given or made.
#[derive(Debug)]
struct Immutable;

impl fmt::Display for Immutable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the sandbox is immutable")
    }
}

impl std::error::Error for Immutable {}

/// The error of a template that calls a method to change a value.
pub(crate) fn immutable(type_name: &str, method: &str) -> Error {
    error(format!("access to '{method}' of a {type_name} is unsafe: a template may not change it"))
        .with_source(Immutable)
}

/// Whether the sandbox refused to change a value.
pub(crate) fn is_immutable(error: &Error) -> bool {
    error.source().is_some_and(|cause| cause.is::<Immutable>())
}
