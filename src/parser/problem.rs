//! What went wrong in a text, as data: each problem has a kind and a place, and none of them changes the message.

use super::span::Span;
use crate::json::{Object, Value};

/// A kind of problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProblemKind {
    /// A region gives no value.
    Malformed,
    /// A region with closers of its own was ended by the end of the text, or by the mark that ends the turn. JSON
    /// ends by itself: a region of it that was cut is malformed.
    Unclosed,
}

impl ProblemKind {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            ProblemKind::Malformed => "malformed",
            ProblemKind::Unclosed => "unclosed",
        }
    }
}

/// A problem of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// What kind of problem it is.
    pub kind: ProblemKind,
    /// The body of the region.
    pub span: Span,
    /// The field.
    pub field: String,
    /// The number of the call in the message, from 0; none if no call of the message is concerned.
    pub call: Option<usize>,
    /// The number of the region among those of its field, from 0.
    pub region: usize,
    /// Why a malformed region gives no value.
    pub reason: Option<String>,
    /// Whether the text ended inside the region.
    pub at_end: bool,
}

impl Problem {
    /// The problem as the command writes it, without its span.
    pub fn to_value(&self) -> Value {
        let mut entries = Object::new();
        entries.insert("kind".to_owned(), self.kind.as_str().into());
        entries.insert("field".to_owned(), self.field.as_str().into());
        if let Some(call) = self.call {
            entries.insert("call".to_owned(), call.into());
        }
        entries.insert("region".to_owned(), self.region.into());
        if let Some(reason) = &self.reason {
            entries.insert("reason".to_owned(), reason.as_str().into());
        }
        if self.at_end {
            entries.insert("at_end".to_owned(), true.into());
        }
        Value::Object(entries)
    }
}
