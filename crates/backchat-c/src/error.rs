//! What the last call that failed tells its thread.

use crate::argument::{bc_text, write};
use crate::call::call;
use crate::failure::look_at_last;
use crate::status::{BC_OK, bc_status};

/// What went wrong.
#[repr(C)]
pub struct bc_error {
    /// The status that the call returned; `BC_OK` if no call of this thread failed.
    pub code: bc_status,
    /// The problem, in one sentence.
    pub message: bc_text,
    /// The place in the JSON that was loaded, as in `fields.content.close`; empty if there is none.
    pub path: bc_text,
    /// What the parser was doing if it failed: `prefix`, `feed` or `finalize`; empty otherwise.
    pub stage: bc_text,
}

/// What was wrong with the last call of this thread that failed. The texts are valid until the next one that fails.
///
/// # Safety
///
/// `error` is null, or points to memory for a `bc_error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bc_last_error(error: *mut bc_error) -> bc_status {
    call(|| {
        let known = look_at_last(|last| {
            let text = |text: &str| bc_text::of(text);
            bc_error { code: last.code, message: text(&last.message), path: text(&last.path), stage: text(last.stage) }
        });
        let known = known.unwrap_or(bc_error {
            code: BC_OK,
            message: bc_text::of(""),
            path: bc_text::of(""),
            stage: bc_text::of(""),
        });
        // SAFETY: the caller passes null or memory for the result.
        unsafe { write(error, known) }?;
        Ok(BC_OK)
    })
}
