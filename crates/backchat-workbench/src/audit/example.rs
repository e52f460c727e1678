//! The smallest output of a cause; the choice does not depend on the order of the outputs.

use backchat_core::json::{self, Value};

/// A row of a log, as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The number of its line, from 1.
    pub line: u64,
    /// The length of its output, in bytes.
    pub length: usize,
    /// The line.
    pub row: Box<[u8]>,
}

impl Example {
    /// The row. One that was parsed is JSON.
    pub fn value(&self) -> Value {
        std::str::from_utf8(&self.row).ok().and_then(|row| json::read(row).ok()).unwrap_or_default()
    }

    /// Whether a row is a smaller example than this one. Of two outputs of one length it is the first in the log.
    pub fn is_larger_than(&self, line: u64, length: usize) -> bool {
        (length, line) < (self.length, self.line)
    }
}
