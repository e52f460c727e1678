//! Why a parser with policies holds text, and what it has decided.

use super::bare_call::BareCall;
use super::call_run::CallRun;
use super::later_closer::LaterCloser;
use crate::parser::region::Region;
use crate::parser::span::Span;
use crate::pattern::Search;

/// The decision that text is held for, and the positions up to which others were searched.
#[derive(Clone, Debug, Default)]
pub(in crate::parser) struct Gate {
    /// The decision that is open.
    pub trial: Option<Trial>,
    /// Where the search for the next one begins.
    pub from: usize,
    /// Where the text outside all regions began; the text before a candidate decides what it is.
    stretch: usize,
    /// Text that is passed over: where it begins and ends.
    pub cut: Option<(usize, usize)>,
    /// Where all text is held from, as the reasoning may have begun in the prompt.
    pub first: Option<usize>,
    /// The searches for markers, by their delimiter.
    pub searches: Vec<Search>,
    /// The position up to which the matches of each in the stretch were rejected.
    pub passed: Vec<usize>,
    /// How many beginnings of JSON were tried in the stretch.
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

/// A decision that may need more text.
#[derive(Clone, Debug)]
pub(in crate::parser) enum Trial {
    BareCall(BareCall),
    Calls(CallRun),
    /// A stray closer of calls: its field, where it is, and up to where its tail has been followed.
    Stray {
        field: usize,
        marker: Span,
        at: usize,
    },
    /// A closer inside a string.
    InString(LaterCloser),
}

impl Trial {
    /// Where the text begins that it holds back.
    pub fn start(&self) -> usize {
        match self {
            Trial::BareCall(trial) => trial.start,
            Trial::Calls(trial) => trial.start,
            Trial::Stray { marker, .. } => marker.start,
            Trial::InString(trial) => trial.closer,
        }
    }
}

impl Gate {
    pub fn new(delimiters: usize) -> Self {
        Self { searches: vec![Search::default(); delimiters], passed: vec![0; delimiters], ..Self::default() }
    }

    /// Where the text began that is open: that of a region, or the text outside of all.
    pub fn begun(&self, region: Option<&Region>) -> usize {
        region.map_or(self.stretch, |region| region.body)
    }

    /// Another region begins, or text outside of all.
    pub fn begin_stretch(&mut self, place: usize) {
        self.from = self.from.max(place);
        self.stretch = place;
        self.passed.fill(0);
        (self.starts, self.runs, self.has_stray) = (0, 0, false);
    }
}
