//! Long text on its way from `print` to the output: the engine hands on its bytes, and this keeps that they are text.
//!
//! Checking long text as UTF-8 takes longer than everything else that a render does with it.

use std::cell::RefCell;

use minijinja::Value;

/// Bytes from which on text is kept; shorter text is checked faster.
const LONG: usize = 256;

thread_local! {
    /// The last long string that this thread's render printed. As it is alive, no other text has its address.
    static LAST: RefCell<Option<Value>> = const { RefCell::new(None) };
}

/// Keeps a string that is printed next.
pub(crate) fn keep(value: &Value) {
    if value.as_str().is_some_and(|text| text.len() >= LONG) {
        LAST.set(Some(value.clone()));
    }
}

/// Appends what the engine writes: the very string that was kept, or bytes that are checked.
pub(crate) fn append(out: &mut String, piece: &[u8]) -> Result<(), std::str::Utf8Error> {
    if piece.len() >= LONG
        && let Some(kept) = LAST.take()
        && let Some(text) = kept.as_str()
        && std::ptr::eq(text.as_bytes(), piece)
    {
        out.push_str(text);
        return Ok(());
    }
    out.push_str(std::str::from_utf8(piece)?);
    Ok(())
}

/// Lets go of what was kept, when a render is over.
pub(crate) fn forget() {
    LAST.set(None);
}
