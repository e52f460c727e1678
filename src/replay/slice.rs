//! Slices of texts at places that a recording computed itself.

use std::ops::Range;

/// Some of a text. The span must lie in the text, on the borders of characters: spans come from the events and feeds of a
/// recording of that very text. A wrong one is a bug, which debug builds report; release builds go on with nothing.
pub(super) fn slice(text: &str, span: Range<usize>) -> &str {
    let found = text.get(span.clone());
    debug_assert!(found.is_some(), "{span:?} does not slice a text of {} bytes", text.len());
    found.unwrap_or("")
}
