//! The kinds that every comparison renders: none, each and each pair of dimensions, and larger ones around calls, results
//! and history.

use std::collections::HashSet;

use super::dims::{Dim, Kind, Universe};

/// Dimensions of which three are combined: most conditions that need so many are about calls, results and history.
const TOGETHER: [Dim; 17] = [
    Dim::Prompt,
    Dim::System,
    Dim::Tools,
    Dim::LaterUser,
    Dim::SecondAnswer,
    Dim::ReasoningContent,
    Dim::InlineThink,
    Dim::Call,
    Dim::SecondCall,
    Dim::Beside,
    Dim::NullContent,
    Dim::MissingContent,
    Dim::TextArguments,
    Dim::EmptyArguments,
    Dim::Result,
    Dim::SecondResult,
    Dim::AfterResult,
];

/// Pairs that are combined with each setting.
const WITH_SETTINGS: [[Dim; 2]; 7] = [
    [Dim::Prompt, Dim::Result],
    [Dim::Prompt, Dim::Call],
    [Dim::Prompt, Dim::System],
    [Dim::Prompt, Dim::Tools],
    [Dim::Prompt, Dim::LaterUser],
    [Dim::LaterUser, Dim::ReasoningContent],
    [Dim::Call, Dim::ReasoningContent],
];

/// The kinds, each once and closed, the smaller ones first; those without a use are not combined.
pub(crate) fn kinds(universe: &Universe, unused: &[usize], most: usize) -> Vec<Kind> {
    let mut made = Made { universe, known: HashSet::new(), kinds: Vec::new() };
    made.push(Kind::NONE);
    let settings: Vec<usize> = universe.settings().map(|(bit, ..)| bit).collect();
    let dims: Vec<usize> = (0..Dim::ALL.len()).collect();
    dims.iter().chain(&settings).for_each(|bit| made.push(Kind::NONE.with_bit(*bit)));
    let used: Vec<usize> = dims.into_iter().filter(|bit| !unused.contains(bit)).collect();
    made.pairs(&used);
    made.pairs(&settings);
    for (at, one) in TOGETHER.iter().enumerate() {
        for (next, second) in TOGETHER.iter().enumerate().skip(at + 1) {
            for third in TOGETHER.iter().skip(next + 1) {
                made.push(Kind::of(&[*one, *second, *third]));
            }
        }
    }
    for setting in &settings {
        let setting = Kind::NONE.with_bit(*setting);
        used.iter().for_each(|bit| made.push(setting.with_bit(*bit)));
        WITH_SETTINGS.iter().for_each(|dims| made.push(setting.union(Kind::of(dims))));
    }
    let mut kinds = made.kinds;
    kinds.truncate(most);
    kinds
}

struct Made<'u> {
    universe: &'u Universe,
    known: HashSet<Kind>,
    kinds: Vec<Kind>,
}

impl Made<'_> {
    fn pairs(&mut self, bits: &[usize]) {
        for (at, one) in bits.iter().enumerate() {
            for other in bits.iter().skip(at + 1) {
                self.push(Kind::NONE.with_bit(*one).with_bit(*other));
            }
        }
    }

    fn push(&mut self, kind: Kind) {
        let kind = kind.closed();
        if self.universe.is_possible(kind) && self.known.insert(kind) {
            self.kinds.push(kind);
        }
    }
}

/// Kinds that take most branches of a template: each dimension and setting alone, and two of those that are combined.
pub(crate) fn near_kinds(universe: &Universe) -> Vec<Kind> {
    let mut made = Made { universe, known: HashSet::new(), kinds: Vec::new() };
    made.push(Kind::NONE);
    for bit in (0..Dim::ALL.len()).chain(universe.settings().map(|(bit, ..)| bit)) {
        made.push(Kind::NONE.with_bit(bit));
    }
    for (bit, ..) in universe.settings() {
        made.push(Kind::NONE.with_bit(bit).with(Dim::Prompt));
    }
    Dim::ALL.iter().for_each(|dim| made.push(Kind::of(&[Dim::Call, *dim])));
    for (at, one) in TOGETHER.iter().enumerate() {
        for other in TOGETHER.iter().skip(at + 1) {
            made.push(Kind::of(&[*one, *other]));
        }
    }
    made.kinds
}
