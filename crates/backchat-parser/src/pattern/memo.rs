//! A memo of a search: facts about positions of its text, so that no attempt computes them again.

use super::class::Class;
use super::haystack::Haystack;

/// Failures are recorded in at most this many words; later ones are computed again.
const MAX_WORDS: usize = 1 << 23;

/// The known results of loops, runs and looks. They hold for one text.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// Whether an attempt took so long that every failure is worth recording.
    pub all: bool,
    /// A bit for each place and split.
    failed: Vec<u64>,
    failed_base: usize,
    /// A range of positions for each run: what follows it fails at each of them, and an unbounded run cannot continue
    /// after the last.
    pub runs: Vec<(usize, usize)>,
    /// How far each run went when it was last begun.
    extents: Vec<Extent>,
    /// A range of positions for each look-around: its inside matches at all of them.
    pub spans: Vec<(usize, usize)>,
}

impl Facts {
    pub fn forget(&mut self) {
        self.failed.clear();
        self.runs.clear();
        self.spans.clear();
        self.extents.clear();
    }

    /// How much it has room for.
    pub fn size(&self) -> usize {
        self.failed.capacity() + self.runs.capacity() + self.extents.capacity() + self.spans.capacity()
    }

    /// The end of a bounded run, without recounting what it took when it last began nearby, and the cost of finding it.
    pub fn extent(&mut self, number: usize, class: &Class, hay: Haystack<'_>, reach: Reach) -> (Extent, usize) {
        if self.extents.len() <= number {
            self.extents.resize(number + 1, Extent::default());
        }
        let Some(known) = self.extents.get_mut(number) else { return (Extent::from(reach.start), 0) };
        let cost = known.move_to(class, hay, reach);
        (*known, cost)
    }

    /// The end of an unbounded run from a place, without rescanning the part that it took when it last began before
    /// that place, and the cost of finding it.
    pub fn end(&mut self, number: usize, class: &Class, hay: Haystack<'_>, start: usize) -> (usize, usize) {
        if self.extents.len() <= number {
            self.extents.resize(number + 1, Extent::default());
        }
        let Some(known) = self.extents.get_mut(number) else { return (start, 0) };
        if start < known.start || known.end < start {
            *known = Extent::from(start);
        }
        let (length, cost) = class.prefix(hay.after(known.end));
        known.end += length;
        (known.end, cost)
    }

    fn bit(&self, splits: usize, split: usize, place: usize) -> Option<(usize, u64)> {
        let bit = place.checked_sub(self.failed_base)?.checked_mul(splits)?.checked_add(split)?;
        Some((bit / 64, 1 << (bit % 64)))
    }

    pub fn has_failed(&self, splits: usize, split: usize, place: usize) -> bool {
        self.bit(splits, split, place).is_some_and(|(word, bit)| self.failed.get(word).is_some_and(|w| w & bit != 0))
    }

    /// Records a failure; returns how many words had to be allocated.
    pub fn note_failure(&mut self, splits: usize, split: usize, place: usize, attempt: usize) -> usize {
        if self.failed.is_empty() {
            // No later attempt begins before this one.
            self.failed_base = attempt;
        }
        let Some((word, bit)) = self.bit(splits, split, place).filter(|(word, _)| *word < MAX_WORDS) else { return 0 };
        let before = self.failed.len();
        if word >= before {
            self.failed.resize((word + 1).next_power_of_two(), 0);
        }
        if let Some(w) = self.failed.get_mut(word) {
            *w |= bit;
        }
        self.failed.len() - before
    }
}

/// What a bounded run may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    pub start: usize,
    /// The most characters.
    pub wanted: u32,
    /// It takes none here or after.
    pub limit: usize,
}

/// The characters of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extent {
    start: usize,
    /// The place after the last one.
    pub end: usize,
    /// The number of its characters, if the run is bounded.
    pub count: u32,
}

impl Extent {
    fn from(start: usize) -> Self {
        Self { start, end: start, count: 0 }
    }

    /// Moves it to a run that begins at another position; returns the cost.
    fn move_to(&mut self, class: &Class, hay: Haystack<'_>, Reach { start, wanted, limit }: Reach) -> usize {
        let mut cost = 0;
        if self.start < hay.base || start > self.end || start + self.count as usize <= self.start {
            *self = Self::from(start);
        } else if self.start <= start {
            let left_out = hay.between(self.start, start).chars().count();
            cost += left_out;
            self.count -= (left_out as u32).min(self.count);
        } else {
            let before = hay.between(start, self.start);
            let (length, walked) = class.prefix(before);
            cost += walked;
            if length < before.len() {
                *self = Self::from(start);
            } else {
                self.count += before.chars().count() as u32;
            }
        }
        self.start = start;
        while self.count > wanted || self.end > limit {
            let Some(c) = hay.char_before(self.end) else { break };
            self.end -= c.len_utf8();
            self.count -= 1;
            cost += 1;
        }
        let room = hay.between(self.end, limit).chars().take((wanted - self.count.min(wanted)) as usize);
        for c in room.take_while(|&c| class.contains(c)) {
            self.end += c.len_utf8();
            self.count += 1;
            cost += class.cost(c);
        }
        cost
    }
}

/// A range of positions for each of several runs or look-arounds; adjacent ranges merge.
pub(super) fn note_stretch(stretches: &mut Vec<(usize, usize)>, index: usize, low: usize, high: usize) {
    if stretches.len() <= index {
        stretches.resize(index + 1, (1, 0));
    }
    if let Some(stretch) = stretches.get_mut(index) {
        *stretch =
            if stretch.0 <= high && low <= stretch.1 { (low.min(stretch.0), high.max(stretch.1)) } else { (low, high) };
    }
}

pub(super) fn has_place(stretches: &[(usize, usize)], index: usize, place: usize) -> bool {
    stretches.get(index).is_some_and(|&(low, high)| low <= place && place <= high)
}
