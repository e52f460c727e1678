//! Slices of a body at bounds that were found in it.

use std::fmt::Debug;
use std::slice::SliceIndex;

/// `text[range]`, for bounds that come from `text` itself: a match in it, its length, or characters walked over. They are
/// in order and between characters, so the slice exists. A debug build asserts that; a release build gives the empty text
/// instead of a panic.
#[inline]
pub(super) fn slice<R>(text: &str, range: R) -> &str
where
    R: SliceIndex<str, Output = str> + Clone + Debug,
{
    let slice = text.get(range.clone());
    debug_assert!(slice.is_some(), "{range:?} does not slice a text of {} bytes", text.len());
    slice.unwrap_or_default()
}
