/// No more failures than these many words have bits for are noted; those of further places are found out again.
const MAX_WORDS: usize = 1 << 23;

/// Where loops and looks are known to fail or to match. It holds for one text.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// Whether an attempt took so long that every failure is worth noting.
    pub all: bool,
    /// A bit for each place and split.
    failed: Vec<u64>,
    failed_base: usize,
    /// A stretch of places for each run: what follows it fails at each of them, and the run cannot go on behind the last.
    pub runs: Vec<(usize, usize)>,
    /// A stretch of places for each look: at any of them its inside matches.
    pub spans: Vec<(usize, usize)>,
}

impl Facts {
    pub fn forget(&mut self) {
        self.failed.clear();
        self.runs.clear();
        self.spans.clear();
    }

    fn bit(&self, splits: usize, split: usize, place: usize) -> Option<(usize, u64)> {
        let bit = place.checked_sub(self.failed_base)?.checked_mul(splits)?.checked_add(split)?;
        Some((bit / 64, 1 << (bit % 64)))
    }

    pub fn has_failed(&self, splits: usize, split: usize, place: usize) -> bool {
        self.bit(splits, split, place).is_some_and(|(word, bit)| self.failed.get(word).is_some_and(|w| w & bit != 0))
    }

    pub fn note_failure(&mut self, splits: usize, split: usize, place: usize, attempt: usize) {
        if self.failed.is_empty() {
            // No later attempt begins before this one.
            self.failed_base = attempt;
        }
        let Some((word, bit)) = self.bit(splits, split, place).filter(|(word, _)| *word < MAX_WORDS) else { return };
        if word >= self.failed.len() {
            self.failed.resize((word + 1).next_power_of_two(), 0);
        }
        if let Some(w) = self.failed.get_mut(word) {
            *w |= bit;
        }
    }
}

/// A stretch of places for each of several things; two that touch become one.
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
