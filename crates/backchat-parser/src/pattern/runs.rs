//! Runs of one character set: how the [machine](super::machine) matches them and backtracks.

use memchr::memmem;

use super::bytes::Bytes;
use super::haystack::{Edge, Haystack};
use super::machine::{Attempt, BYTES_PER_UNIT, Frame, MEMO};
use super::memo::{Extent, Facts, Reach, has_place, note_stretch};
use super::program::{Run, SHORT_RUN};
use super::tree::Greed;
use backchat_core::text::slice;

/// The extra cost of walking a byte backward, in units of work.
const BACKWARD: usize = 2;

impl Attempt {
    /// Takes a run of characters; false if it needs more text.
    pub(super) fn run_ahead(&mut self, run: &Run, hay: Haystack<'_>, facts: &mut Facts) -> bool {
        let (start, mut count) = match self.run.take() {
            Some(begun) => begun,
            None if run.is_unbounded() && run.memo.is_some_and(|memo| has_place(&facts.runs, memo, self.at)) => {
                self.failing = true;
                return true;
            }
            None => (self.at, 0),
        };
        let wanted = if run.greed == Greed::Lazy { run.min } else { run.max };
        let known = run
            .memo
            .filter(|_| run.is_unbounded())
            .filter(|_| run.greed != Greed::Lazy)
            .and_then(|memo| facts.runs.get(memo));
        let (length, taken) = match known.filter(|(low, high)| self.at < *low && low <= high) {
            Some(&(low, high)) => self.take_up_to(run, hay, low, high),
            None => match run.extent.filter(|_| wanted > SHORT_RUN) {
                Some(number) if run.is_unbounded() && run.greed != Greed::Lazy => {
                    self.take_all(run, number, hay, facts)
                }
                Some(number) => {
                    let number = number + usize::from(run.greed == Greed::Lazy);
                    let extent =
                        self.charged(facts.extent(number, &run.class, hay, Reach { start, wanted, limit: hay.end() }));
                    (extent.end - self.at, extent.count - count)
                }
                None => self.take(run, hay.after(self.at), wanted - count),
            },
        };
        self.at += length;
        count += taken;
        if count < wanted && self.at == hay.end() && hay.edge != Edge::End {
            self.run = Some((start, count));
            return false;
        }
        if count < run.min {
            self.failing = true;
            return true;
        }
        let pc = self.pc as u32;
        match run.greed {
            Greed::Greedy if self.at > start => {
                let high = self.at;
                let low = self.least_end(run, start, hay, facts);
                // Ends of the run that are known to fail need not be tried again.
                let failed =
                    run.memo.and_then(|memo| facts.runs.get(memo)).filter(|(from, to)| *from <= high && high <= *to);
                if let Some(&(from, _)) = failed {
                    self.stack.push(Frame::Shrink { pc, low, at: from.max(low), high });
                    self.failing = true;
                    return true;
                }
                self.stack.push(Frame::Shrink { pc, low, at: high, high });
            }
            Greed::Lazy => {
                let low = self.at;
                let bounded = run.extent.filter(|_| !run.is_unbounded());
                let failed = bounded.zip(run.memo).and_then(|(extent, memo)| Some((extent, facts.runs.get(memo)?)));
                // Positions at which the rest is known to fail need not be tried again.
                if let Some((number, &(_, to))) = failed.filter(|(_, (from, to))| *from <= low && low <= *to) {
                    let extent = self.charged(facts.extent(
                        number,
                        &run.class,
                        hay,
                        Reach { start, wanted: run.max, limit: to },
                    ));
                    self.stack.push(Frame::Grow { pc, low, at: extent.end, count: extent.count });
                    self.failing = true;
                    return true;
                }
                self.stack.push(Frame::Grow { pc, low, at: low, count });
            }
            // It does not backtrack, but the rest fails at every position of this range.
            Greed::Possessive if run.memo.is_some() => {
                self.stack.push(Frame::Shrink { pc, low: start, at: start, high: self.at });
            }
            _ => {}
        }
        self.pc += 1;
        true
    }

    /// The length of an unbounded run: bytes, and characters up to its minimum.
    fn take_all(&mut self, run: &Run, number: usize, hay: Haystack<'_>, facts: &mut Facts) -> (usize, u32) {
        let (end, cost) = if run.any { (hay.end(), 0) } else { facts.end(number, &run.class, hay, self.at) };
        let length = end - self.at;
        let counted = hay.between(self.at, end).chars().take(run.min as usize).count();
        self.charge(cost + counted);
        (length, counted as u32)
    }

    /// The characters that a bounded run takes, with their cost charged.
    fn charged(&mut self, (extent, cost): (Extent, usize)) -> Extent {
        self.charge(MEMO + cost);
        extent
    }

    /// The end of a greedy run that has taken only its minimum.
    fn least_end(&mut self, run: &Run, start: usize, hay: Haystack<'_>, facts: &mut Facts) -> usize {
        match run.extent.filter(|_| run.min > SHORT_RUN && !run.is_unbounded()) {
            Some(_) if run.min == run.max => self.at,
            Some(number) => {
                self.charged(facts.extent(
                    number + 1,
                    &run.class,
                    hay,
                    Reach { start, wanted: run.min, limit: self.at },
                ))
                .end
            }
            None => {
                self.charge(run.min as usize);
                start + hay.after(start).chars().take(run.min as usize).map(char::len_utf8).sum::<usize>()
            }
        }
    }

    /// The length of a run: bytes, and characters (of an unbounded run, only up to its minimum).
    fn take(&mut self, run: &Run, text: &str, wanted: u32) -> (usize, u32) {
        if !run.is_unbounded() || run.greed == Greed::Lazy {
            let taken = text.chars().take(wanted as usize).take_while(|&c| run.class.contains(c));
            let (length, count, cost) = taken.fold((0, 0, 0), |(length, count, cost), c| {
                (length + c.len_utf8(), count + 1, cost + run.class.cost(c))
            });
            self.charge(cost);
            return (length, count);
        }
        let (length, cost) = if run.any { (text.len(), 0) } else { run.class.prefix(text) };
        let counted = slice(text, ..length).chars().take(run.min as usize).count();
        self.charge(cost + counted);
        (length, counted as u32)
    }

    /// The same if a later stretch is known to end the run: a run that begins further and further to the front is not
    /// read to its end each time.
    fn take_up_to(&mut self, run: &Run, hay: Haystack<'_>, low: usize, high: usize) -> (usize, u32) {
        let before = hay.between(self.at, low);
        let (length, count) = self.take(run, before, run.max);
        if length < before.len() {
            return (length, count);
        }
        let rest = hay.between(low, high);
        let more = rest.chars().take(run.min.saturating_sub(count) as usize).count();
        self.charge(more);
        (length + rest.len(), count + more as u32)
    }

    /// Backtracks a greedy run until the rest could match.
    pub(super) fn shrink(
        &mut self,
        run: &Run,
        pc: u32,
        [low, at, high]: [usize; 3],
        hay: Haystack<'_>,
        facts: &mut Facts,
    ) {
        if run.behind {
            if let Some(c) = hay.char_at(at).filter(|_| at < low) {
                let at = at + c.len_utf8();
                self.stack.push(Frame::Shrink { pc, low, at, high });
                (self.pc, self.at, self.failing) = (pc as usize + 1, at, false);
            }
            return;
        }
        // Positions at which the rest is known to fail need not be tried again.
        let known =
            run.memo.and_then(|memo| facts.runs.get(memo)).copied().filter(|(from, to)| from <= to && *from < at);
        let at = match known {
            Some((from, to)) if hay.char_before(at).is_some_and(|c| at - c.len_utf8() <= to) => from.max(low),
            _ => at,
        };
        let given = hay.between(low, at).as_bytes();
        let to = match run.next {
            Some(next) => next.find_last(given).map(|length| low + length),
            None => hay.char_before(at).filter(|_| at > low).map(|c| at - c.len_utf8()),
        };
        self.charge(at.saturating_sub(to.unwrap_or(low)) / BYTES_PER_UNIT);
        match to {
            Some(at) => {
                self.stack.push(Frame::Shrink { pc, low, at, high });
                (self.pc, self.at, self.failing) = (pc as usize + 1, at, false);
            }
            None => {
                if let Some(memo) = run.memo {
                    note_stretch(&mut facts.runs, memo, low, high);
                }
            }
        }
    }

    /// Extends a lazy run until the rest could match; false if it needs more text.
    pub(super) fn grow(
        &mut self,
        run: &Run,
        pc: u32,
        [low, at]: [usize; 2],
        count: u32,
        hay: Haystack<'_>,
        facts: &mut Facts,
    ) -> bool {
        let full = count >= run.max;
        let grown = match run.next {
            _ if full => Err(at),
            Some(next) if run.is_unbounded() && !run.behind => grow_to(run, next, at, hay),
            _ => match hay.beside(at, run.behind) {
                Some((c, next)) if run.class.contains(c) => Ok(next),
                _ => Err(at),
            },
        };
        let grew = grown.unwrap_or_else(|end| end).abs_diff(at);
        let step = run.class.cost(hay.char_at(at).unwrap_or('a'));
        self.charge(if run.any { grew / BYTES_PER_UNIT } else { grew * step });
        match grown {
            Ok(at) => {
                // An unbounded run need not be counted.
                let count = if run.is_unbounded() { count } else { count + 1 };
                self.stack.push(Frame::Grow { pc, low, at, count });
                (self.pc, self.at, self.failing) = (pc as usize + 1, at, false);
            }
            Err(at) if at == hay.end() && hay.edge != Edge::End && !full && !run.behind => return false,
            Err(at) if hay.edge == Edge::Partial && self.seeks_tail_past_end(run, at, hay) => return false,
            Err(at) => {
                if let Some(memo) = run.memo {
                    note_stretch(&mut facts.runs, memo, low, at);
                }
            }
        }
        true
    }

    /// Whether partial matching of `regex` waits at the end of a lazy run: it looks for the literal after the run before it
    /// checks the characters up to it, and waits if that search reaches the end of the text. It looks for a single character
    /// only one place ahead, for several in the whole text.
    fn seeks_tail_past_end(&mut self, run: &Run, at: usize, hay: Haystack<'_>) -> bool {
        let Some(tail) = &run.tail else { return false };
        let rest = hay.bytes_after(at);
        if tail.chars().nth(1).is_none() {
            return hay.char_at(at).is_none_or(|c| c.len_utf8() == rest.len());
        }
        self.charge(rest.len() / BYTES_PER_UNIT);
        memmem::find(rest, tail.as_bytes()).is_none()
    }

    pub(super) fn run_behind(&mut self, run: &Run, hay: Haystack<'_>) {
        let start = self.at;
        let wanted = if run.greed == Greed::Lazy { run.min } else { run.max };
        let mut count = 0;
        let mut high = start;
        while count < wanted {
            let Some(c) = hay.char_before(self.at).filter(|&c| run.class.contains(c)) else { break };
            self.at -= c.len_utf8();
            count += 1;
            if count == run.min {
                high = self.at;
            }
        }
        let step = run.class.cost(hay.char_at(self.at).unwrap_or('a'));
        self.charge((start - self.at) * (BACKWARD + step));
        if count < run.min {
            self.failing = true;
            return;
        }
        let pc = self.pc as u32;
        match run.greed {
            // In a look-behind, a run shrinks upwards: `low` is the limit.
            Greed::Greedy => self.stack.push(Frame::Shrink { pc, low: high, at: self.at, high }),
            Greed::Lazy => self.stack.push(Frame::Grow { pc, low: self.at, at: self.at, count }),
            Greed::Possessive => {}
        }
        self.pc += 1;
    }
}

/// Takes at least one character, up to the next position with one of these bytes or the end of the text; fails with the
/// end of the run.
fn grow_to(run: &Run, next: Bytes, at: usize, hay: Haystack<'_>) -> Result<usize, usize> {
    let Some(c) = hay.char_at(at).filter(|&c| run.class.contains(c)) else { return Err(at) };
    let at = at + c.len_utf8();
    if run.any {
        return Ok(next.find(hay.bytes_after(at)).map_or(hay.end(), |length| at + length));
    }
    let text = hay.after(at);
    for (index, c) in text.char_indices() {
        if text.as_bytes().get(index).is_some_and(|&byte| next.has(byte)) {
            return Ok(at + index);
        }
        if !run.class.contains(c) {
            return Err(at + index);
        }
    }
    Ok(hay.end())
}
