//! Slices of texts at bounds that were found in them.

use std::fmt::Debug;
use std::slice::SliceIndex;

/// `text[range]`, for bounds that come from `text` itself: borders of its characters, or its ends. They are in order, so the
/// slice exists. A debug build asserts that; a release build gives the empty text instead of a panic.
#[inline]
pub(in crate::diagnostic) fn slice<R>(text: &str, range: R) -> &str
where
    R: SliceIndex<str, Output = str> + Clone + Debug,
{
    let slice = text.get(range.clone());
    debug_assert!(slice.is_some(), "{range:?} does not slice a text of {} bytes", text.len());
    slice.unwrap_or_default()
}
