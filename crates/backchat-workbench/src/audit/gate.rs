//! Gates: how many outputs may have a problem.

use std::str::FromStr;

use super::cause::{NEAR_MARKER, UNKNOWN_MARKER};
use super::tally::Tally;
use backchat_parser::parser::ProblemKind;

/// A limit for the outputs with a kind of problem: `malformed=0`, `near-marker=3`, `any=2%`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gate {
    /// The problems that count.
    pub counts: Counts,
    /// The limit.
    pub limit: Limit,
}

/// The problems that a gate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    Any,
    Kind(ProblemKind),
    NearMarkers,
    UnknownMarkers,
}

/// How many outputs may have it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// A number of outputs.
    Outputs(u64),
    /// A part of all outputs, in percent.
    Percent(f64),
}

impl Gate {
    /// How many outputs have the problem, if those are more than the limit.
    pub fn exceeded(&self, tally: &Tally) -> Option<u64> {
        let outputs = match self.counts {
            Counts::Any => tally.with_problems,
            Counts::Kind(kind) => tally.of_kind(kind),
            Counts::NearMarkers => tally.near_markers,
            Counts::UnknownMarkers => tally.unknown_markers,
        };
        let is_within = match self.limit {
            Limit::Outputs(most) => outputs <= most,
            Limit::Percent(most) => tally.share(outputs) * 100.0 <= most,
        };
        (!is_within).then_some(outputs)
    }

    /// The name of the kind, or `any`.
    pub fn name(&self) -> &'static str {
        match self.counts {
            Counts::Any => "any",
            Counts::Kind(kind) => kind.as_str(),
            Counts::NearMarkers => NEAR_MARKER,
            Counts::UnknownMarkers => UNKNOWN_MARKER,
        }
    }
}

impl FromStr for Gate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, limit) = text.split_once('=').ok_or("expected KIND=N or KIND=P%")?;
        let counts = match name {
            "any" => Counts::Any,
            NEAR_MARKER => Counts::NearMarkers,
            UNKNOWN_MARKER => Counts::UnknownMarkers,
            name => Counts::Kind(kind(name)?),
        };
        let limit = match limit.strip_suffix('%') {
            Some(percent) => percent.parse().ok().filter(|percent| (0.0..=100.0).contains(percent)).map(Limit::Percent),
            None => limit.parse().ok().map(Limit::Outputs),
        };
        Ok(Self { counts, limit: limit.ok_or("the limit is a number of outputs, or a percentage such as 0.5%")? })
    }
}

fn kind(name: &str) -> Result<ProblemKind, String> {
    let known = || ProblemKind::ALL.iter().filter(|kind| **kind != ProblemKind::More);
    let is_cause = |kind: &&ProblemKind| name.strip_prefix(kind.as_str()).is_some_and(|rest| rest.starts_with('-'));
    known().find(|kind| kind.as_str() == name).copied().ok_or_else(|| {
        if let Some(kind) = known().find(is_cause) {
            let name = name.escape_debug();
            return format!("`{name}` is a cause, and a limit is for a kind of problem: {}=N", kind.as_str());
        }
        let names: Vec<&str> = known().map(|kind| kind.as_str()).collect();
        format!(
            "there is no problem `{}`; the problems are any, {}, {NEAR_MARKER}, {UNKNOWN_MARKER}",
            name.escape_debug(),
            names.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_is_a_kind_and_a_limit() {
        for (text, counts, limit) in [
            ("malformed=3", Counts::Kind(ProblemKind::Malformed), Limit::Outputs(3)),
            ("any=0.5%", Counts::Any, Limit::Percent(0.5)),
            ("near-marker=0", Counts::NearMarkers, Limit::Outputs(0)),
            ("unknown-marker=0", Counts::UnknownMarkers, Limit::Outputs(0)),
        ] {
            let gate = Gate { counts, limit };
            assert_eq!((text.parse(), text.starts_with(gate.name())), (Ok(gate), true), "{text}");
        }
        for (text, says) in [
            ("malformed", "expected KIND=N"),
            ("more=1", "there is no problem `more`"),
            ("malforme=1", "the problems are any, malformed, "),
            (
                "unclosed-thinking-cut=1%",
                "`unclosed-thinking-cut` is a cause, and a limit is for a kind of problem: unclosed=N",
            ),
            ("any=-1", "the limit is"),
            ("any=101%", "the limit is"),
            ("any=NaN%", "the limit is"),
        ] {
            let error = text.parse::<Gate>().unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
