//! What each stretch of the text is, at a moment.

use std::ops::Range;

use super::recording::Kind;
use super::{Moment, Recording};

/// What a stretch of the text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// Prompt that the parser does not read.
    Prompt,
    /// Text of a field.
    Body(usize),
    /// What opened or closed a region of a field.
    Delimiter(usize),
    /// Text outside of every region, which no field takes.
    Dropped,
    /// Text that is held back, or not read yet.
    Held,
    /// Text that has not come yet.
    Future,
}

impl Recording {
    /// The parts that a stretch of the text is made of, in order and without gaps.
    pub fn parts(&self, moment: Moment, window: Range<usize>) -> Vec<(Range<usize>, Part)> {
        let (settled, arrived) = (self.settled(moment), self.arrived(moment));
        let mut parts = Parts { window, parts: Vec::new() };
        parts.push(0..self.origin, Part::Prompt);
        let mut at = self.origin.max(parts.window.start).min(settled);
        let mut row = self.row_ending_after(at);
        while at < settled.min(parts.window.end) {
            let Some(event) = self.event(self.row(row).start).filter(|_| row < self.row_count()) else { break };
            let span = self.row_span(row);
            let part = match event.kind {
                Kind::Chunk => Part::Body(event.field),
                _ => Part::Delimiter(event.field),
            };
            parts.push(at..span.start.min(settled), Part::Dropped);
            parts.push(span.start.max(at)..span.end.min(settled), part);
            at = at.max(span.end.min(settled));
            row += 1;
        }
        parts.push(at..settled, Part::Dropped);
        parts.push(settled..arrived, Part::Held);
        parts.push(arrived..self.text.len(), Part::Future);
        parts.parts
    }

    /// The first row whose text ends behind a place.
    fn row_ending_after(&self, place: usize) -> usize {
        let (mut low, mut high) = (0, self.row_count());
        while low < high {
            let middle = low.midpoint(high);
            if self.row_span(middle).end <= place { low = middle + 1 } else { high = middle }
        }
        low
    }
}

struct Parts {
    window: Range<usize>,
    parts: Vec<(Range<usize>, Part)>,
}

impl Parts {
    fn push(&mut self, span: Range<usize>, part: Part) {
        let span = span.start.max(self.window.start)..span.end.min(self.window.end);
        if !span.is_empty() {
            self.parts.push((span, part));
        }
    }
}
