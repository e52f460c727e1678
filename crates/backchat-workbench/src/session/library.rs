//! The list of outputs: which one is open, what was read of it, and the verdict on each. Plain data; `opening` fills
//! it.

use std::time::Instant;

use super::background::Background;
use super::finding::Inspection;
use super::material::{Material, Proof};
use super::outputs::Outputs;
use super::reading::Reading;
use super::verdict::Verdict;
use crate::input::Problem;
use backchat_parser::template::Template;

/// The outputs of a session.
pub struct Library {
    /// What can be read and done.
    pub(super) outputs: Box<dyn Outputs>,
    /// The names of the outputs.
    pub names: Vec<String>,
    /// The open output, counted from 0.
    pub output: usize,
    /// What was read of it; the last state that could be read.
    pub material: Material,
    /// Why the files cannot be shown as they are now.
    pub problem: Option<Problem>,
    /// The verdict on each output, in stable mode, as far as they were judged.
    pub verdicts: Vec<Option<Verdict>>,
    /// The verdict on the answer that is shown.
    pub(super) shown_verdict: Option<Verdict>,
    /// The proof of the template.
    pub(super) prover: Background<Template, Proof>,
    /// What is to be said about the template.
    pub(super) inspection: Inspection,
    /// Whether more of the open output may arrive.
    pub is_awaited: bool,
    /// The open output while it is read, if it is large.
    pub(super) reading: Option<Reading>,
    /// When more of it is read at the earliest.
    pub(super) rest_until: Option<Instant>,
}

impl Library {
    /// Whether only a part of the open output is shown.
    pub fn is_partial(&self) -> bool {
        self.is_awaited || self.reading.is_some()
    }

    /// How much of the open output was read, in percent, while it is read.
    pub fn percent_read(&self) -> Option<usize> {
        self.reading.as_ref().map(Reading::percent)
    }
}
