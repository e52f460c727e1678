//! Spans of the text, in bytes from the start of the parser's input.

/// A stretch of the text, in bytes.
///
/// It counts from the start of the parser's input: the prefix after the start anchor, then the text, which begins at
/// [`Parser::prefix_length`](super::Parser::prefix_length).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

impl Span {
    pub(super) fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }
}
