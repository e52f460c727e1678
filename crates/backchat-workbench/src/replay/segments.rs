//! The role of each part of the text at a moment.

use std::ops::Range;

use super::moment::Moment;
use super::recording::{Kind, Recording};

/// The role of a part of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Segment {
    /// Prompt that the parser does not read.
    Prompt,
    /// Text of a field.
    Body(usize),
    /// A delimiter of a region of a field.
    Delimiter(usize),
    /// Text outside of every region, which no field takes.
    Dropped,
    /// Text that is held, or not read yet.
    Held,
    /// Text that has not arrived.
    Future,
}

impl Recording {
    /// The segments that a stretch of the text is made of, in order and without gaps.
    pub fn segments(&self, moment: Moment, window: Range<usize>) -> Vec<(Range<usize>, Segment)> {
        let (settled, arrived) = (self.settled(moment), self.arrived(moment));
        let mut segments = Segments { window, segments: Vec::new() };
        segments.push(0..self.origin, Segment::Prompt);
        let mut at = self.origin.max(segments.window.start).min(settled);
        let mut row = self.row_ending_after(at);
        while at < settled.min(segments.window.end) {
            let Some(event) = self.event(self.row(row).start).filter(|_| row < self.row_count()) else { break };
            let span = self.row_span(row);
            let segment = match event.kind {
                Kind::Chunk => Segment::Body(event.field),
                _ => Segment::Delimiter(event.field),
            };
            segments.push(at..span.start.min(settled), Segment::Dropped);
            segments.push(span.start.max(at)..span.end.min(settled), segment);
            at = at.max(span.end.min(settled));
            row += 1;
        }
        segments.push(at..settled, Segment::Dropped);
        segments.push(settled..arrived, Segment::Held);
        segments.push(arrived..self.text.len(), Segment::Future);
        segments.segments
    }

    /// The first row whose text ends after a place.
    fn row_ending_after(&self, place: usize) -> usize {
        let (mut low, mut high) = (0, self.row_count());
        while low < high {
            let middle = low.midpoint(high);
            if self.row_span(middle).end <= place { low = middle + 1 } else { high = middle }
        }
        low
    }
}

struct Segments {
    window: Range<usize>,
    segments: Vec<(Range<usize>, Segment)>,
}

impl Segments {
    fn push(&mut self, span: Range<usize>, segment: Segment) {
        let span = span.start.max(self.window.start)..span.end.min(self.window.end);
        if !span.is_empty() {
            self.segments.push((span, segment));
        }
    }
}
