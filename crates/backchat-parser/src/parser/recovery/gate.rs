//! The text that a parser with policies holds, and the decision that it waits for.

use super::trial::Trial;
use crate::parser::region::Region;
use crate::parser::scan::Delimited;
use crate::pattern::Search;

/// The decision that text is held for, and the positions up to which others were searched.
#[derive(Clone, Debug, Default)]
pub(in crate::parser) struct Gate {
    /// The decision that is open.
    pub trial: Option<Trial>,
    /// The place from which the next one is searched for.
    pub from: usize,
    /// The start of the text outside all regions; the text before a candidate decides what it is.
    stretch: usize,
    /// The start and the end of text to skip.
    pub cut: Option<(usize, usize)>,
    /// The place from which all text is held, because the reasoning may have begun in the prompt.
    pub first: Option<usize>,
    /// The searches for markers, by their delimiter.
    pub searches: Vec<Search>,
    /// The position up to which the matches of each in the stretch were rejected.
    pub passed: Vec<usize>,
    /// How many beginnings of calls were tried in the stretch.
    pub starts: usize,
    /// How many runs of calls were tried in the reasoning.
    pub runs: usize,
    /// Whether a stray closer was tried in the stretch.
    pub has_stray: bool,
    /// The start of the closer that was found not to be text.
    pub closes_at: Option<usize>,
}

/// The outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::parser) enum Flow {
    /// The match counts.
    Goes,
    /// The state changed: scan again.
    Again,
    /// Undecided: more text is needed.
    Waits,
}

/// What a scan found: text up to a limit, and the delimiter there.
#[derive(Clone, Copy, Debug)]
pub(in crate::parser) struct Ahead {
    pub limit: usize,
    pub next: Option<Delimited>,
    /// Whether no more text comes.
    pub ended: bool,
}

impl Gate {
    pub fn new(delimiters: usize) -> Self {
        Self { searches: vec![Search::default(); delimiters], passed: vec![0; delimiters], ..Self::default() }
    }

    /// The start of the open text: of a region, or outside of all.
    pub fn begun(&self, region: Option<&Region>) -> usize {
        region.map_or(self.stretch, |region| region.body)
    }

    /// A region begins, or text outside of all.
    pub fn begin_stretch(&mut self, place: usize) {
        self.from = self.from.max(place);
        self.stretch = place;
        self.passed.fill(0);
        (self.starts, self.runs, self.has_stray) = (0, 0, false);
    }
}
