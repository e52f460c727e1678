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

impl Strings {
    /// The marks around a string; of several kinds, those of JSON.
    pub fn marks(&self) -> (&str, &str) {
        match self {
            Self::Json | Self::Python(_) | Self::Single => ("\"", "\""),
            Self::Marked(open, close) => (open, close),
        }
    }
}
