//! Why a schema reads no message in an output.

use std::fmt;

/// The error that the reference would raise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A node with a pattern or a parser got a value that is not a string.
    Input,
    /// A pattern has the wrong groups.
    Groups,
    /// The node itself is invalid: a type that does not exist, an iterator outside an array, no `items`.
    Node,
    /// The text is not JSON.
    Json,
    /// `x-parser` names an unknown parser.
    Parser,
    /// The JMESPath expression cannot be read or evaluated.
    Transform,
    /// The value does not have the node's type.
    Type,
    /// The text is not the number or bool that the node requires.
    Value,
    /// There are more or fewer items than `prefixItems`.
    Count,
    /// A required key is absent.
    Required,
    /// The pattern does not compile, or takes more steps than are allowed.
    Pattern,
}

impl ErrorKind {
    /// Its name in a row's answer.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::Input => "input",
            ErrorKind::Groups => "groups",
            ErrorKind::Node => "node",
            ErrorKind::Json => "json",
            ErrorKind::Parser => "parser",
            ErrorKind::Transform => "transform",
            ErrorKind::Type => "type",
            ErrorKind::Value => "value",
            ErrorKind::Count => "count",
            ErrorKind::Required => "required",
            ErrorKind::Pattern => "pattern",
        }
    }
}

/// Why no message was parsed, and the node of the schema that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaError {
    /// The error that the reference would raise.
    pub kind: ErrorKind,
    /// The problem.
    pub message: String,
    /// The node, as a JSON path from the schema's root: `$.properties.tool_calls.items`.
    pub path: String,
}

impl fmt::Display for SchemaError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.path, self.message)
    }
}

impl std::error::Error for SchemaError {}
