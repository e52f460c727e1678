//! Spans of the text: bytes, counted from where the parser began to read.

/// A stretch of the text, in bytes.
///
/// It counts from the start of all the parser reads: the rest of the prefix after the start anchor, then the text.
/// The text itself begins at [`Parser::prefix_length`](super::Parser::prefix_length).
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
