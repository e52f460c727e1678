//! Another spelling of what a template looks for; what its fields mean stays the same.

use crate::pattern::Pattern;

/// Another way to write the texts and patterns that a parser looks for.
pub(crate) trait Respell {
    /// Why something cannot be written so.
    type Error;
    /// A text.
    fn text(&mut self, text: &str) -> String;
    /// A pattern.
    fn pattern(&mut self, pattern: &Pattern) -> Result<Pattern, Self::Error>;
}
