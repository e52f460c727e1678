//! What is built in, by name.

/// Filters, tests or functions with their names.
pub(crate) struct Table<T: 'static>(pub(super) &'static [(&'static str, T)]);

impl<T: Copy> Table<T> {
    pub(crate) fn find(&self, name: &str) -> Option<T> {
        // Most names differ in length, so that looking at each is faster than a search by order.
        self.0.iter().find(|(known, _)| *known == name).map(|(_, found)| *found)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|(name, _)| *name)
    }
}
