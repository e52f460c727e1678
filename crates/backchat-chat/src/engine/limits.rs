//! Bounds a render in work, time, output and the size of values, so that a hostile template fails instead of hanging.
//!
//! The evaluator counts steps and nesting; this file counts the work inside filters and operators, for the current
//! render of each thread. Code that visits values one by one, however deep inside a comparison or a sort, charges as it
//! goes with [`spend`], and stops with any result once that fails. The operation as a whole ends in [`charge`] or
//! [`check`], which return the error.

use std::cell::Cell;
use std::time::Duration;

use minijinja::Value;

use crate::engine::clock::Stopwatch;
use crate::values::{Result, error};

/// Bytes of a template's source: compiling takes about eighty times as much memory. Real ones are a tenth as long.
pub(crate) const MAX_SOURCE: usize = 1 << 20;
/// Statements, loop iterations and operations. The longest ordinary conversations need ten thousand.
pub(crate) const STEPS: u64 = 5_000_000;
/// Nested statements, expressions and calls; a macro call costs several levels. Unoptimized code needs several times
/// the stack, and a thread has 2 MB.
pub(crate) const LEVELS: usize = if cfg!(debug_assertions) { 180 } else { 700 };
/// Bytes of a render, and of any intermediate string.
pub(crate) const MAX_TEXT: usize = 32 << 20;
/// Bytes of a format of `strftime_now`, each of which may write 256.
pub(crate) const MAX_TIME_FORMAT: usize = 1 << 16;
/// Namespaces that one render may create.
pub(crate) const MAX_NAMESPACES: usize = 100_000;
/// Calls of macros that declare macros: the variables of such a call live until the render ends.
pub(crate) const MAX_ACTIVATIONS: usize = 100_000;
/// Elements of a list made by an operator.
pub(crate) const MAX_ITEMS: usize = 1 << 20;

/// Refuses a string that would be too long.
pub(crate) fn size(bytes: usize) -> Result<()> {
    if bytes > MAX_TEXT { Err(error(format!("a string grew beyond {} MiB", MAX_TEXT >> 20))) } else { Ok(()) }
}

/// Refuses a list that would be too long.
pub(crate) fn items(count: usize) -> Result<()> {
    if count > MAX_ITEMS { Err(error(format!("a list grew beyond {MAX_ITEMS} items"))) } else { Ok(()) }
}

/// Work that filters, methods and operators may do, in values and pieces of text touched.
const MAX_WORK: usize = 30_000_000;
/// Bytes of text that count like one value.
const BYTES_PER_UNIT: usize = 16;
/// Bytes of text that count like one value if they are skipped, which is much faster than reading them.
const SKIPPED_BYTES_PER_UNIT: usize = 256;
/// Variables that cost as much to unset as one value to read.
const VARIABLES_PER_UNIT: usize = 32;
/// Bytes that a render may print, including captures of blocks and macros.
const MAX_PRINTED: usize = 4 * MAX_TEXT;
/// The longest a render may take, in processor time.
const MAX_TIME: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug)]
pub(crate) enum Exceeded {
    Steps,
    Work,
    Time,
    /// The budget of all renders together.
    Budget,
    /// An intermediate string.
    Text,
    Output,
}

thread_local! {
    static STARTED: Cell<Option<Stopwatch>> = const { Cell::new(None) };
    static WORK: Cell<usize> = const { Cell::new(0) };
    static PRINTED: Cell<usize> = const { Cell::new(0) };
    static EXCEEDED: Cell<Option<Exceeded>> = const { Cell::new(None) };
    /// The remaining budget for all renders of this thread, if it is bounded.
    static BUDGET: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// Bounds all later renders of this thread together, in processor time: once it is spent, a render fails at once.
pub fn set_budget(all: Duration) {
    BUDGET.set(Some(all));
}

/// Whether the renders of this thread have used up their budget.
pub fn is_budget_spent() -> bool {
    BUDGET.get() == Some(Duration::ZERO)
}

/// Starts measuring a render on this thread.
pub(crate) fn begin() {
    // Without a budget the first read of the clock starts it: reading costs as much as a small render.
    STARTED.set(BUDGET.get().map(|_| Stopwatch::start()));
    WORK.set(0);
    PRINTED.set(0);
    EXCEEDED.set(is_budget_spent().then_some(Exceeded::Budget));
}

/// Stops measuring a render, and subtracts its time from the budget.
pub(crate) fn end() {
    if let (Some(started), Some(left)) = (STARTED.take(), BUDGET.get()) {
        BUDGET.set(Some(left.saturating_sub(started.elapsed())));
    }
}

pub(crate) fn is_exceeded() -> bool {
    EXCEEDED.get().is_some()
}

/// Charges work in units of one value or [`BYTES_PER_UNIT`] of text; false once a limit is exceeded.
pub(crate) fn spend(units: usize) -> bool {
    let before = WORK.get();
    let now = before.saturating_add(units);
    WORK.set(now);
    if now > MAX_WORK {
        record(Exceeded::Work);
    } else if (before ^ now) >> 12 != 0 {
        // Reading the clock costs more than most operations.
        check_clock();
    }
    !is_exceeded()
}

/// Whether more may be appended to this text; charges one unit.
pub(crate) fn has_room(text: &str) -> bool {
    if text.len() > MAX_TEXT {
        record(Exceeded::Text);
    }
    spend(1)
}

/// Records whether the render has used up its time.
pub(crate) fn check_clock() {
    let Some(started) = STARTED.get() else { return STARTED.set(Some(Stopwatch::start())) };
    let elapsed = started.elapsed();
    if BUDGET.get().is_some_and(|left| elapsed > left) {
        record(Exceeded::Budget);
    } else if elapsed > MAX_TIME {
        record(Exceeded::Time);
    }
}

/// Keeps the first limit that is exceeded.
fn record(limit: Exceeded) {
    EXCEEDED.set(EXCEEDED.get().or(Some(limit)));
}

/// Fails because of a limit that the caller measures.
pub(crate) fn exceed(limit: Exceeded) -> Result<()> {
    record(limit);
    check()
}

/// Fails if a limit has been exceeded.
pub(crate) fn check() -> Result<()> {
    match EXCEEDED.get() {
        None => Ok(()),
        Some(Exceeded::Steps) => Err(error("the template runs for too long")),
        Some(Exceeded::Work) => Err(error("the template does too much work")),
        Some(Exceeded::Time) => Err(error(format!("the template ran for more than {} seconds", MAX_TIME.as_secs()))),
        Some(Exceeded::Budget) => Err(error("the time budget for rendering this template is used up")),
        Some(Exceeded::Text) => size(usize::MAX),
        Some(Exceeded::Output) => Err(error(format!("the render grew beyond {} MiB", MAX_TEXT >> 20))),
    }
}

/// Charges work as [`spend`] does; fails once a limit is exceeded.
pub(crate) fn charge_units(units: usize) -> Result<()> {
    spend(units);
    check()
}

/// Charges for the values that an operation touches, but not for values nested in them.
pub(crate) fn charge(values: &[Value]) -> Result<()> {
    charge_units(values.iter().map(weight).sum::<usize>() + 1)
}

/// Charges for the result of an operation.
pub(crate) fn charged(result: Result<Value>) -> Result<Value> {
    let result = result?;
    charge(std::slice::from_ref(&result))?;
    Ok(result)
}

/// Charges for the variables of a scope or function on entry, if there are enough to matter.
pub(crate) fn charge_variables(count: usize) -> Result<()> {
    if count < VARIABLES_PER_UNIT { Ok(()) } else { charge_units(count / VARIABLES_PER_UNIT) }
}

/// Charges for text that an operation reads or writes.
pub(crate) fn charge_bytes(bytes: usize) -> Result<()> {
    charge_units(bytes / BYTES_PER_UNIT + 1)
}

/// Charges for text that is printed, to the output or into a captured block.
pub(crate) fn charge_printed(text: &str) -> Result<()> {
    PRINTED.set(PRINTED.get().saturating_add(text.len()));
    if PRINTED.get() > MAX_PRINTED {
        record(Exceeded::Text);
    }
    charge_bytes(text.len())
}

/// Charges for text that is read as a whole, as in a comparison; false once a limit is exceeded.
pub(crate) fn spend_text(text: &str) -> bool {
    spend(text.len() / BYTES_PER_UNIT + 1)
}

/// Charges for text that is looked up as a key, if it is long enough to matter; false once a limit is exceeded.
pub(crate) fn spend_key(text: &str) -> bool {
    text.len() < SKIPPED_BYTES_PER_UNIT || spend_text(text)
}

/// Charges for text that is skipped to reach a place in it.
pub(crate) fn charge_skipped(bytes: usize) -> Result<()> {
    charge_units(bytes / SKIPPED_BYTES_PER_UNIT + 1)
}

fn weight(value: &Value) -> usize {
    match value.as_object() {
        Some(_) => value.len().unwrap_or(1),
        None => value.as_str().map_or(0, str::len) / BYTES_PER_UNIT,
    }
}
