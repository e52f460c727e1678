//! Sets of characters. ASCII takes one bit test; the rest are sorted ranges that do not touch.

use std::cmp::Ordering;

use backchat_core::unicode::{CharSet, WORD};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Class {
    ascii: u128,
    /// The ranges from U+0080 on, ascending and apart.
    rest: Box<[(char, char)]>,
}

impl Class {
    pub fn new(set: &CharSet) -> Self {
        let mut ascii = 0u128;
        let beyond = set.ranges().partition_point(|(_, high)| high.is_ascii());
        let (within, rest) = set.ranges().split_at(beyond);
        let mut rest: Box<[_]> = rest.into();
        let crossing = rest.first_mut().filter(|(low, _)| low.is_ascii());
        let crossing = crossing.map(|(low, _)| (std::mem::replace(low, '\u{80}'), '\x7f'));
        for (low, high) in within.iter().copied().chain(crossing) {
            for c in low as u32..=high as u32 {
                ascii |= 1 << c;
            }
        }
        Self { ascii, rest }
    }

    pub fn of(c: char) -> Self {
        Self::new(&CharSet::of(c, c))
    }

    pub fn any() -> Self {
        Self::new(&CharSet::of('\0', char::MAX))
    }

    pub fn is_any(&self) -> bool {
        self.ascii == u128::MAX && matches!(*self.rest, [('\u{80}', char::MAX)])
    }

    pub fn first(&self) -> Option<char> {
        match self.ascii.trailing_zeros() {
            128 => self.rest.first().map(|(low, _)| *low),
            ascii => char::from_u32(ascii),
        }
    }

    pub fn has_ascii(&self, byte: u8) -> bool {
        byte < 128 && self.ascii >> byte & 1 == 1
    }

    #[inline]
    pub fn contains(&self, c: char) -> bool {
        if (c as u32) < 128 {
            return self.ascii >> (c as u32) & 1 == 1;
        }
        self.rest
            .binary_search_by(|&(low, high)| match high < c {
                true => Ordering::Less,
                false => low.cmp(&c).max(Ordering::Equal),
            })
            .is_ok()
    }

    /// The same set with these characters as its only ones of a range beyond ASCII. They come in ascending order.
    pub fn replacing(&self, low: u32, high: u32, members: impl Iterator<Item = char>) -> Self {
        let outside = |from: u32, to: u32| Some((char::from_u32(from)?, char::from_u32(to)?)).filter(|(a, b)| a <= b);
        let mut rest: Vec<(char, char)> = self
            .rest
            .iter()
            .flat_map(|&(from, to)| {
                let (from, to) = (from as u32, to as u32);
                [outside(from, to.min(low - 1)), outside(from.max(high + 1), to)]
            })
            .flatten()
            .chain(members.map(|c| (c, c)))
            .collect();
        rest.sort_unstable();
        rest.dedup_by(|next, last| {
            let touches = next.0 as u32 <= last.1 as u32 + 1;
            if touches {
                last.1 = last.1.max(next.1);
            }
            touches
        });
        Self { ascii: self.ascii, rest: rest.into() }
    }

    /// The cost, in the machine's units of work, of looking up a character beyond ASCII.
    fn lookup_cost(&self) -> usize {
        2 + (usize::BITS - self.rest.len().leading_zeros()) as usize
    }

    /// The length in bytes of the longest prefix of a text that has only characters of the set, and the cost of finding
    /// it.
    pub fn prefix(&self, text: &str) -> (usize, usize) {
        let bytes = text.as_bytes();
        let (mut at, mut beyond) = (0, 0);
        while let Some(&byte) = bytes.get(at) {
            if byte < 128 {
                if !self.has_ascii(byte) {
                    break;
                }
                at += 1;
            } else {
                match text.get(at..).and_then(|rest| rest.chars().next()) {
                    Some(c) if self.contains(c) => at += c.len_utf8(),
                    _ => break,
                }
                beyond += 1;
            }
        }
        (at, at + beyond * self.lookup_cost())
    }

    /// The cost of walking over a character.
    pub fn cost(&self, c: char) -> usize {
        if c.is_ascii() { 1 } else { self.lookup_cost() }
    }

    /// The ranges of the set from U+0080 on.
    pub fn beyond_ascii(&self) -> &[(char, char)] {
        &self.rest
    }
}

/// A character by full case folding, which may make it several.
pub(super) fn full_fold(c: char) -> impl Iterator<Item = char> {
    c.to_uppercase().flat_map(char::to_lowercase)
}

/// Whether a group can have this name.
pub(super) fn is_group_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_') && chars.all(|c| WORD.contains(c))
}
