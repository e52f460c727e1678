//! How much a template may do before it is taken for hostile.
//!
//! The engine counts instructions and nesting; what happens inside a filter or an operator is bounded here.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use minijinja::Value;

use super::python::{Result, error};

/// Instructions of the engine. Ten thousand are enough for the longest of ordinary conversations.
pub(crate) const FUEL: u64 = 5_000_000;
/// Nested macro calls and loops; a macro call costs several.
pub(crate) const RECURSION: usize = 500;
/// Bytes of a render, and of any string on the way to it.
pub(crate) const MAX_TEXT: usize = 32 << 20;
/// Namespaces that one render may make.
pub(crate) const MAX_NAMESPACES: usize = 100_000;
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

/// Work that filters, methods and operators may do, in values and stretches of text touched.
const MAX_WORK: usize = 30_000_000;
/// The longest a render may take.
const MAX_TIME: Duration = Duration::from_secs(10);

/// Measures the work of one render.
#[derive(Debug)]
pub(crate) struct Meter {
    started: Instant,
    work: AtomicUsize,
}

impl Meter {
    pub(crate) fn new(started: Instant) -> Self {
        Self { started, work: AtomicUsize::new(0) }
    }

    /// Counts what an operation had to touch.
    pub(crate) fn charge(&self, values: &[Value]) -> Result<()> {
        self.charge_units(values.iter().map(weight).sum())
    }

    /// Counts text that went through a value.
    pub(crate) fn charge_bytes(&self, bytes: usize) -> Result<()> {
        self.charge_units(bytes / 16)
    }

    fn charge_units(&self, touched: usize) -> Result<()> {
        let before = self.work.fetch_add(touched + 1, Ordering::Relaxed);
        if before + touched > MAX_WORK {
            return Err(error("the template does too much work"));
        }
        // Looking at the clock costs more than most operations.
        if (before ^ (before + touched + 1)) >> 12 != 0 && self.started.elapsed() > MAX_TIME {
            return Err(error(format!("the template ran for more than {} seconds", MAX_TIME.as_secs())));
        }
        Ok(())
    }
}

fn weight(value: &Value) -> usize {
    match value.as_object() {
        Some(_) => value.len().unwrap_or(1),
        None => value.as_str().map_or(0, str::len) / 16,
    }
}
