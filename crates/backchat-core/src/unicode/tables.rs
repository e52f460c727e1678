//! The members of properties, as `sets.bin` has them: chunks, each behind its length.
//!
//! The first chunks are properties that give each character one value, in runs: a value and for how many characters it holds. Where a
//! character has no value that is named, it is 0. The others are sets that are given by their difference from another: the distances
//! between the places where membership differs.

use super::numbers::Numbers;
use super::set::CharSet;

static SETS: &[u8] = include_bytes!("../../data/sets.bin");

fn chunk(at: usize) -> &'static [u8] {
    let mut numbers = Numbers(SETS);
    for _ in 0..at {
        let length = numbers.next().unwrap_or_default() as usize;
        numbers.0 = numbers.0.get(length..).unwrap_or_default();
    }
    let length = numbers.next().unwrap_or_default() as usize;
    numbers.0.get(..length).unwrap_or_default()
}

/// The characters whose value of a property is wanted.
pub(super) fn with_value(at: usize, is_wanted: impl Fn(u32) -> bool) -> CharSet {
    let mut numbers = Numbers(chunk(at));
    let mut next = 0;
    CharSet::ascending(
        std::iter::from_fn(|| {
            let (value, low) = (numbers.next()?, next);
            next += numbers.next()?;
            Some((value, low, next))
        })
        .filter_map(|(value, low, next)| is_wanted(value).then_some((low, next))),
    )
}

/// The set that a chunk describes by its difference from another, which the numbers at its begin tell.
pub(super) fn differing(at: usize, base: impl FnOnce(&mut Numbers<'static>) -> CharSet) -> CharSet {
    let mut numbers = Numbers(chunk(at));
    let mut set = base(&mut numbers);
    let mut change = 0;
    set.differ(numbers.map(|distance| {
        change += distance;
        change
    }));
    set
}
