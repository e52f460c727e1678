//! Memory for callers without their own: JavaScript writes the arguments of calls into the memory of the module.

use std::alloc::{Layout, alloc, dealloc};

/// A multiple of every alignment in the header.
const ALIGNMENT: usize = 8;

/// Memory of so many bytes; null if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn bc_memory_new(size: usize) -> *mut u8 {
    match Layout::from_size_align(size.max(1), ALIGNMENT) {
        // SAFETY: the size is not 0.
        Ok(layout) => unsafe { alloc(layout) },
        Err(_) => std::ptr::null_mut(),
    }
}

/// Frees memory of `bc_memory_new`.
///
/// # Safety
///
/// `bc_memory_new` gave the memory for this size, and nothing uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bc_memory_free(memory: *mut u8, size: usize) {
    if let (false, Ok(layout)) = (memory.is_null(), Layout::from_size_align(size.max(1), ALIGNMENT)) {
        // SAFETY: it was allocated with this layout.
        unsafe { dealloc(memory, layout) };
    }
}
