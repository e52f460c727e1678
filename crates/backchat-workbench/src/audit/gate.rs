//! Gates: how many outputs may have a problem.

use std::str::FromStr;

use super::tally::Tally;
use backchat_parser::parser::ProblemKind;

/// A limit for the outputs with a kind of problem: `malformed=0`, `any=2%`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gate {
    /// The kind; every one if absent.
    pub kind: Option<ProblemKind>,
    /// The limit.
    pub limit: Limit,
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
        let outputs = self.kind.map_or(tally.with_problems, |kind| tally.of_kind(kind));
        let is_within = match self.limit {
            Limit::Outputs(most) => outputs <= most,
            Limit::Percent(most) => tally.share(outputs) * 100.0 <= most,
        };
        (!is_within).then_some(outputs)
    }

    /// The name of the kind, or `any`.
    pub fn name(&self) -> &'static str {
        self.kind.map_or("any", ProblemKind::as_str)
    }
}

impl FromStr for Gate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, limit) = text.split_once('=').ok_or("expected KIND=N or KIND=P%")?;
        let kind = match name {
            "any" => None,
            name => Some(kind(name)?),
        };
        let limit = match limit.strip_suffix('%') {
            Some(percent) => percent.parse().ok().filter(|percent| (0.0..=100.0).contains(percent)).map(Limit::Percent),
            None => limit.parse().ok().map(Limit::Outputs),
        };
        Ok(Self { kind, limit: limit.ok_or("the limit is a number of outputs, or a percentage such as 0.5%")? })
    }
}

fn kind(name: &str) -> Result<ProblemKind, String> {
    let known = || ProblemKind::ALL.iter().filter(|kind| **kind != ProblemKind::More);
    known().find(|kind| kind.as_str() == name).copied().ok_or_else(|| {
        let names: Vec<&str> = known().map(|kind| kind.as_str()).collect();
        format!("there is no problem `{}`; the problems are any, {}", name.escape_debug(), names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_is_a_kind_and_a_limit() {
        let malformed = Some(ProblemKind::Malformed);
        assert_eq!("malformed=3".parse(), Ok(Gate { kind: malformed, limit: Limit::Outputs(3) }));
        assert_eq!("any=0.5%".parse(), Ok(Gate { kind: None, limit: Limit::Percent(0.5) }));
        for (text, says) in [
            ("malformed", "expected KIND=N"),
            ("more=1", "there is no problem `more`"),
            ("malforme=1", "the problems are any, malformed, "),
            ("any=-1", "the limit is"),
            ("any=101%", "the limit is"),
            ("any=NaN%", "the limit is"),
        ] {
            let error = text.parse::<Gate>().unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
