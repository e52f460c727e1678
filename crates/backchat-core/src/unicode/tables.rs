//! The members of properties, as `sets.bin` has them: chunks, each behind its length.
//!
//! All are numbers of seven bits to a byte, the lowest first, of which the last byte of a number lacks the high bit. The first chunks
//! are properties that give each character one value, in runs: a value and for how many characters it holds. Where a character has no
//! value that is named, it is 0. The others are sets that are given by their difference from another: the distances between the places
//! where membership differs.

use super::set::CharSet;

static SETS: &[u8] = include_bytes!("sets.bin");

/// Numbers as they are written above.
pub(super) struct Numbers<'a>(pub &'a [u8]);

impl Iterator for Numbers<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let mut number = 0;
        for shift in (0..u32::BITS).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        Some(number)
    }
}

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
