//! The leftmost match in a growing text. It resumes where it stopped, and its work is bounded by the text's length.

use std::num::NonZero;

use super::haystack::{Edge, Haystack};
use super::machine::{Attempt, Ending, Refused};
use super::memo::Facts;
use super::{Pattern, TooMuchWork};

/// The work a search may do on any text, in units of about a nanosecond.
const FUEL: u64 = 12_000_000;

/// The additional work for each byte of the text.
const FUEL_PER_BYTE: u64 = 500;

/// The largest buffers, in words, that a search keeps for another text.
const MOST_KEPT: usize = 4096;

/// The result of a search so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchResult {
    /// The leftmost match; no continuation changes it.
    Match { start: usize, end: usize },
    /// Everything before this position is ruled out; only more text can decide whether a match begins here.
    Waits { start: usize },
    /// All text so far is ruled out.
    Nothing,
}

/// A search for the leftmost match in a growing text. It resumes at the point where it stopped.
#[derive(Clone, Debug, Default)]
pub(crate) struct Search {
    from: usize,
    /// The next place to try.
    at: usize,
    state: State,
    not_empty: bool,
    /// Whether empty matches are never reported.
    never_empty: bool,
    run_end: usize,
    /// The work it may do, if the caller sets a limit.
    budget: Option<NonZero<u64>>,
    /// The buffers of attempts; most searches of a parser never make one.
    work: Option<Box<Work>>,
}

#[derive(Clone, Debug, Default)]
struct Work {
    attempt: Attempt,
    facts: Facts,
    spent: u64,
    /// The result of the last scan, and the length of the text it saw.
    looked: Option<(SeenText, SearchResult)>,
}

impl Work {
    /// Clears everything but its buffers.
    fn renew(&mut self) {
        self.attempt.renew();
        self.facts.forget();
        self.facts.all = false;
        (self.spent, self.looked) = (0, None);
    }
}

/// The text that a scan saw: its end, and whether more may follow.
type SeenText = (usize, bool);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Looking,
    Waiting {
        start: usize,
    },
    Done {
        start: usize,
        end: usize,
    },
}

impl Search {
    /// Makes it a search of another text; with `never_empty` it reports no empty match.
    pub fn renew(&mut self, never_empty: bool) {
        let mut work = self.work.take();
        if let Some(work) = &mut work {
            work.renew();
        }
        *self = Self { never_empty, work, ..Self::default() };
    }

    /// Whether its buffers are small enough to be kept for another text.
    pub fn is_small(&self) -> bool {
        self.work.as_ref().is_none_or(|work| work.attempt.size() + work.facts.size() <= MOST_KEPT)
    }

    /// A search with a work limit.
    pub fn with_budget(budget: u64) -> Self {
        Self { budget: NonZero::new(budget.max(1)), ..Self::default() }
    }

    /// Begins again at a place. With `not_empty`, an empty match at exactly that place is
    /// not reported.
    pub fn begin(&mut self, pattern: &Pattern, from: usize, not_empty: bool) {
        if let Some(work) = &mut self.work {
            if pattern.program().depends_on_search_start || self.not_empty {
                work.facts.forget();
            }
            work.looked = None;
        }
        (self.from, self.at, self.not_empty, self.state) = (from, from, not_empty, State::Looking);
    }

    /// Makes it a search from a later position on; results that still hold are kept.
    pub fn move_to(&mut self, pattern: &Pattern, from: usize) {
        let start = match self.state {
            State::Looking => self.at,
            State::Waiting { start } => start,
            State::Done { start, .. } => start.min(self.attempt_start()),
        };
        let holds = self.from <= from && from <= start && !self.not_empty && !pattern.program().depends_on_search_start;
        if from != self.from && !holds {
            self.begin(pattern, from, false);
        }
    }

    /// Skips text in which the caller knows that no match begins.
    pub fn clear_to(&mut self, place: usize) {
        match self.state {
            State::Waiting { start } if start < place => (self.state, self.at) = (State::Looking, place),
            State::Looking => self.at = self.at.max(place),
            State::Waiting { .. } | State::Done { .. } => {}
        }
    }

    /// The start of the last attempt.
    fn attempt_start(&self) -> usize {
        self.work.as_ref().map_or(0, |work| work.attempt.start())
    }

    /// Restarts from a position, keeping only the knowledge about skipped text.
    fn look_again(&mut self, pattern: &Pattern, from: usize) {
        if let Some(work) = &mut self.work {
            work.facts.forget();
            work.spent = 0;
        }
        self.begin(pattern, from, self.not_empty && from == self.from);
    }

    /// The position at which a match may begin, or begins, if it is known.
    pub fn pending(&self) -> Option<usize> {
        match self.state {
            State::Looking => None,
            State::Waiting { start } | State::Done { start, .. } => Some(start),
        }
    }

    /// Continues with all the text so far: `text`, whose first byte is at `base`; unless it has `ended`, more may
    /// follow.
    pub fn resume(
        &mut self,
        pattern: &Pattern,
        text: &str,
        base: usize,
        ended: bool,
    ) -> Result<SearchResult, TooMuchWork> {
        self.advance(pattern, Haystack { text, base, edge: if ended { Edge::End } else { Edge::Open } })
    }

    pub(super) fn advance(&mut self, pattern: &Pattern, hay: Haystack<'_>) -> Result<SearchResult, TooMuchWork> {
        let program = pattern.program();
        let allowed = self.budget.map_or(FUEL + FUEL_PER_BYTE * hay.end() as u64, NonZero::get);
        let mut fuel = allowed.saturating_sub(self.work.as_ref().map_or(0, |work| work.spent));
        let given = fuel;
        let found = loop {
            let start = match self.state {
                State::Done { start, end } => break Ok(SearchResult::Match { start, end }),
                State::Waiting { start } => start,
                State::Looking => {
                    let Some(start) = pattern.prefilter().next(hay, self.at, &mut self.run_end) else {
                        self.at = self.at.max(hay.end());
                        break Ok(SearchResult::Nothing);
                    };
                    let refused = match self.not_empty && start == self.from {
                        _ if self.never_empty => Refused::All,
                        true => Refused::Here,
                        false => Refused::None,
                    };
                    self.work.get_or_insert_default().attempt.begin(program, start, self.from, refused);
                    start
                }
            };
            let Work { attempt, facts, .. } = &mut **self.work.get_or_insert_default();
            match attempt.run(program, hay, facts, &mut fuel) {
                Ending::Match => self.state = State::Done { start: attempt.kept(), end: attempt.end() },
                Ending::Exhausted => break Err(TooMuchWork),
                Ending::NeedsMore => {
                    self.state = State::Waiting { start };
                    // A partial match of `regex` begins at its `\\K`.
                    let start = if hay.edge == Edge::Partial { attempt.kept() } else { start };
                    break Ok(SearchResult::Waits { start });
                }
                Ending::Fail => {
                    self.state = State::Looking;
                    match hay.char_at(start) {
                        Some(c) => self.at = start + c.len_utf8(),
                        // The end of the text is tried again only if the search is asked again.
                        None => {
                            self.at = start;
                            break Ok(SearchResult::Nothing);
                        }
                    }
                }
            }
        };
        if let Some(work) = &mut self.work {
            work.spent += given - fuel;
        }
        found
    }

    /// The work done so far.
    pub fn spent(&self) -> u64 {
        self.work.as_ref().map_or(0, |work| work.spent)
    }

    /// Start and end of a group of the match.
    pub fn group(&self, index: usize) -> Option<(usize, usize)> {
        self.work.as_ref()?.attempt.group(index)
    }

    /// Scans the text so far from a position, ignoring earlier results. Unless the text has ended, this is what
    /// partial matching of Python's `regex` does: it takes a complete match anywhere, and only without one the leftmost
    /// position where an attempt reaches the end. As in transformers, a match before the end that depends on the end
    /// waits.
    pub fn look(
        &mut self,
        pattern: &Pattern,
        from: usize,
        text: &str,
        base: usize,
        ended: bool,
    ) -> Result<SearchResult, TooMuchWork> {
        let extent = (base + text.len(), ended);
        if let Some(found) = self.seen(pattern, from, extent) {
            return Ok(found);
        }
        self.look_again(pattern, from);
        let mut found = self.advance(pattern, Haystack { text, base, edge: Edge::End })?;
        match found {
            SearchResult::Match { start, end } if !ended && end < extent.0 => {
                if !self.is_final(pattern, (start, end), text, base)? {
                    found = SearchResult::Waits { start };
                }
            }
            SearchResult::Match { .. } => {}
            _ if ended => {}
            _ => {
                self.look_again(pattern, from);
                found = self.advance(pattern, Haystack { text, base, edge: Edge::Partial })?;
            }
        }
        self.work.get_or_insert_default().looked = Some((extent, found));
        Ok(found)
    }

    /// Whether a match that ends before the end of the text so far stays the same if U+0000 comes next, as transformers
    /// decides it: by an attempt at the start of the match.
    fn is_final(
        &self,
        pattern: &Pattern,
        (start, end): (usize, usize),
        text: &str,
        base: usize,
    ) -> Result<bool, TooMuchWork> {
        let program = pattern.program();
        let mut fuel = FUEL + FUEL_PER_BYTE * text.len() as u64;
        let mut attempt = Attempt::default();
        let mut run = |attempt: &mut Attempt, text: &str, edge| {
            attempt.begin(program, start, start, Refused::None);
            attempt.run(program, Haystack { text, base, edge }, &mut Facts::default(), &mut fuel)
        };
        // Most matches do not look past the text.
        let mut outcome = run(&mut attempt, text, Edge::Open);
        let longer;
        let mut seen = text;
        if outcome == Ending::NeedsMore {
            longer = format!("{text}\0");
            seen = &longer;
            outcome = run(&mut attempt, seen, Edge::End);
        }
        match outcome {
            Ending::Exhausted => return Err(TooMuchWork),
            Ending::Match if (attempt.kept(), attempt.end()) == (start, end) => {}
            _ => return Ok(false),
        }
        let taken = |(start, end): (usize, usize)| seen.get(start.checked_sub(base)?..end.checked_sub(base)?);
        let mut groups = pattern.named_groups().iter().map(|(_, number)| *number as usize);
        Ok(groups.all(|group| self.group(group).and_then(taken) == attempt.group(group).and_then(taken)))
    }

    /// The result of the last scan, if a scan from this position would find it as well: in the same text, at or after
    /// the position. Without this a text of many regions would be scanned to its end for each of them.
    fn seen(&self, pattern: &Pattern, from: usize, extent: SeenText) -> Option<SearchResult> {
        let (looked, found) = self.work.as_ref()?.looked?;
        let is_behind = found == SearchResult::Nothing || self.attempt_start() >= from;
        let depends = self.not_empty || pattern.program().depends_on_search_start;
        (looked == extent && self.from <= from && is_behind && !depends).then_some(found)
    }
}
