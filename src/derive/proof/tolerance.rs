//! The tolerance of a template: counts of deviating outputs, and the shortest example of each kind that it does not read.

use crate::json::Value;

/// How many deviations a template tolerates, and which it does not.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Tolerance {
    /// How many deviating outputs were read.
    pub tried: usize,
    /// How many of them came to the right message.
    pub tolerated: usize,
    pub(in crate::derive) missed: Vec<Missed>,
}

/// A deviation that changes more of the message than it should.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::derive) struct Missed {
    what: String,
    count: usize,
    /// The shortest output that shows it.
    text: String,
}

impl Tolerance {
    /// The tolerance in one line; nothing if nothing was tried.
    pub fn describe(&self) -> Option<String> {
        let Self { tried, tolerated, missed } = self;
        let missed: Vec<String> = missed.iter().map(|missed| missed.what.clone()).collect();
        match missed.as_slice() {
            _ if *tried == 0 => None,
            [] => Some(format!("tolerates all {tried} deviations that were tried")),
            missed => Some(format!("tolerates {tolerated} of {tried} deviations; not: {}", missed.join(", "))),
        }
    }

    /// The shortest output that comes to another message.
    pub(in crate::derive) fn example(&self) -> Option<&str> {
        self.missed.iter().map(|missed| missed.text.as_str()).min_by_key(|text| text.len())
    }

    pub(in crate::derive) fn to_value(&self) -> Value {
        let count = |count: usize| Value::from(i64::try_from(count).unwrap_or(i64::MAX));
        let missed = self.missed.iter().map(|missed| {
            Value::from([
                ("deviation", missed.what.as_str().into()),
                ("count", count(missed.count)),
                ("text", missed.text.as_str().into()),
            ])
        });
        Value::from([
            ("tried", count(self.tried)),
            ("tolerated", count(self.tolerated)),
            ("not", Value::List(missed.collect())),
        ])
    }

    /// Adds an output that came to another message because of a deviation.
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
