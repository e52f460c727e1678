//! What an audit keeps of one output: the cause of its problems, and what is counted with it. Any thread can observe an
//! output; the counts belong to one.

use std::collections::BTreeSet;

use super::cause::{Cause, OutputCause, in_words, root};
use crate::replay::UnreadMarker;
use backchat_core::json::{self, Value};
use backchat_parser::parser::{Problem, ProblemKind};

/// An output that was read.
#[derive(Clone, Copy, Debug)]
pub struct Output<'o> {
    /// Its line in the log, and the number of the line.
    pub row: (&'o [u8], u64),
    /// The length of its text in bytes.
    pub length: usize,
    /// Its model or its server.
    pub group: &'o str,
    /// Whether it ended at a token limit.
    pub is_cut: bool,
    /// Whether it ends with a marker, so that nothing cut it off.
    pub is_complete: bool,
    /// What went wrong in it.
    pub problems: &'o [Problem],
    /// Whether the repair of the template reads it without these problems.
    pub is_repaired: bool,
    /// The marker in it that is read as text. One that looks like an opener explains closers that are left over.
    pub unread: Option<&'o UnreadMarker>,
}

/// What is counted of an output.
#[derive(Clone, Debug)]
pub struct Observed {
    pub(super) group: String,
    pub(super) is_cut: bool,
    pub(super) kinds: BTreeSet<ProblemKind>,
    pub(super) found: Option<Found>,
}

/// The cause of an output's problems.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub cause: Cause,
    /// The problems that the cause does not explain.
    pub also: BTreeSet<String>,
    /// Whether a marker that is read as text is the cause, and whether the template has one like it.
    pub unread: Option<Likeness>,
    pub example: Example,
}

/// The smallest output with a cause, as a row of the log; of two of one length the first.
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
}

/// Whether a marker that is read as text looks like one of the template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Likeness {
    Near,
    Unknown,
}

impl Observed {
    /// What is counted of an output.
    pub fn new(output: Output<'_>) -> Self {
        Self {
            group: output.group.to_owned(),
            is_cut: output.is_cut,
            kinds: output.problems.iter().map(|problem| problem.kind).collect(),
            found: match root(output.problems).filter(|root| !is_left_over(root, output.unread)) {
                Some(root) => Some(Found::of(root, output)),
                None => Found::unread(output),
            },
        }
    }

    /// The cause of its problems, if it has some.
    pub fn cause(&self) -> Option<&Cause> {
        self.found.as_ref().map(|found| &found.cause)
    }
}

impl Found {
    /// The cause of an output whose problems this one explains.
    fn of(root: &Problem, output: Output<'_>) -> Self {
        let cause_of = |problem: &Problem| {
            let cause = OutputCause::of(problem);
            OutputCause { is_cut: cause.is_cut && !output.is_complete, ..cause }
        };
        let own = cause_of(root);
        let others = output.problems.iter().filter(|other| output.is_repaired || cause_of(other) != own);
        let also = others.map(in_words).collect();
        let cause = if output.is_repaired { Cause::Template } else { Cause::Output(own) };
        Self { cause, also, unread: None, example: example(output) }
    }

    /// The cause of an output without a problem, or with problems that a near marker explains.
    fn unread(output: Output<'_>) -> Option<Self> {
        let UnreadMarker { written, meant, .. } = output.unread?.clone();
        let likeness = if meant.is_some() { Likeness::Near } else { Likeness::Unknown };
        let cause = if output.is_repaired { Cause::Template } else { Cause::UnreadMarker { written, meant } };
        let also = output.problems.iter().map(in_words).collect();
        Some(Self { cause, also, unread: Some(likeness), example: example(output) })
    }
}

fn example(output: Output<'_>) -> Example {
    let (row, line) = output.row;
    Example { line, length: output.length, row: row.into() }
}

/// Whether a problem is the closer of a region whose misspelt opener opened nothing.
fn is_left_over(problem: &Problem, unread: Option<&UnreadMarker>) -> bool {
    let meant = unread.and_then(|unread| unread.meant.as_ref());
    problem.kind == ProblemKind::StrayMarker
        && meant.is_some_and(|meant| !meant.closes && problem.field.as_ref() == Some(&meant.field))
}
