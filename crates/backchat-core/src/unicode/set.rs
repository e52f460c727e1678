//! Sets of characters.

use super::cases::other_cases;

/// Ranges of characters, ascending, that do not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CharSet {
    ranges: Vec<(char, char)>,
}

impl CharSet {
    pub fn of(low: char, high: char) -> Self {
        Self { ranges: vec![(low, high)] }
    }

    pub fn ranges(&self) -> &[(char, char)] {
        &self.ranges
    }

    pub fn contains(&self, c: char) -> bool {
        self.range_of(c).is_some()
    }

    /// The range that has a character.
    pub fn range_of(&self, c: char) -> Option<&(char, char)> {
        let at = self.ranges.partition_point(|&(_, high)| high < c);
        self.ranges.get(at).filter(|(low, _)| *low <= c)
    }

    pub fn add(&mut self, low: char, high: char) {
        self.union(&Self::of(low, high));
    }

    /// Adds the members of another set, in one pass over both.
    pub fn union(&mut self, other: &Self) {
        if self.ranges.is_empty() {
            self.ranges.clone_from(&other.ranges);
            return;
        }
        let mut merged: Vec<(char, char)> = Vec::with_capacity(self.ranges.len() + other.ranges.len());
        let (mut ours, mut theirs) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        while let Some(&(low, high)) = match (ours.peek(), theirs.peek()) {
            (Some(our), Some(their)) if our.0 > their.0 => theirs.next(),
            (Some(_), _) => ours.next(),
            _ => theirs.next(),
        } {
            match merged.last_mut() {
                Some(last) if low as u32 <= last.1 as u32 + 1 => last.1 = last.1.max(high),
                _ => merged.push((low, high)),
            }
        }
        self.ranges = merged;
    }

    /// Keeps the members in ASCII.
    pub fn keep_ascii(&mut self) {
        self.ranges.retain(|(low, _)| low.is_ascii());
        if let Some((_, high)) = self.ranges.last_mut() {
            *high = (*high).min('\x7f');
        }
    }

    pub fn negate(&mut self) {
        let mut gaps = Vec::with_capacity(self.ranges.len() + 1);
        let mut begin = Some('\0');
        for &(low, high) in &self.ranges {
            if let (Some(from), Some(to)) = (begin, before(low))
                && from <= to
            {
                gaps.push((from, to));
            }
            begin = after(high);
        }
        gaps.extend(begin.map(|from| (from, char::MAX)));
        self.ranges = gaps;
    }

    /// Removes the members of another set.
    pub fn subtract(&mut self, other: &Self) {
        self.negate();
        self.union(other);
        self.negate();
    }

    /// Removes the members that another set has, too, and adds its others. Both are lists of places where membership changes.
    pub(super) fn differ(&mut self, other: impl Iterator<Item = u32>) {
        let ours = self.ranges.iter().flat_map(|&(low, high)| [low as u32, high as u32 + 1]);
        let mut changes: Vec<u32> = ours.chain(other).collect();
        changes.sort_unstable();
        let alone: Vec<u32> = changes.chunk_by(u32::eq).filter(|same| same.len() == 1).flatten().copied().collect();
        let ranges = alone.chunks_exact(2).filter_map(|pair| Some((*pair.first()?, *pair.last()?)));
        *self = Self::ascending(ranges);
    }

    /// A set of ranges that ascend, each with the code after its last. Surrogates are no characters.
    pub(super) fn ascending(ranges: impl Iterator<Item = (u32, u32)>) -> Self {
        let mut merged: Vec<(char, char)> = Vec::new();
        for (low, next) in ranges {
            let (Some(low), Some(high)) = (char::from_u32(low), next.checked_sub(1).and_then(char::from_u32)) else {
                continue;
            };
            match merged.last_mut() {
                Some(last) if low as u32 == last.1 as u32 + 1 => last.1 = high,
                _ => merged.push((low, high)),
            }
        }
        Self { ranges: merged }
    }

    /// Adds everything that differs from a member only in case: simple case folding and the Turkish i's, which `regex` holds equal
    /// to `i` and `I`.
    pub fn fold(&mut self) {
        let turkish = [('i', 'İ'), ('I', 'ı')];
        let had = turkish.map(|(plain, turkish)| (self.contains(plain), self.contains(turkish)));
        let mut others: Vec<char> = self.ranges.iter().flat_map(|&(low, high)| other_cases(low, high)).collect();
        others.sort_unstable();
        others.dedup();
        self.union(&Self::ascending(others.into_iter().map(|c| (c as u32, c as u32 + 1))));
        for ((plain, turkish), (has_plain, has_turkish)) in turkish.into_iter().zip(had) {
            if has_plain {
                self.add(turkish, turkish);
            }
            if has_turkish {
                self.add(plain, plain);
            }
        }
    }

    /// Whether it has a character that full case folding makes several.
    pub fn has_expanding(&self) -> bool {
        let grows = |c: char| c.to_uppercase().count() > 1;
        let few = self.ranges.iter().map(|&(low, high)| high as u32 - low as u32 + 1).sum::<u32>() < 0x8000;
        few && self.ranges.iter().any(|&(low, high)| (low..=high).any(grows))
    }
}

fn after(c: char) -> Option<char> {
    (c < char::MAX).then(|| if c == '\u{d7ff}' { '\u{e000}' } else { char::from_u32(c as u32 + 1).unwrap_or(c) })
}

fn before(c: char) -> Option<char> {
    (c > '\0').then(|| if c == '\u{e000}' { '\u{d7ff}' } else { char::from_u32(c as u32 - 1).unwrap_or(c) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

    fn reference(ranges: &[(char, char)]) -> ClassUnicode {
        ClassUnicode::new(ranges.iter().map(|&(low, high)| ClassUnicodeRange::new(low, high)))
    }

    fn ranges() -> impl Strategy<Value = Vec<(char, char)>> {
        let edge = prop::sample::select(vec!['\0', '\x7e', '\x7f', '\u{80}', '\u{d7fe}', '\u{e000}', char::MAX]);
        let c = || prop_oneof![edge.clone(), prop::char::range('a', 'z'), any::<char>()];
        prop::collection::vec((c(), c()).prop_map(|(a, b)| (a.min(b), a.max(b))), 0..8)
    }

    fn set(ranges: &[(char, char)]) -> CharSet {
        let mut set = CharSet::default();
        ranges.iter().for_each(|&(low, high)| set.add(low, high));
        set
    }

    proptest! {
        #[test]
        fn sets_have_the_members_of_the_other_crates_sets(one in ranges(), other in ranges(), c in any::<char>()) {
            let (mut ours, mut theirs) = (set(&one), reference(&one));
            prop_assert_eq!(&ours, &CharSet::from(&theirs));
            prop_assert_eq!(ours.contains(c), one.iter().any(|&(low, high)| low <= c && c <= high));
            ours.union(&set(&other));
            theirs.union(&reference(&other));
            prop_assert_eq!(&ours, &CharSet::from(&theirs));
            let mut ascii = ours.clone();
            ascii.keep_ascii();
            theirs.intersect(&reference(&[('\0', '\x7f')]));
            prop_assert_eq!(ascii, CharSet::from(&theirs));
            let mut theirs = reference(&[one, other].concat());
            ours.negate();
            theirs.negate();
            prop_assert_eq!(ours, CharSet::from(&theirs));
        }
    }

    /// The other crate's sets get a member there that they had before.
    #[test]
    fn nothing_is_between_the_characters_around_the_surrogates() {
        let mut all = set(&[('\0', '\u{d7ff}'), ('\u{e000}', char::MAX)]);
        all.negate();
        assert_eq!(all, CharSet::default());
        all.negate();
        assert_eq!(all, CharSet::of('\0', char::MAX));
        let mut edges = set(&[('\u{d7ff}', '\u{d7ff}'), ('\u{e000}', '\u{e000}')]);
        edges.negate();
        assert_eq!(edges, set(&[('\0', '\u{d7fe}'), ('\u{e001}', char::MAX)]));
    }

    #[test]
    fn a_set_that_is_folded_has_both_cases_and_the_turkish_letters() {
        let mut set = CharSet::of('i', 'k');
        set.fold();
        let members: String = set.ranges().iter().flat_map(|&(low, high)| low..=high).collect();
        assert_eq!(members, "IJKijk\u{130}\u{212a}");
    }
}
