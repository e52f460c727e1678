//! Respells the delimiters of a template; the meaning of its fields stays the same.

use crate::pattern::Pattern;

/// A respelling of the texts and patterns that a parser looks for.
pub(crate) trait Respell {
    /// Why something cannot be respelled.
    type Error;
    /// A text.
    fn text(&mut self, text: &str) -> String;
    /// A pattern.
    fn pattern(&mut self, pattern: &Pattern) -> Result<Pattern, Self::Error>;
}
