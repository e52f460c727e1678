//! The tolerance of a template: counts of deviating outputs, and the shortest example of each kind that it does not
//! read.

use backchat_core::json::Value;

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

    /// The shortest output that comes to another message.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_deviation_is_counted_and_shown_by_its_shortest_output() {
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
    fn nothing_tried_is_nothing_said() {
        assert_eq!(Tolerance::default().describe(), None);
        let all = Tolerance { tried: 3, tolerated: 3, ..Tolerance::default() };
        assert_eq!(all.describe().as_deref(), Some("tolerates all 3 deviations that were tried"));
        assert_eq!(all.example(), None);
    }
}
