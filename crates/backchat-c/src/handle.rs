//! What callers keep: boxed values behind opaque pointers. Each begins with the number of its kind, so that a handle of
//! another kind is refused, and a parser has a flag, so that it is never used twice at once.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::argument::null;
use crate::failure::Failure;
use crate::running::Running;
use crate::status::{BC_BUSY, BC_WRONG_HANDLE};
use backchat_parser::parser::{TokenTemplate, Tools};
use backchat_parser::template::Template;
use backchat_parser::tokens::Tokens;

/// A response template. Immutable: share it between parsers and threads.
pub struct bc_template {
    _opaque: (),
}

/// The parser of one message.
pub struct bc_parser {
    _opaque: (),
}

/// The tools of a request. Immutable, too.
pub struct bc_tools {
    _opaque: (),
}

/// The text of each id of a tokenizer. Immutable, too.
pub struct bc_tokens {
    _opaque: (),
}

/// A template for text, or for the ids of a tokenizer.
pub enum Loaded {
    Text(Template),
    Ids(TokenTemplate),
}

/// What a handle points to.
#[repr(C)]
pub struct Held<T> {
    /// [`Opaque::KIND`]; 0 once it is freed.
    kind: u32,
    busy: AtomicBool,
    value: UnsafeCell<T>,
}

/// A type of the header, and what is behind a pointer to it.
pub trait Opaque {
    type Value;
    const KIND: u32;
    const NAME: &str;
}

impl Opaque for bc_template {
    type Value = Loaded;
    const KIND: u32 = 0x6263_0001;
    const NAME: &str = "the template";
}

impl Opaque for bc_parser {
    type Value = Running;
    const KIND: u32 = 0x6263_0002;
    const NAME: &str = "the parser";
}

impl Opaque for bc_tools {
    type Value = Arc<Tools>;
    const KIND: u32 = 0x6263_0003;
    const NAME: &str = "the tools";
}

impl Opaque for bc_tokens {
    type Value = Arc<Tokens>;
    const KIND: u32 = 0x6263_0004;
    const NAME: &str = "the tokens";
}

/// A new handle.
pub fn make<O: Opaque>(value: O::Value) -> *mut O {
    let held = Held { kind: O::KIND, busy: AtomicBool::new(false), value: UnsafeCell::new(value) };
    Box::into_raw(Box::new(held)).cast()
}

#[cold]
fn wrong(name: &str) -> Failure {
    Failure::new(BC_WRONG_HANDLE, format!("{name} is a handle of another kind, or was freed"))
}

/// What a handle points to, after a look at its kind.
///
/// # Safety
///
/// `handle` is null, or a handle that lives as long as `'h`.
#[inline]
unsafe fn held<'h, O: Opaque>(handle: *const O) -> Result<&'h Held<O::Value>, Failure> {
    if handle.is_null() {
        return Err(null(O::NAME));
    }
    // SAFETY: each handle begins with its kind.
    if !handle.cast::<u32>().is_aligned() || unsafe { handle.cast::<u32>().read() } != O::KIND {
        return Err(wrong(O::NAME));
    }
    // SAFETY: `make` made it with a value of this kind. Shared references are fine: what changes is in a cell.
    Ok(unsafe { &*handle.cast() })
}

/// The value of a handle that is immutable.
///
/// # Safety
///
/// `handle` is null, or a handle that lives as long as `'h`. It is not that of a parser.
pub unsafe fn shared<'h, O: Opaque>(handle: *const O) -> Result<&'h O::Value, Failure> {
    // SAFETY: as above.
    let held = unsafe { held(handle) }?;
    // SAFETY: nothing makes a mutable reference to the value of an immutable handle.
    Ok(unsafe { &*held.value.get() })
}

/// Works with a parser, unless a call is in it. If the work panics, the parser stays in use for good.
///
/// # Safety
///
/// `parser` is null, or a handle that lives until the work is done.
#[inline(always)]
pub unsafe fn with<R>(
    parser: *const bc_parser,
    work: impl FnOnce(&mut Running) -> Result<R, Failure>,
) -> Result<R, Failure> {
    // SAFETY: as above.
    let held = unsafe { held(parser) }?;
    if held.busy.swap(true, Ordering::Acquire) {
        return Err(busy());
    }
    // SAFETY: the flag is ours, so nothing else has a reference to the value.
    let done = work(unsafe { &mut *held.value.get() });
    held.busy.store(false, Ordering::Release);
    done
}

#[cold]
fn busy() -> Failure {
    Failure::new(BC_BUSY, "the parser is in use, by another thread or by the call that this callback belongs to")
}

/// Frees a handle of any kind.
///
/// # Safety
///
/// `handle` is null, or a handle that no other call uses any more.
pub unsafe fn free(handle: *mut c_void) -> Result<(), Failure> {
    if handle.is_null() {
        return Ok(());
    }
    if !handle.cast::<u32>().is_aligned() {
        return Err(wrong("the handle"));
    }
    // SAFETY: each handle begins with its kind.
    match unsafe { handle.cast::<u32>().read() } {
        // SAFETY: the kind is that of a template.
        bc_template::KIND => unsafe { drop_held::<bc_template>(handle) },
        // SAFETY: the kind is that of tools.
        bc_tools::KIND => unsafe { drop_held::<bc_tools>(handle) },
        // SAFETY: the kind is that of tokens.
        bc_tokens::KIND => unsafe { drop_held::<bc_tokens>(handle) },
        bc_parser::KIND => {
            // SAFETY: the kind is that of a parser. This fails if it is in use.
            unsafe { with(handle.cast::<bc_parser>(), |_| Ok(())) }?;
            // SAFETY: as above.
            unsafe { drop_held::<bc_parser>(handle) };
        }
        _ => return Err(wrong("the handle")),
    }
    Ok(())
}

/// # Safety
///
/// `make::<O>` made the handle, and nothing uses it any more.
unsafe fn drop_held<O: Opaque>(handle: *mut c_void) {
    // SAFETY: as above.
    let mut held: Box<Held<O::Value>> = unsafe { Box::from_raw(handle.cast()) };
    held.kind = 0;
    drop(held);
}
