//! Counts the rows of a log on one thread, and returns its tally at the end.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use crate::cli::parse::{Answerer, Doubts, ParseOptions};
use crate::cli::rows::{Line, Outcome};
use backchat_core::json::Value;
use backchat_workbench::audit::{Output, Tally};

/// What one thread has counted.
pub struct Worker<'a> {
    answerer: Answerer<'a>,
    /// The key of a row whose values are counted separately.
    by: &'a str,
    tally: Tally,
    all: &'a Mutex<Tally>,
}

impl<'a> Worker<'a> {
    pub fn new(options: &'a ParseOptions, doubts: &'a Doubts, by: &'a str, all: &'a Mutex<Tally>) -> Self {
        Self { answerer: Answerer::new(options, doubts), by, tally: Tally::default(), all }
    }

    pub fn take(&mut self, line: &Line<'_>) -> Outcome {
        let borrowed = Line { number: line.number, bytes: Cow::Borrowed(&line.bytes) };
        match self.answerer.read(borrowed) {
            Ok(read) => {
                self.tally.add(Output {
                    row: (&line.bytes, line.number),
                    length: read.text.len(),
                    group: read.others.get(self.by).and_then(Value::as_str).unwrap_or_default(),
                    is_cut: read.others.get("finish_reason").and_then(Value::as_str) == Some("length"),
                    problems: &read.finished.problems,
                });
                Outcome::Answered
            }
            Err(error) => {
                self.tally.fail(line.number, &error.message);
                Outcome::Failed
            }
        }
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).merge(std::mem::take(&mut self.tally));
    }
}
