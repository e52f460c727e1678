//! Slices of text at bounds that were found in it, and a cursor over its characters.

mod cursor;

pub(crate) use cursor::Cursor;

use std::fmt::Debug;
use std::slice::SliceIndex;

/// `text[range]`, for bounds that come from `text` itself: 0, its length, a match in it, a span that was read from it, or
/// such a bound moved over its characters. They are in order and between characters, so the slice exists. Any other
/// bounds are a bug: a debug build asserts that there are none, a release build gives the empty text instead of a panic.
#[inline]
pub(crate) fn slice<R>(text: &str, range: R) -> &str
where
    R: SliceIndex<str, Output = str> + Clone + Debug,
{
    let slice = text.get(range.clone());
    debug_assert!(slice.is_some(), "{range:?} does not slice a text of {} bytes", text.len());
    slice.unwrap_or_default()
}
