//! How strings are quoted.

/// A way to quote strings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Strings {
    Json,
    /// In either quote, escaped as Python does.
    Python,
    /// Between two marks, as they are.
    Marked(String, String),
}
