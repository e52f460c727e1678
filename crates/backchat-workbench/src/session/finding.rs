//! What lint and the proof find about a template: its place, and the repair. Plain data; `inspecting` fills it.

use backchat_core::diagnostic::{Diagnostic, Fix};

use super::background::{Background, Task};
use crate::repair::Effect;

/// Something that is to be said about a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The words of lint, or of a repair that makes the proof better.
    pub said: Diagnostic,
    /// What its repair does to the conversations of the proof; none if that is not known.
    pub effect: Option<Effect>,
    /// The event at which it shows in the open output.
    pub event: Option<usize>,
    /// Whether its repair makes the open output give the expected message.
    pub settles: bool,
}

/// The id of what the proof finds; what lint finds has the id of its rule.
pub const PROOF: &str = "proof";

impl Finding {
    /// The repair.
    pub fn fix(&self) -> Option<&Fix> {
        self.said.fix.as_ref()
    }

    /// Whether it is about conversations that do not come back.
    pub fn is_proof(&self) -> bool {
        self.said.id == PROOF
    }

    /// It in one line.
    pub fn line(&self) -> String {
        match self.is_proof() {
            true => self.said.message.clone(),
            false => format!("{} {}", self.said.id, self.said.message),
        }
    }
}

/// The task that finds the repairs of a refuted template, and what those of lint do.
pub type RepairTask = Task<Vec<Finding>>;

/// A template as its file has it: the file and its text.
pub(super) type Written = (String, String);

/// The findings about the template of the open output.
#[derive(Default)]
pub(super) struct Inspection {
    /// What lint says, and then all of it with the effects of the repairs.
    pub lint: Background<Written, Vec<Finding>>,
    pub repairs: Background<Written, Vec<Finding>>,
    /// The findings, each at its event.
    pub findings: Vec<Finding>,
    /// How often others took their places.
    pub version: usize,
    /// The recording in which the events were looked up.
    pub of: Option<u64>,
}
