//! The result of a hunt.

use crate::derive::proof::verdict::{Branching, Failure, Verdict};
use backchat_core::diagnostic::counted;
use backchat_core::json::Value;

/// How many conversations to try, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hunt {
    pub conversations: usize,
    /// The same seed gives the same conversations.
    pub seed: u64,
}

/// What a hunt found. `attempts` = `read` + `lost` + `excused` + `misread` + `refused`.
#[derive(Clone, Debug, PartialEq)]
pub struct Hunted {
    pub seed: u64,
    /// How many conversations were to be tried, and how many were.
    pub wanted: usize,
    pub attempts: usize,
    /// How many the chat template refused, or showed only in part.
    pub refused: usize,
    /// How many parsed back exactly.
    pub read: usize,
    /// How many lost what the wire format cannot carry.
    pub lost: usize,
    /// How many were misread and contain a delimiter of the draft, or what a loss of the proof names.
    pub excused: usize,
    /// How many were misread and refute the proof.
    pub misread: usize,
    /// One of them for each cause, as small as it could be made.
    pub failures: Vec<Failure>,
    /// The conditions that the conversations of the proof take, and those with the ones of the hunt.
    pub(in crate::derive) before: Branching,
    pub(in crate::derive) after: Branching,
    /// Why the hunt ended before all conversations were tried, if it did.
    pub ended: Option<&'static str>,
}

impl Hunted {
    pub(super) fn new(hunt: Hunt) -> Self {
        let (before, after) = Default::default();
        Self {
            seed: hunt.seed,
            wanted: hunt.conversations,
            attempts: 0,
            refused: 0,
            read: 0,
            lost: 0,
            excused: 0,
            misread: 0,
            failures: Vec::new(),
            before,
            after,
            ended: None,
        }
    }

    /// The result if the proof itself does not hold: nothing else was tried.
    pub(in crate::derive) fn of_proof(hunt: Hunt, verdict: Verdict) -> Self {
        Self {
            attempts: verdict.cases,
            read: verdict.passed,
            lost: verdict.lost(),
            misread: verdict.failed(),
            after: verdict.branching,
            ended: verdict.ended,
            failures: verdict.failures,
            ..Self::new(hunt)
        }
    }

    /// Whether a conversation refutes the proof.
    pub fn refutes(&self) -> bool {
        !self.failures.is_empty()
    }

    /// How many conversations were rendered and parsed back.
    pub fn tried(&self) -> usize {
        self.attempts - self.refused
    }

    /// The result in one line.
    pub fn headline(&self) -> String {
        let tried = self.tried();
        let result = match self.misread {
            0 => format!("hunt: none of {} refutes the proof", counted(tried, "conversation")),
            misread => {
                format!("refuted by the hunt: {misread} of {} come back differently", counted(tried, "conversation"))
            }
        };
        match self.ended {
            Some(why) => format!("{result}; it ended after {} of {}: {why}", self.attempts, self.wanted),
            None => result,
        }
    }

    /// What the conversations were, and what they reached.
    pub fn details(&self) -> Vec<String> {
        let Self { seed, refused, read, lost, excused, before, after, .. } = self;
        let mut lines = vec![format!("{read} parse back exactly (seed {seed})")];
        if *lost > 0 {
            lines.push(format!("{lost} lose what the wire format cannot carry"));
        }
        if *excused > 0 {
            lines.push(format!(
                "{excused} contain a delimiter of the draft, or what a loss of the proof names, and are misread"
            ));
        }
        if *refused > 0 {
            lines.push(format!("{refused} more were refused by the chat template, or shown only in part"));
        }
        if after.conditions > 0 {
            lines.push(format!(
                "conditions taken both ways: {} of {} ({} by the proof alone)",
                after.both, after.conditions, before.both
            ));
        }
        lines
    }

    /// The machine-readable result.
    pub fn to_value(&self) -> Value {
        Value::from([
            ("seed", self.seed.to_string().into()),
            ("wanted", self.wanted.into()),
            ("tried", self.tried().into()),
            ("read", self.read.into()),
            ("lost", self.lost.into()),
            ("excused", self.excused.into()),
            ("misread", self.misread.into()),
            ("refused", self.refused.into()),
            ("conditions", self.after.counts()),
            ("failures", Value::List(self.failures.iter().map(Failure::to_value).collect())),
            ("ended_early", self.ended.map(Value::from).unwrap_or_default()),
        ])
    }
}
