//! The results of reading deviating outputs: what a template tolerates, and what recovery policies do.

use backchat_core::diagnostic::shortened;
use backchat_core::json::{Object, Value};
use backchat_parser::parser::{Policies, RecoveryPolicy};

/// How many deviations a template tolerates, and which it does not.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Tolerance {
    /// How many deviating outputs were parsed.
    pub tried: usize,
    /// How many of them gave the right message.
    pub tolerated: usize,
    missed: Vec<Missed>,
}

/// A deviation that changes the message more than it should.
#[derive(Clone, Debug, PartialEq)]
struct Missed {
    what: String,
    count: usize,
    /// The shortest output that shows it.
    text: String,
}

impl Tolerance {
    /// The tolerance in one line; `None` if nothing was tried.
    pub fn describe(&self) -> Option<String> {
        let Self { tried, tolerated, missed } = self;
        let missed: Vec<String> = missed.iter().map(|missed| missed.what.clone()).collect();
        match missed.as_slice() {
            _ if *tried == 0 => None,
            [] => Some(format!("tolerates all {tried} deviations that were tried")),
            missed => Some(format!("tolerates {tolerated} of {tried} deviations; not: {}", missed.join(", "))),
        }
    }

    /// The shortest output that gives another message.
    pub(in crate::derive) fn example(&self) -> Option<&str> {
        self.missed.iter().map(|missed| missed.text.as_str()).min_by_key(|text| text.len())
    }

    pub(in crate::derive) fn to_value(&self) -> Value {
        let missed = self.missed.iter().map(|missed| {
            Value::from([
                ("deviation", missed.what.as_str().into()),
                ("count", missed.count.into()),
                ("text", missed.text.as_str().into()),
            ])
        });
        Value::from([
            ("tried", self.tried.into()),
            ("tolerated", self.tolerated.into()),
            ("not", Value::List(missed.collect())),
        ])
    }

    /// Adds an output that gives another message because of a deviation.
    pub(super) fn miss(&mut self, what: String, text: String) {
        match self.missed.iter_mut().find(|known| known.what == what) {
            Some(known) => {
                known.count += 1;
                if text.len() < known.text.len() {
                    known.text = text;
                }
            }
            None => self.missed.push(Missed { what, count: 1, text }),
        }
    }
}

/// The rounds of a proof that are about policies.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct PolicyRounds {
    /// How many conforming turns were read with every policy: with and without the stop token, and with text that mentions
    /// the closing markers.
    pub conforming: usize,
    /// How many of them have problems, and the shortest.
    pub with_problems: (usize, Option<String>),
    /// The policies that change conforming turns, each with the shortest turn.
    pub refused: Vec<(RecoveryPolicy, String)>,
    /// How many deviations were tried with their policies.
    pub deviations: usize,
    /// How many of them gave the right message.
    pub recovered: usize,
    /// Those that did not: the policy and the shortest text.
    pub missed: Vec<(RecoveryPolicy, String)>,
    /// The cuts, if they were tried.
    pub cuts: Option<Cuts>,
}

/// Turns cut at every character.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Cuts {
    /// How many cuts were tried.
    pub tried: usize,
    /// How many give, with every policy of `all`, a call that the whole turn does not have.
    pub added: usize,
    /// How many of these only lack arguments of a call of the whole turn.
    pub lacking: usize,
    /// The shortest of the others.
    pub example: Option<String>,
}

impl PolicyRounds {
    /// The policies that servers do not use.
    pub fn refused_policies(&self) -> Policies {
        self.refused.iter().map(|(policy, _)| *policy).collect()
    }

    /// The rounds in one line; `None` if nothing was tried.
    pub fn describe(&self) -> Option<String> {
        if self.conforming == 0 {
            return None;
        }
        let names = |list: &[(RecoveryPolicy, String)]| {
            list.iter().map(|(policy, _)| policy.as_str()).collect::<Vec<_>>().join(", ")
        };
        let mut line = match self.refused.as_slice() {
            [] => format!("policies change none of {} conforming turns", self.conforming),
            refused => format!("policies that change conforming turns: {}", names(refused)),
        };
        if self.deviations > 0 {
            line.push_str(&format!(", and read {} of {} deviations", self.recovered, self.deviations));
        }
        if !self.missed.is_empty() {
            line.push_str(&format!("; not: {}", names(&self.missed)));
        }
        if let Some(cuts) = &self.cuts {
            line.push_str(&format!(
                "; of {} truncated turns, {} give a call that the whole turn lacks, {} of them only because arguments are missing",
                cuts.tried, cuts.added, cuts.lacking
            ));
        }
        Some(line)
    }

    /// The machine-readable rounds.
    pub fn to_value(&self) -> Value {
        let listed = |list: &[(RecoveryPolicy, String)]| {
            let one = |(policy, text): &(RecoveryPolicy, String)| {
                let text = shortened(text, 400);
                Value::from([("policy", policy.as_str().into()), ("text", text.as_ref().into())])
            };
            Value::List(list.iter().map(one).collect())
        };
        let mut entries = Object::new();
        let mut put = |key: &str, value: Value| drop(entries.insert(key, value));
        put("refused", listed(&self.refused));
        put("conforming", self.conforming.into());
        put("with_problems", self.with_problems.0.into());
        put("deviations", self.deviations.into());
        put("recovered", self.recovered.into());
        put("not", listed(&self.missed));
        if let Some(cuts) = &self.cuts {
            let cuts = [("tried", cuts.tried), ("added", cuts.added), ("lacking", cuts.lacking)];
            put("cuts", Value::from(cuts.map(|(key, count)| (key, count.into()))));
        }
        Value::Object(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_deviation_has_a_count_and_its_shortest_output() {
        let mut tolerance = Tolerance { tried: 5, tolerated: 2, ..Tolerance::default() };
        for (what, text) in [("a line break", "long one"), ("a line break", "short"), ("no stop", "middle")] {
            tolerance.miss(what.to_owned(), text.to_owned());
        }
        assert_eq!(tolerance.describe().as_deref(), Some("tolerates 2 of 5 deviations; not: a line break, no stop"));
        assert_eq!(tolerance.example(), Some("short"));
        let missed = r#"[{"deviation": "a line break", "count": 2, "text": "short"}, {"deviation": "no stop", "count": 1, "text": "middle"}]"#;
        assert_eq!(tolerance.to_value().get("not").map(ToString::to_string).as_deref(), Some(missed));
    }

    #[test]
    fn without_deviations_there_is_no_description() {
        assert_eq!(Tolerance::default().describe(), None);
        let all = Tolerance { tried: 3, tolerated: 3, ..Tolerance::default() };
        assert_eq!(all.describe().as_deref(), Some("tolerates all 3 deviations that were tried"));
        assert_eq!(all.example(), None);
    }
}
