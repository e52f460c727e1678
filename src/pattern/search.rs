use super::facts::Facts;
use super::hay::{Edge, Hay};
use super::machine::{Attempt, Outcome};
use super::{Pattern, TooMuchWork};

/// The work a search may do, whatever its text.
const FUEL: u64 = 8_000_000;

/// The work it may do besides for each byte of the text.
const FUEL_PER_BYTE: u64 = 400;

/// What a search knows by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The leftmost match, whatever follows.
    Match { start: usize, end: usize },
    /// Everything before this place is ruled out; whether a match begins here only more text can tell.
    Waits { start: usize },
    /// Everything there is is ruled out.
    Nothing,
}

/// A search for the leftmost match in a text that is still growing. It goes on where it stopped.
#[derive(Clone, Debug, Default)]
pub(crate) struct Search {
    /// Where the search began.
    from: usize,
    /// The next place to try.
    at: usize,
    state: State,
    not_empty: bool,
    run_end: usize,
    attempt: Attempt,
    facts: Facts,
    spent: u64,
    /// What the last look found, and in how much text.
    looked: Option<(Extent, Found)>,
}

/// Where a text that was looked at ends, and whether that is its end for good.
type Extent = (usize, bool);

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
    /// Begins again at a place. With `not_empty` a match of nothing at that very place does not count.
    pub fn begin(&mut self, pattern: &Pattern, from: usize, not_empty: bool) {
        if pattern.program().depends_on_search_start || self.not_empty {
            self.facts.forget();
        }
        (self.from, self.at, self.not_empty, self.state) = (from, from, not_empty, State::Looking);
        self.looked = None;
    }

    /// Makes it a search from a later place on; what is known already and still holds is kept.
    pub fn move_to(&mut self, pattern: &Pattern, from: usize) {
        let start = match self.state {
            State::Looking => self.at,
            State::Waiting { start } => start,
            State::Done { start, .. } => start.min(self.attempt.start()),
        };
        let holds = self.from <= from && from <= start && !self.not_empty && !pattern.program().depends_on_search_start;
        if from != self.from && !holds {
            self.begin(pattern, from, false);
        }
    }

    /// Passes over text in which no match can begin, unless one is in the making.
    pub fn clear_to(&mut self, place: usize) {
        if self.state == State::Looking {
            self.at = self.at.max(place);
        }
    }

    /// Looks again from a place on, as if nothing were known but what was passed over there.
    fn look_again(&mut self, pattern: &Pattern, from: usize) {
        self.facts.forget();
        self.spent = 0;
        self.begin(pattern, from, self.not_empty && from == self.from);
    }

    /// Where a match may begin, or begins, as far as it is known.
    pub fn pending(&self) -> Option<usize> {
        match self.state {
            State::Looking => None,
            State::Waiting { start } | State::Done { start, .. } => Some(start),
        }
    }

    /// Goes on with all the text there is: `text`, whose first byte stands at `base`, and behind it, unless it has
    /// `ended`, what is still to come.
    pub fn resume(&mut self, pattern: &Pattern, text: &str, base: usize, ended: bool) -> Result<Found, TooMuchWork> {
        self.advance(pattern, Hay { text, base, edge: if ended { Edge::End } else { Edge::Open } })
    }

    pub(super) fn advance(&mut self, pattern: &Pattern, hay: Hay<'_>) -> Result<Found, TooMuchWork> {
        let program = pattern.program();
        let allowed = FUEL + FUEL_PER_BYTE * hay.end() as u64;
        let mut fuel = allowed.saturating_sub(self.spent);
        let given = fuel;
        let found = loop {
            let start = match self.state {
                State::Done { start, end } => break Ok(Found::Match { start, end }),
                State::Waiting { start } => start,
                State::Looking => {
                    let Some(start) = pattern.starts().next(hay, self.at, &mut self.run_end) else {
                        self.at = self.at.max(hay.end());
                        break Ok(Found::Nothing);
                    };
                    self.attempt.begin(program, start, self.from, self.not_empty && start == self.from);
                    start
                }
            };
            match self.attempt.run(program, hay, &mut self.facts, &mut fuel) {
                Outcome::Match => self.state = State::Done { start: self.attempt.kept(), end: self.attempt.end() },
                Outcome::Exhausted => break Err(TooMuchWork),
                Outcome::NeedsMore => {
                    self.state = State::Waiting { start };
                    // A partial match of `regex` begins where `\\K` put it.
                    let start = if hay.edge == Edge::Partial { self.attempt.kept() } else { start };
                    break Ok(Found::Waits { start });
                }
                Outcome::Fail => {
                    self.state = State::Looking;
                    match hay.char_at(start) {
                        Some(c) => self.at = start + c.len_utf8(),
                        None => {
                            self.at = start + 1;
                            break Ok(Found::Nothing);
                        }
                    }
                }
            }
        };
        self.spent += given - fuel;
        found
    }

    /// Start and end of a group of the match.
    pub fn group(&self, index: usize) -> Option<(usize, usize)> {
        self.attempt.group(index)
    }

    /// Looks from a place on over what there is, whatever earlier text gave. Unless the text has ended, that is what
    /// partial matching of Python's `regex` does: it takes a complete match anywhere, and only without one the leftmost
    /// place where an attempt runs into the end.
    pub fn look(
        &mut self,
        pattern: &Pattern,
        from: usize,
        text: &str,
        base: usize,
        ended: bool,
    ) -> Result<Found, TooMuchWork> {
        let extent = (base + text.len(), ended);
        if let Some(found) = self.seen(pattern, from, extent) {
            return Ok(found);
        }
        self.look_again(pattern, from);
        let mut found = self.advance(pattern, Hay { text, base, edge: Edge::End })?;
        if !ended && !matches!(found, Found::Match { .. }) {
            self.look_again(pattern, from);
            found = self.advance(pattern, Hay { text, base, edge: Edge::Partial })?;
        }
        self.looked = Some((extent, found));
        Ok(found)
    }

    /// What the last look found, where a look from this place on would find it too: in the same text, at or behind the
    /// place. Without this a text of many regions would be gone through to its end for each of them.
    fn seen(&self, pattern: &Pattern, from: usize, extent: Extent) -> Option<Found> {
        let (looked, found) = self.looked?;
        let is_behind = found == Found::Nothing || self.attempt.start() >= from;
        let depends = self.not_empty || pattern.program().depends_on_search_start;
        (looked == extent && self.from <= from && is_behind && !depends).then_some(found)
    }
}
