//! Observes the rows of a log on one thread; they are counted in the order of the log.

use std::borrow::Cow;

use crate::cli::parse::{Answerer, Doubts, ParseOptions};
use crate::cli::rows::{Line, RowState};
use backchat_core::json::Value;
use backchat_workbench::audit::{Observed, Output, is_gone};

/// How the rows of a log are read.
#[derive(Clone, Copy)]
pub struct RowReading<'a> {
    pub options: &'a ParseOptions,
    /// The same with the repaired template, if it needs a repair.
    pub repaired: Option<&'a ParseOptions>,
    pub doubts: &'a Doubts,
    /// The key of a row whose values are counted separately.
    pub by: &'a str,
    /// The cause whose rows are printed.
    pub rows: Option<&'a str>,
}

/// What an audit notes about a row: what is counted of its output, or its line and why it was not read.
pub type Noted = Result<Observed, (u64, String)>;

/// Reads rows on one thread.
pub struct Worker<'a> {
    reading: RowReading<'a>,
    answerer: Answerer<'a>,
    repaired: Option<Answerer<'a>>,
}

impl<'a> Worker<'a> {
    pub fn new(reading: RowReading<'a>) -> Self {
        let answerer = Answerer::new(reading.options, reading.doubts);
        let repaired = reading.repaired.map(|options| Answerer::new(options, reading.doubts));
        Self { reading, answerer, repaired }
    }

    /// Notes a row, and prints it if its cause was asked for.
    pub fn take(&mut self, line: &Line<'_>, out: &mut String, notes: &mut Vec<Noted>) -> RowState {
        let borrowed = || Line { number: line.number, bytes: Cow::Borrowed(&line.bytes) };
        let read = match self.answerer.read(borrowed()) {
            Ok(read) => read,
            Err(error) => {
                notes.push(Err((line.number, error.message)));
                return RowState::Failed;
            }
        };
        let problems = read.finished.problems.as_slice();
        let repaired = self.repaired.as_mut().filter(|_| !problems.is_empty() || read.unread.is_some());
        let then = repaired.and_then(|repaired| repaired.read(borrowed()).ok());
        let observed = Observed::new(Output {
            row: (&line.bytes, line.number),
            length: read.text.len(),
            group: read.others.get(self.reading.by).and_then(Value::as_str).unwrap_or_default(),
            is_complete: read.is_complete,
            is_cut: read.others.get("finish_reason").and_then(Value::as_str) == Some("length"),
            problems,
            unread: read.unread.as_ref(),
            is_repaired: then.is_some_and(|then| match problems {
                [] => then.unread.is_none() && then.finished.problems.is_empty(),
                problems => is_gone(problems, &then.finished.problems),
            }),
        });
        if let (Some(asked), Some(cause)) = (self.reading.rows, observed.cause())
            && cause.name() == asked
        {
            // A row that was read is text.
            out.push_str(&String::from_utf8_lossy(&line.bytes));
            out.push('\n');
        }
        notes.push(Ok(observed));
        RowState::Answered
    }
}
