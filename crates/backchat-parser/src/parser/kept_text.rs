//! The text of ids, and the ids that each part of it came from.

use std::ops::Range;

use super::span::Span;

/// The text of a parser of ids from where the message begins.
#[derive(Clone, Debug, Default)]
pub(super) struct KeptText {
    pub text: String,
    pub ids: IdSpans,
    /// The first id of a character whose text is incomplete.
    open: usize,
}

/// The span of each id of an answer in its text.
#[derive(Clone, Debug, Default)]
pub struct IdSpans(Vec<Span>);

impl IdSpans {
    /// The ids that the text of a span came from, counted from the first of the answer; empty for an empty span and for
    /// text of the prompt.
    pub fn ids_of(&self, span: Span) -> Range<usize> {
        let first = self.0.partition_point(|id| id.end <= span.start);
        let is_empty = span.start == span.end;
        let end = if is_empty { first } else { self.0.partition_point(|id| id.start < span.end) };
        first..end.max(first)
    }

    /// Catches up with the spans of the same parser some ids later.
    pub fn follow(&mut self, others: &IdSpans) {
        // An id that had only begun a character now has its span.
        while self.0.last().is_some_and(|last| others.0.get(self.0.len() - 1) != Some(last)) {
            self.0.pop();
        }
        self.0.extend_from_slice(others.0.get(self.0.len()..).unwrap_or_default());
    }
}

impl KeptText {
    /// Records the span of an id's text. Ids that share a character share its span.
    pub fn add_id(&mut self, start: usize, end: usize, is_inside_character: bool) {
        if end > start {
            self.settle(end);
        }
        self.ids.0.push(Span::new(start, end));
        if !is_inside_character {
            self.open = self.ids.0.len();
        }
    }

    /// Completes the ids that have begun a character.
    pub fn settle(&mut self, end: usize) {
        self.ids.0.get_mut(self.open..).unwrap_or_default().iter_mut().for_each(|id| id.end = end);
        self.open = self.ids.0.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_spans() {
        let mut kept = KeptText::default();
        // A prompt of 3 bytes, a character in two ids after a text, an id without text, and an open character.
        for (start, end, is_inside) in [(3, 5, true), (5, 7, false), (7, 7, false), (7, 9, false), (9, 9, true)] {
            kept.add_id(start, end, is_inside);
        }
        for (start, end, ids) in
            [(0, 3, 0..0), (3, 4, 0..1), (5, 7, 0..2), (7, 9, 3..4), (3, 9, 0..4), (5, 5, 0..0), (7, 7, 3..3)]
        {
            assert_eq!(kept.ids.ids_of(Span::new(start, end)), ids, "{start}..{end}");
        }
        kept.settle(12);
        assert_eq!(kept.ids.ids_of(Span::new(9, 12)), 4..5);
    }
}
