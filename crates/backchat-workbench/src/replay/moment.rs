//! A moment of a recording: a plain pair of counts, ordered by time.

/// A moment of a recorded parse: how many feeds were given and how many events were taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment {
    /// The last feed that was given.
    pub feed: usize,
    /// How many events were taken.
    pub event: usize,
}
