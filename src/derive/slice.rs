//! Slices of renders, samples and markers at bounds that were found in them.

use std::fmt::Debug;
use std::slice::SliceIndex;

/// `text[range]`, for bounds that come from `text` itself: matches in it, spans the parser gave of it, characters walked
/// over. They are in order and between characters, so the slice exists. A debug build asserts that; a release build gives
/// the empty text instead of a panic.
#[inline]
pub(in crate::derive) fn slice<R>(text: &str, range: R) -> &str
where
    R: SliceIndex<str, Output = str> + Clone + Debug,
{
    let slice = text.get(range.clone());
    debug_assert!(slice.is_some(), "{range:?} does not slice a text of {} bytes", text.len());
    slice.unwrap_or_default()
}
