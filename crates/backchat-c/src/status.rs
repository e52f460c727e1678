//! The results of calls. A number is never reused for something else.

/// The result of a call: `BC_OK`, `BC_STOPPED`, or a negative number if the call failed.
pub type bc_status = i32;

/// The version of this interface. It changes only if a program must be compiled again.
pub const BC_ABI_VERSION: u32 = 1;

/// The call did what it should.
pub const BC_OK: bc_status = 0;
/// The callback returned a number other than 0. The text was read; the rest of its events was not reported.
pub const BC_STOPPED: bc_status = 1;
/// A required pointer is null, a pointer is not aligned, or a list is longer than memory can be.
pub const BC_NULL_POINTER: bc_status = -1;
/// A handle is of another kind, or was freed.
pub const BC_WRONG_HANDLE: bc_status = -2;
/// A text is not UTF-8; nothing of it was read. A character must not be divided between two texts.
pub const BC_INVALID_UTF8: bc_status = -3;
/// An option has a value that it cannot have.
pub const BC_INVALID_OPTION: bc_status = -4;
/// A template, a list of tools or a tokenizer cannot be used.
pub const BC_INVALID_JSON: bc_status = -5;
/// The parser is in use, by another thread or by the call that this callback belongs to.
pub const BC_BUSY: bc_status = -6;
/// The message is finished, or parsing it failed before.
pub const BC_FINISHED: bc_status = -7;
/// The parser reads ids and was given text, or the reverse.
pub const BC_WRONG_INPUT: bc_status = -8;
/// Parsing failed: a pattern exceeded its limit of steps or, in reference mode, transformers raises here.
pub const BC_PARSE_FAILED: bc_status = -9;
/// A bug in Backchat. The handle cannot be used any more.
pub const BC_INTERNAL: bc_status = -10;
