//! The choices that renders took and the facts that decide between them, as a tree of as few questions as possible.

use std::collections::BTreeMap;

/// The choices seen, and the fact that separates them best.
#[derive(Debug)]
pub(super) struct Rule {
    /// Every choice that was taken here, the most frequent first.
    seen: Vec<usize>,
    /// A fact, and the rule for each of its values.
    asks: Option<(usize, BTreeMap<i8, Rule>)>,
}

impl Rule {
    /// Learns from the facts of each place and the choice that was taken there.
    pub fn learn(cases: &[(&[i8], usize)]) -> Self {
        let seen = by_frequency(cases);
        let facts = cases.first().map_or(0, |(facts, _)| facts.len());
        let best = (0..facts)
            .map(|fact| (fact, split(cases, fact)))
            .filter(|(_, parts)| seen.len() > 1 && parts.len() > 1)
            .min_by(|(_, one), (_, other)| doubt(one).total_cmp(&doubt(other)));
        let asks = best.map(|(fact, parts)| {
            (fact, parts.into_iter().map(|(value, cases)| (value, Self::learn(&cases))).collect())
        });
        Self { seen, asks }
    }

    /// The choices under these facts, the likeliest first: those of the nearest cases, then those of wider ones.
    pub fn choices(&self, facts: &[i8]) -> Vec<usize> {
        let inner = self.asks.as_ref().and_then(|(fact, rules)| rules.get(facts.get(*fact)?));
        let mut choices = inner.map_or_else(Vec::new, |rule| rule.choices(facts));
        for choice in &self.seen {
            if !choices.contains(choice) {
                choices.push(*choice);
            }
        }
        choices
    }
}

type Cases<'c> = Vec<(&'c [i8], usize)>;

fn split<'c>(cases: &[(&'c [i8], usize)], fact: usize) -> BTreeMap<i8, Cases<'c>> {
    let mut parts: BTreeMap<i8, Cases<'_>> = BTreeMap::new();
    for (facts, choice) in cases {
        parts.entry(facts[fact]).or_default().push((facts, *choice));
    }
    parts
}

fn counts(cases: &[(&[i8], usize)]) -> BTreeMap<usize, usize> {
    let mut counts = BTreeMap::new();
    for (_, choice) in cases {
        *counts.entry(*choice).or_default() += 1;
    }
    counts
}

fn by_frequency(cases: &[(&[i8], usize)]) -> Vec<usize> {
    let mut counts: Vec<(usize, usize)> = counts(cases).into_iter().collect();
    counts.sort_by_key(|(choice, count)| (std::cmp::Reverse(*count), *choice));
    counts.into_iter().map(|(choice, _)| choice).collect()
}

/// The bits that are still open when a fact is known.
fn doubt(parts: &BTreeMap<i8, Cases<'_>>) -> f64 {
    let number = |count: usize| u32::try_from(count).map_or(f64::MAX, f64::from);
    let bits = |cases: &Cases<'_>| {
        let all = number(cases.len());
        counts(cases).values().map(|count| -number(*count) * (number(*count) / all).log2()).sum::<f64>()
    };
    parts.values().map(bits).sum()
}

#[cfg(test)]
mod tests {
    use super::Rule;

    #[test]
    fn the_fact_that_separates_the_choices_decides() {
        // The first fact is the same everywhere, the second one settles all but one value, the third one the rest.
        let cases: [(&[i8], usize); 5] =
            [(&[0, 1, 0], 7), (&[0, 1, 1], 7), (&[0, 2, 0], 8), (&[0, 3, 0], 8), (&[0, 3, 1], 9)];
        let rule = Rule::learn(&cases);
        for (facts, first) in [([0, 1, 5], 7), ([5, 2, 1], 8), ([0, 3, 0], 8), ([0, 3, 1], 9)] {
            assert_eq!(rule.choices(&facts).first(), Some(&first), "{facts:?}");
        }
        // A value that no case had: every choice, the most frequent first.
        assert_eq!(rule.choices(&[0, 4, 0]), [7, 8, 9]);
    }
}
