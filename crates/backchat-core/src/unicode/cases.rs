//! Characters that differ in case only, by simple case folding.
//!
//! `cases.bin` has them as groups, each by the distance of its first character from that of the group before, and of each further one
//! from the last; the lowest bit of a number tells whether another of the group follows.

use std::sync::LazyLock;

use super::numbers::Numbers;

static CASES: &[u8] = include_bytes!("../../data/cases.bin");

/// Each character with another of its group, ascending.
static PAIRS: LazyLock<Vec<(char, char)>> = LazyLock::new(|| {
    let mut pairs = Vec::new();
    let mut group: Vec<char> = Vec::new();
    let (mut first, mut last) = (0, 0);
    for number in Numbers(CASES) {
        let code = last + (number >> 1);
        if group.is_empty() {
            first = code;
        }
        group.extend(char::from_u32(code));
        last = code;
        if number & 1 == 0 {
            let both = group.iter().flat_map(|one| group.iter().map(move |other| (*one, *other)));
            pairs.extend(both.filter(|(one, other)| one != other));
            group.clear();
            last = first;
        }
    }
    pairs.sort_unstable();
    pairs
});

/// What differs from a character of a range in case only.
pub(super) fn other_cases(low: char, high: char) -> impl Iterator<Item = char> {
    let begin = PAIRS.partition_point(|(c, _)| *c < low);
    let pairs = PAIRS.get(begin..).unwrap_or_default().iter();
    pairs.take_while(move |(c, _)| *c <= high).map(|(_, other)| *other)
}
