//! The role of each part of the text at a moment.

use std::ops::Range;

use super::recording::{Kind, Moment, Recording};

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
        let mut segments = Vec::new();
        let mut push = |span: Range<usize>, segment| {
            let span = span.start.max(window.start)..span.end.min(window.end);
            if !span.is_empty() {
                segments.push((span, segment));
            }
        };
        push(0..self.origin, Segment::Prompt);
        let mut at = self.origin.max(window.start).min(settled);
        // The first row whose text ends after it.
        let mut row = self.row_of(self.entries.partition_point(|entry| entry.end as usize <= at));
        while at < settled.min(window.end) {
            let Some(event) = self.event(self.row(row).start).filter(|_| row < self.row_count()) else { break };
            let span = self.row_span(row);
            let segment = match event.kind {
                Kind::Chunk => Segment::Body(event.field),
                _ => Segment::Delimiter(event.field),
            };
            push(at..span.start.min(settled), Segment::Dropped);
            push(span.start.max(at)..span.end.min(settled), segment);
            at = at.max(span.end.min(settled));
            row += 1;
        }
        push(at..settled, Segment::Dropped);
        push(settled..arrived, Segment::Held);
        push(arrived..self.text.len(), Segment::Future);
        segments
    }
}
