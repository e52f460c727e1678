//! Bounds a render in work, time, output and the size of values, so that a hostile template fails instead of hanging.
//!
//! The evaluator counts steps and nesting; this file counts the work inside filters and operators, for the current
//! render of each thread. Code that visits values one by one, however deep inside a comparison or a sort, charges as it
//! goes with [`spend`], and stops with any result once that fails. The operation as a whole ends in [`charge`] or
//! [`check`], which return the error. A render of an examination also stops at the end of its `budget`.

use std::cell::Cell;
use std::time::Duration;

use minijinja::Value;

use super::budget;
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
    if bytes > MAX_TEXT { Err(error(Exceeded::Text.describe())) } else { Ok(()) }
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
/// The longest a render may take, in processor time. No render should: its work is counted.
const MAX_TIME: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug)]
pub(crate) enum Exceeded {
    Steps,
    Work,
    Time,
    /// The budget of the examination.
    Budget,
    /// An intermediate string.
    Text,
    Output,
}

impl Exceeded {
    fn describe(self) -> &'static str {
        match self {
            Self::Steps => "the template runs for too long",
            Self::Work => "the template does too much work",
            Self::Time => "the template ran for more than 10 seconds",
            Self::Budget => budget::ended().unwrap_or(budget::SPENT),
            Self::Text => "a string grew beyond 32 MiB",
            Self::Output => "the render grew beyond 32 MiB",
        }
    }
}

// As the messages say.
const _: () = assert!(MAX_TEXT == 32 << 20 && MAX_TIME.as_secs() == 10);

/// What the current render has done so far.
struct Meter {
    /// Set at the first look at the clock: that costs as much as a small render.
    started: Cell<Option<Stopwatch>>,
    steps: Cell<u64>,
    work: Cell<usize>,
    printed: Cell<usize>,
    exceeded: Cell<Option<Exceeded>>,
}

thread_local! {
    // Comparisons and lookups run inside minijinja's values, which pass nothing along.
    static METER: Meter = const {
        Meter {
            started: Cell::new(None),
            steps: Cell::new(0),
            work: Cell::new(0),
            printed: Cell::new(0),
            exceeded: Cell::new(None),
        }
    };
}

impl Meter {
    /// The work of the render in the unit of budgets.
    fn spent(&self) -> u64 {
        self.steps.get() + self.work.get() as u64
    }

    fn check_clock(&self) {
        let Some(started) = self.started.get() else { return self.started.set(Some(Stopwatch::start())) };
        if started.elapsed() > MAX_TIME {
            self.record(Exceeded::Time);
        }
    }

    fn check_budget(&self) {
        if budget::is_interrupted() || budget::left().is_some_and(|left| self.spent() > left) {
            self.record(Exceeded::Budget);
        }
    }

    /// Keeps the first limit that is exceeded.
    fn record(&self, limit: Exceeded) {
        self.exceeded.set(self.exceeded.get().or(Some(limit)));
    }

    /// Charges work; false once a limit is exceeded.
    fn spend(&self, units: usize) -> bool {
        let before = self.work.get();
        let now = before.saturating_add(units);
        self.work.set(now);
        if now > MAX_WORK {
            self.record(Exceeded::Work);
        } else if (before ^ now) >> 12 != 0 {
            // Reading the clock costs more than most operations.
            self.check_clock();
            self.check_budget();
        }
        self.exceeded.get().is_none()
    }
}

/// Starts measuring a render on this thread. It fails at once if its examination has ended.
pub(crate) fn begin() {
    METER.with(|meter| {
        meter.started.set(None);
        meter.steps.set(0);
        meter.work.set(0);
        meter.printed.set(0);
        meter.exceeded.set(budget::ended().map(|_| Exceeded::Budget));
    });
}

/// Stops measuring a render of that many steps and bytes, and charges its examination.
pub(crate) fn end(steps: u64, bytes: usize) {
    METER.with(|meter| {
        meter.steps.set(steps);
        budget::settle(meter.spent() + bytes as u64, meter.exceeded.get().map(Exceeded::describe));
    });
}

pub(crate) fn is_exceeded() -> bool {
    METER.with(|meter| meter.exceeded.get()).is_some()
}

/// Charges work in units of one value or [`BYTES_PER_UNIT`] of text; false once a limit is exceeded.
pub(crate) fn spend(units: usize) -> bool {
    METER.with(|meter| meter.spend(units))
}

/// Whether more may be appended to this text; charges one unit.
pub(crate) fn has_room(text: &str) -> bool {
    if text.len() > MAX_TEXT {
        record(Exceeded::Text);
    }
    spend(1)
}

/// Records how many steps the render has taken, and fails if it may take no more.
pub(crate) fn check_steps(steps: u64) -> Result<()> {
    METER.with(|meter| {
        meter.steps.set(steps);
        meter.check_clock();
        meter.check_budget();
    });
    check()
}

fn record(limit: Exceeded) {
    METER.with(|meter| meter.record(limit));
}

/// Fails because of a limit that the caller measures.
pub(crate) fn exceed(limit: Exceeded) -> Result<()> {
    record(limit);
    check()
}

/// Fails if a limit has been exceeded.
pub(crate) fn check() -> Result<()> {
    METER.with(|meter| meter.exceeded.get()).map_or(Ok(()), |limit| Err(error(limit.describe())))
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
    METER.with(|meter| {
        meter.printed.set(meter.printed.get().saturating_add(text.len()));
        if meter.printed.get() > MAX_PRINTED {
            meter.record(Exceeded::Text);
        }
    });
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
