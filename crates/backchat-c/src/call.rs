//! What surrounds each call: failures are remembered, panics end here; versions, and the function that frees.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::argument::bc_text;
use crate::failure::{Failure, remember};
use crate::handle;
use crate::status::{BC_ABI_VERSION, BC_INTERNAL, BC_OK, bc_status};

/// Runs a call. Unwinding into C would abort the process, so that a bug of ours ends as a status.
#[inline(always)]
pub fn call(work: impl FnOnce() -> Result<bc_status, Failure>) -> bc_status {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(status)) => status,
        Ok(Err(failure)) => remember(failure),
        Err(_) => remember(Failure::new(BC_INTERNAL, "a bug in Backchat: please report what you did")),
    }
}

/// The version of the interface that the library has. Compare it with `BC_ABI_VERSION`.
#[unsafe(no_mangle)]
pub extern "C" fn bc_abi_version() -> u32 {
    BC_ABI_VERSION
}

/// The version of the library, as in `0.1.0`.
#[unsafe(no_mangle)]
pub extern "C" fn bc_version() -> bc_text {
    bc_text::of(env!("CARGO_PKG_VERSION"))
}

/// Frees a handle: a template, a parser, tools or tokens. A null pointer is fine. A parser cannot be freed by a callback
/// of its own.
///
/// # Safety
///
/// `handle` is null, or a handle that no other call uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bc_free(handle: *mut c_void) -> bc_status {
    // SAFETY: as above.
    call(|| unsafe { handle::free(handle) }.map(|()| BC_OK))
}
