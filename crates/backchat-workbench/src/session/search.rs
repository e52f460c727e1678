//! A search and its matches: plain data; `searching` fills it.

use std::ops::Range;

use super::sought::Sought;

/// A search: what is sought, and all places where it is.
#[derive(Debug)]
pub struct Search {
    pub(super) sought: Sought,
    /// Those of the output, then those of the events, then those of the template, each in its order.
    pub(super) hits: Vec<Hit>,
    /// The recording and the text of the template that were searched.
    pub(super) of: (u64, String),
    /// The match that was gone to last, and how often anyone had moved by then.
    pub(super) at: Option<(usize, u64)>,
}

/// A place where the sought text is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hit {
    /// Bytes of the recorded text.
    Output(Range<usize>),
    /// An event: its kind, its field or its value.
    Event(usize),
    /// A line of the template as it is shown, from 0.
    Template(usize),
}

impl Search {
    /// The bytes of the recorded text that match.
    pub fn in_output(&self) -> impl Iterator<Item = &Range<usize>> {
        self.hits.iter().filter_map(|hit| match hit {
            Hit::Output(span) => Some(span),
            _ => None,
        })
    }

    /// Whether one of these events matches.
    pub fn has_event_in(&self, events: &Range<usize>) -> bool {
        self.hits.iter().any(|hit| matches!(hit, Hit::Event(at) if events.contains(at)))
    }

    /// Whether a line of the template matches.
    pub fn has_line(&self, line: usize) -> bool {
        self.hits.contains(&Hit::Template(line))
    }
}
