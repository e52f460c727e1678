//! The events of a feed. Most feeds have one, which needs no list.

use std::iter::Chain;
use std::ops::Deref;
use std::{option, vec};

use super::event::Event;

/// The events of one feed, in the text's order: a slice that is owned.
#[derive(Clone, Debug, Default)]
pub struct Events(Kept);

#[derive(Clone, Debug, Default)]
enum Kept {
    #[default]
    None,
    One([Event; 1]),
    Several(Vec<Event>),
}

impl Events {
    #[inline]
    pub(super) fn push(&mut self, event: Event) {
        match &mut self.0 {
            Kept::None => self.0 = Kept::One([event]),
            _ => self.push_another(event),
        }
    }

    fn push_another(&mut self, event: Event) {
        self.0 = Kept::Several(match std::mem::take(&mut self.0) {
            Kept::None => vec![event],
            Kept::One([first]) => vec![first, event],
            Kept::Several(mut events) => {
                events.push(event);
                events
            }
        });
    }
}

impl Deref for Events {
    type Target = [Event];

    fn deref(&self) -> &[Event] {
        match &self.0 {
            Kept::None => &[],
            Kept::One(one) => one,
            Kept::Several(events) => events,
        }
    }
}

impl From<Events> for Vec<Event> {
    fn from(events: Events) -> Self {
        match events.0 {
            Kept::None => Vec::new(),
            Kept::One(one) => one.into(),
            Kept::Several(events) => events,
        }
    }
}

impl<E: AsRef<[Event]>> PartialEq<E> for Events {
    fn eq(&self, other: &E) -> bool {
        **self == *other.as_ref()
    }
}

impl IntoIterator for Events {
    type Item = Event;
    type IntoIter = Chain<option::IntoIter<Event>, vec::IntoIter<Event>>;

    fn into_iter(self) -> Self::IntoIter {
        let (one, several) = match self.0 {
            Kept::None => (None, Vec::new()),
            Kept::One([event]) => (Some(event), Vec::new()),
            Kept::Several(events) => (None, events),
        };
        one.into_iter().chain(several)
    }
}

impl<'e> IntoIterator for &'e Events {
    type Item = &'e Event;
    type IntoIter = std::slice::Iter<'e, Event>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
