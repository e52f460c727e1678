//! Lookup of filters, tests and functions by name.

/// Filters, tests or functions by name.
pub(crate) struct Table<T: 'static>(pub(super) &'static [(&'static str, T)]);

impl<T: Copy> Table<T> {
    pub(crate) fn find(&self, name: &str) -> Option<T> {
        // Most names differ in length, so a linear search is faster than a binary one.
        self.0.iter().find(|(known, _)| *known == name).map(|(_, found)| *found)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|(name, _)| *name)
    }
}
