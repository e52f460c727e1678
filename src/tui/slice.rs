//! Slices at places that the screen computed itself.

use std::ops::Range;

/// Some of a text. The span must lie in it, on the borders of characters: spans come from walking this very text. A wrong
/// one is a bug, which debug builds report; release builds draw nothing for it.
pub fn slice(text: &str, span: Range<usize>) -> &str {
    let found = text.get(span.clone());
    debug_assert!(found.is_some(), "{span:?} is no slice of a text of {} bytes", text.len());
    found.unwrap_or("")
}
