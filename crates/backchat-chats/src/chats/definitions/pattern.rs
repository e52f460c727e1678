//! Matches a render whose needles are placeholders for unknown texts against a text.

use std::collections::HashMap;
use std::ops::Range;

use super::shape::{Reach, Slot};
use backchat_core::json;
use backchat_core::text::{common_start, slice};
use backchat_probe::probe::needle::Needles;

/// The longest text that a needle matches, in bytes.
const LONGEST: usize = 1 << 14;
/// The cost of each place at which a text could have ended before.
const PASSED_END: i64 = 6;
/// How much of the literal after a text must match for the text to end there. Names and choices end where other
/// characters begin.
const TELLING: usize = 2;
/// How many positions are tried in total before the best so far is taken.
const MOST_TRIES: usize = 60;

/// A render as a literal text, followed by needles with the literal text after each.
pub(super) struct Pattern<'p> {
    first: &'p str,
    rest: Vec<(usize, &'p str)>,
    slots: &'p [Slot],
    reach: Reach,
}

/// How far a pattern matches.
#[derive(Clone, Debug, Default)]
pub(super) struct Match {
    /// The matched bytes of literal text, minus the costs of ambiguity.
    pub score: i64,
    /// Whether all of the text is explained.
    pub is_complete: bool,
    /// The places of the texts, by the number of their needles.
    pub bound: HashMap<usize, Range<usize>>,
}

impl<'p> Pattern<'p> {
    /// Splits a render at its needles; `None` if one of them is not written as its slot requires.
    pub fn new(rendered: &'p str, needles: &Needles, slots: &'p [Slot], reach: Reach) -> Option<Self> {
        let mut first = None;
        let mut rest: Vec<(usize, &str)> = Vec::new();
        let mut from = 0;
        let mut number = None;
        let mut cut = |to: usize, from: usize, next: Option<usize>| {
            let literal = rendered.get(from..to)?;
            match number {
                Some(number) => rest.push((number, literal)),
                None => first = Some(literal),
            }
            number = next;
            Some(())
        };
        for (index, (start, end)) in needles.find(rendered) {
            let (start, end) = match slots.get(index)? {
                Slot::Json => object_around(rendered, start, end)?,
                Slot::Word | Slot::Choice | Slot::Free => (start, end),
            };
            cut(start, from, Some(index))?;
            from = end;
        }
        cut(rendered.len(), from, None)?;
        Some(Self { first: first?, rest, slots, reach })
    }

    /// Matches the pattern from the start of a text.
    pub fn follow(&self, text: &str) -> Match {
        let start = PatternPlace { rest: &self.rest, at: 0, bound: &HashMap::new() };
        Walk { pattern: self, text, tries: MOST_TRIES }.literal(self.first, start)
    }
}

/// A position in a pattern.
#[derive(Clone, Copy)]
struct PatternPlace<'w> {
    /// The rest of the pattern.
    rest: &'w [(usize, &'w str)],
    /// The position in the text.
    at: usize,
    bound: &'w HashMap<usize, Range<usize>>,
}

/// The matching of a pattern against a text.
struct Walk<'w> {
    pattern: &'w Pattern<'w>,
    text: &'w str,
    tries: usize,
}

impl Walk<'_> {
    fn literal(&mut self, literal: &str, place: PatternPlace<'_>) -> Match {
        let PatternPlace { rest, at, bound } = place;
        let agreed = common_start(literal, slice(self.text, at..)).len();
        let end = at + agreed;
        let found = Match { score: number(agreed), is_complete: end == self.text.len(), bound: bound.clone() };
        match rest.split_first() {
            Some((slot, rest)) if agreed == literal.len() && !found.is_complete => {
                let next = self.slot(*slot, PatternPlace { rest, at: end, bound });
                Match { score: next.score + found.score, ..next }
            }
            Some(_) => Match { is_complete: false, ..found },
            None => found,
        }
    }

    fn slot(&mut self, (slot, literal): (usize, &str), place: PatternPlace<'_>) -> Match {
        let PatternPlace { rest, at, bound } = place;
        let text = self.text;
        let here = slice(text, at..);
        if let Some(known) = bound.get(&slot).and_then(|known| text.get(known.clone())) {
            if !here.starts_with(known) {
                return Match { bound: bound.clone(), ..Match::default() };
            }
            let found = self.literal(literal, PatternPlace { at: at + known.len(), ..place });
            return Match { score: found.score + number(known.len()), ..found };
        }
        let with = |end: usize| {
            let mut bound = bound.clone();
            bound.insert(slot, at..end);
            bound
        };
        let kind = self.pattern.slots.get(slot);
        let mut best = Match { bound: bound.clone(), ..Match::default() };
        if kind == Some(&Slot::Json) {
            let value = here.starts_with(['{', '[', '"']).then(|| json::value_at(text, at)).flatten();
            let Some((_, end)) = value else { return best };
            let found = self.literal(literal, PatternPlace { rest, at: end, bound: &with(end) });
            return Match { score: found.score + number(end - at), ..found };
        }
        let Some(first) = literal.chars().next() else { return best };
        let (ends, telling) = match kind {
            Some(Slot::Word) => (1..=here.find(|c: char| !is_name(c)).unwrap_or(here.len()), 1),
            Some(Slot::Choice) => (1..=here.find(ends_choice).unwrap_or(here.len()), 1),
            _ => (0..=LONGEST, TELLING),
        };
        let mut passed = 0;
        for (end, _) in here.match_indices(first).skip_while(|(end, _)| end < ends.start()) {
            if end > *ends.end() || self.tries == 0 {
                break;
            }
            let agreed = common_start(literal, slice(here, end..)).len();
            if agreed < telling.min(literal.len()) {
                continue;
            }
            self.tries -= 1;
            let found = self.literal(literal, PatternPlace { rest, at: at + end, bound: &with(at + end) });
            let score = found.score - passed * PASSED_END;
            if score > best.score {
                best = Match { score, ..found };
            }
            if best.is_complete || self.pattern.reach == Reach::Near {
                break;
            }
            passed += 1;
        }
        best
    }
}

/// Whether a name may hold this character.
fn is_name(c: char) -> bool {
    c.is_alphanumeric() || "_-.$/@".contains(c)
}

/// Whether an enum value ends before this character, which quotes it or separates it from the next one.
fn ends_choice(c: char) -> bool {
    "\"'`|,<>[]{}\n".contains(c)
}

/// The place of the JSON object whose only key is the needle at a place.
fn object_around(rendered: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    let before = rendered.get(..start)?.strip_suffix('"')?.trim_end().strip_suffix('{')?;
    let after = rendered.get(end..)?.strip_prefix('"')?.trim_start().strip_prefix(':')?.trim_start();
    let after = after.strip_prefix("true")?.trim_start().strip_prefix('}')?;
    Some((before.len(), rendered.len() - after.len()))
}

fn number(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX / 8)
}
