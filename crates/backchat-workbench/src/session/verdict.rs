//! Judges an output: whether its message is the expected one, or at least looks right.

use super::material::Material;
use crate::replay::{Outcome, Recording, Run};
use backchat_parser::parser::Mode;

/// The judgment of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It gives the expected message.
    Passed,
    /// It gives another one.
    Failed,
    /// It gives another one, and a fixture allows that.
    Excused,
    /// Nothing is expected; every region gave a value, nothing is missing, and no event looks wrong.
    InOrder,
    /// Nothing is expected, and an event looks wrong or a required field is missing.
    Odd,
    /// It cannot be read.
    Broken,
}

impl Verdict {
    /// It in a word or two.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Passed => "passed",
            Verdict::Failed => "failed",
            Verdict::Excused => "allowed",
            Verdict::InOrder => "in order",
            Verdict::Odd => "looks wrong",
            Verdict::Broken => "unreadable",
        }
    }

    /// It as a sign.
    pub fn mark(self) -> &'static str {
        match self {
            Verdict::Passed | Verdict::Excused => "✓",
            Verdict::InOrder => "·",
            Verdict::Odd => "!",
            Verdict::Failed | Verdict::Broken => "✗",
        }
    }
}

/// The verdict on the answer of the stable mode.
pub(super) fn judge(material: &Material) -> Verdict {
    let run = Run {
        template: &material.template,
        prefix: &material.prefix,
        mode: Mode::Stable,
        tools: material.tools.clone(),
        recovery: material.recovery,
    };
    let recording = Recording::new(&run, [material.output.as_str()]);
    recording.map_or(Verdict::Broken, |recording| verdict_of(material, &recording))
}

/// The verdict on a recorded answer.
pub(super) fn verdict_of(material: &Material, recording: &Recording) -> Verdict {
    let is_finished = matches!(recording.outcome(), Outcome::Finished { .. });
    match &material.expected {
        Some(expected) if is_finished && recording.message(recording.end()) == *expected => Verdict::Passed,
        Some(_) if material.is_excused => Verdict::Excused,
        None if !recording.is_in_order() || !recording.suspicious_events().is_empty() => Verdict::Odd,
        None => Verdict::InOrder,
        Some(_) => Verdict::Failed,
    }
}
