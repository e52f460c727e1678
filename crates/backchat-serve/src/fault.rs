//! What ends an answer before it is whole.

use backchat_core::json;
use backchat_parser::parser::ParseError;
use std::fmt;

/// What ends an answer before it is whole, in the words that its client gets.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The engine reports an error.
    Reported(String),
    /// The engine gave the answer up, for this reason.
    GivenUp(String),
    /// The engine's line is longer than so many bytes.
    LongLine(usize),
    /// An event of the engine is not UTF-8.
    NotText,
    /// An event of the engine is not JSON.
    NotJson(json::Error),
    /// The engine's text is longer than so many bytes.
    LongAnswer(usize),
    /// A pattern of the response template exceeds its step limit.
    Unreadable(ParseError),
    /// The connection ended within the answer.
    Disconnected,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reported(message) => out.write_str(message),
            Self::GivenUp(reason) => write!(out, "the engine ended the answer with `{reason}`"),
            Self::LongLine(most) => write!(out, "the engine wrote a line of more than {} MiB", most >> 20),
            Self::NotText => out.write_str("the engine wrote an event that is not UTF-8"),
            Self::NotJson(error) => write!(out, "the engine wrote an event that is not JSON: {error}"),
            Self::LongAnswer(most) => write!(out, "the answer is longer than {} MiB", most >> 20),
            Self::Unreadable(error) => write!(out, "the answer cannot be parsed: {error}"),
            Self::Disconnected => out.write_str("the connection to the engine broke"),
        }
    }
}

impl std::error::Error for Fault {}
