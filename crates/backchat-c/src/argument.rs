//! What callers pass: pointers and lengths, checked as far as they can be.

use std::ffi::c_char;
use std::slice;

use crate::failure::Failure;
use crate::status::{BC_INVALID_UTF8, BC_NULL_POINTER};

/// A text: UTF-8, without a null byte at its end.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bc_text {
    pub data: *const c_char,
    pub length: usize,
}

impl bc_text {
    /// The text as long as it lives.
    #[inline]
    pub fn of(text: &str) -> Self {
        Self { data: text.as_ptr().cast(), length: text.len() }
    }

    #[inline]
    pub const fn none() -> Self {
        Self { data: std::ptr::null(), length: 0 }
    }
}

#[cold]
pub fn null(what: &str) -> Failure {
    Failure::new(BC_NULL_POINTER, format!("{what} is null"))
}

/// The failure of a list that is null or not aligned, or else too long.
#[cold]
fn unusable<T>(data: *const T, what: &str) -> Failure {
    if data.is_null() {
        return null(what);
    }
    if !data.is_aligned() {
        return Failure::new(BC_NULL_POINTER, format!("{what} is not aligned"));
    }
    Failure::new(BC_NULL_POINTER, format!("{what} is longer than memory can be"))
}

#[cold]
fn not_utf8(valid: usize) -> Failure {
    Failure::new(BC_INVALID_UTF8, format!("the text is not UTF-8 at byte {valid}"))
}

/// The text that a caller passes.
///
/// # Safety
///
/// `data` is null, or points to `length` bytes that do not change while `'t` lasts.
#[inline]
pub unsafe fn text<'t>(data: *const c_char, length: usize) -> Result<&'t str, Failure> {
    // SAFETY: as above.
    let bytes = unsafe { list(data.cast::<u8>(), length, "the text") }?;
    if is_short_ascii(bytes) {
        // SAFETY: ASCII is UTF-8.
        return Ok(unsafe { str::from_utf8_unchecked(bytes) });
    }
    str::from_utf8(bytes).map_err(|error| not_utf8(error.valid_up_to()))
}

/// Whether four to eight bytes, the length of most tokens, are ASCII: they are looked at as two overlapping halves.
#[inline(always)]
fn is_short_ascii(bytes: &[u8]) -> bool {
    const HIGH: u32 = 0x8080_8080;
    match (bytes.len(), bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (4..=8, Some(first), Some(last)) => (u32::from_ne_bytes(*first) | u32::from_ne_bytes(*last)) & HIGH == 0,
        _ => false,
    }
}

/// The list that a caller passes; an empty one may be null.
///
/// # Safety
///
/// `data` is null, or points to `length` items that do not change while `'t` lasts.
#[inline]
pub unsafe fn list<'t, T>(data: *const T, length: usize, what: &str) -> Result<&'t [T], Failure> {
    if length == 0 {
        return Ok(&[]);
    }
    if data.is_null() || !data.is_aligned() || length > isize::MAX as usize / size_of::<T>() {
        return Err(unusable(data, what));
    }
    // SAFETY: it is not null and aligned, its size fits an `isize`, and the caller vouches for the rest.
    Ok(unsafe { slice::from_raw_parts(data, length) })
}

/// Writes a result.
///
/// # Safety
///
/// `to` is null, or points to memory for the result.
pub unsafe fn write<T>(to: *mut T, result: T) -> Result<(), Failure> {
    if to.is_null() {
        return Err(null("the pointer to the result"));
    }
    // SAFETY: it is not null, and the caller vouches for the rest.
    unsafe { to.write(result) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::{look_at_last, remember};

    #[test]
    fn a_list_that_cannot_be_read_is_named() {
        let ids = [1_u32, 2];
        let misaligned = ids.as_ptr().cast::<u8>().wrapping_add(1).cast::<u32>();
        for (data, length, message) in [
            (std::ptr::null(), 1, "the list is null"),
            (misaligned, 1, "the list is not aligned"),
            (ids.as_ptr(), usize::MAX / 4, "the list is longer than memory can be"),
        ] {
            // SAFETY: none of these is read.
            let failure = unsafe { list(data, length, "the list") }.unwrap_err();
            assert_eq!(remember(failure), BC_NULL_POINTER);
            look_at_last(|last| assert_eq!(last.message, message)).unwrap();
        }
    }
}
