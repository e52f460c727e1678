//! Cuts a recording at one more position without recording all of it again.

use std::ops::Range;
use std::sync::Arc;

use super::record::{Recorder, Run};
use super::recording::{Entry, Kind, Outcome, Recording, narrow};
use backchat_parser::content::coerce::Tools;
use backchat_parser::parser::{Mode, ParseError, skim};

impl Recording {
    /// Cuts a feed of the output in two at a position of the text. The result equals the recording of a text that was
    /// cut there from the start. Nothing changes if a feed already ends there, or if the position is outside the
    /// output.
    ///
    /// In stable mode the answer does not depend on how the text is cut, so only this feed is recorded again. Returns
    /// false in reference mode, with policies, and for a parse that failed: then the whole text has to be recorded.
    pub fn cut(&mut self, tools: Option<Arc<Tools>>, place: usize) -> bool {
        // Policies may hold text over several feeds, which one feed alone does not show.
        let has_policies = !self.recovery.policies.is_empty();
        if self.mode != Mode::Stable || has_policies || matches!(self.outcome, Outcome::Failed(_)) {
            return false;
        }
        let feed = self.moment_at(place).feed;
        let Range { start, end } = self.feed_span(feed);
        if feed == 0 || place <= start || place >= end || !self.text.is_char_boundary(place) {
            return true;
        }
        let halves = self.recorded_in_two(feed, place, tools);
        let is_cut = halves.is_ok();
        halves.into_iter().for_each(|halves| self.put(feed, halves));
        is_cut
    }

    /// The two halves of a feed alone: their feeds and events are counted from 0.
    fn recorded_in_two(&self, feed: usize, place: usize, tools: Option<Arc<Tools>>) -> Result<Self, ParseError> {
        let Range { start, end } = self.feed_span(feed);
        let prefix = self.slice(0..self.output);
        let run = Run { template: &self.template, prefix, mode: self.mode, tools, recovery: self.recovery };
        let mut parser = run.parser()?;
        skim(&mut parser, self.slice(self.output..start))?;
        let mut recorder = Recorder::new(&run, self.text.clone());
        recorder.recording.origin = self.origin;
        recorder.pending = self.pending_after(feed - 1).to_vec();
        recorder.feed(&mut parser, self.slice(start..place), place)?;
        recorder.feed(&mut parser, self.slice(place..end), end)?;
        Ok(recorder.recording)
    }

    /// Replaces a feed by its two halves.
    fn put(&mut self, feed: usize, mut halves: Self) {
        let events = self.feed(feed - 1).events..self.feed(feed).events;
        let is_chunk = |entry: Option<&Entry>| entry.is_some_and(|entry| entry.kind == Kind::Chunk);
        let before = events.start.checked_sub(1).and_then(|last| self.entries.get(last as usize));
        if is_chunk(before) && is_chunk(halves.entries.first()) {
            halves.rows.remove(0);
        }
        let count = narrow(halves.entries.len());
        replace(&mut self.rows, &events, halves.rows, count, |row| row);
        replace(&mut self.opens, &events, halves.opens, count, |open| &mut open.event);
        replace(&mut self.closes, &events, halves.closes, count, |close| &mut close.event);

        let feeds = narrow(feed)..narrow(feed + 1);
        let pending = self.first_pending(feed)..self.first_pending(feed + 1);
        let held = narrow(halves.pending.len());
        halves.holds.iter_mut().for_each(|hold| hold.first += pending.start);
        let later = self.holds.iter_mut().filter(|hold| hold.feed >= feeds.end);
        later.for_each(|hold| hold.first = hold.first - pending.end + pending.start + held);
        splice(&mut self.pending, &pending, halves.pending);
        replace(&mut self.holds, &feeds, halves.holds, 2, |hold| &mut hold.feed);
        replace(&mut self.held_spans, &feeds, halves.held_spans, 2, |held| &mut held.feed);

        halves.feeds.iter_mut().for_each(|half| half.events += events.start);
        let later = self.feeds.iter_mut().skip(feed + 1);
        later.for_each(|feed| feed.events = feed.events - events.end + events.start + count);
        splice(&mut self.feeds, &feeds, halves.feeds);
        splice(&mut self.entries, &events, halves.entries);
    }
}

/// Replaces the items that are about `range`, which has `count` members from now on. New items count from the start of
/// the range; later ones move on.
fn replace<T>(items: &mut Vec<T>, range: &Range<u32>, mut new: Vec<T>, count: u32, about: impl Fn(&mut T) -> &mut u32) {
    new.iter_mut().for_each(|item| *about(item) += range.start);
    let mut replaced = 0..0;
    for item in items.iter_mut() {
        let about = about(item);
        replaced.start += u32::from(*about < range.start);
        replaced.end += u32::from(*about < range.end);
        if *about >= range.end {
            *about = *about - range.end + range.start + count;
        }
    }
    splice(items, &replaced, new);
}

/// Replaces items by others, without spare capacity.
fn splice<T>(items: &mut Vec<T>, range: &Range<u32>, new: Vec<T>) {
    let range = range.start as usize..range.end as usize;
    items.reserve_exact(new.len().saturating_sub(range.len()));
    items.splice(range, new);
}
