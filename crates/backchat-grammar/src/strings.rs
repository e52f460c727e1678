//! How strings are quoted.

/// A way to quote strings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Strings {
    Json,
    /// In one of these quotes, escaped as Python does.
    Python(&'static [char]),
    /// Between single quotes as they are, or as JSON.
    Single,
    /// Between two marks, as they are.
    Marked(String, String),
}
