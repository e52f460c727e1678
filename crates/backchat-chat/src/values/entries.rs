//! The keys and entries of a dictionary, in insertion order. Small dictionaries, as in conversations, are searched
//! linearly: that is faster than hashing keys.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use minijinja::Value;

/// Up to this many entries are searched without an index.
const FEW: usize = 8;

/// A key of a dictionary: equal and hashed as in Python, so that `1`, `1.0` and `True` are one key. Keys are equal if
/// their values are, so [`equality`](super::equality) implements both.
#[derive(Clone, Debug)]
pub(crate) struct Key(Value);

impl Key {
    /// The key of a hashable value; [`Key::of`] checks that.
    pub(super) fn new(value: Value) -> Self {
        Self(value)
    }

    pub(crate) fn as_value(&self) -> &Value {
        &self.0
    }

    pub(crate) fn value(&self) -> Value {
        self.0.clone()
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Key(Value::from(text))
    }
}

/// An entry as a tuple.
pub(crate) fn pair((key, value): (&Key, &Value)) -> Value {
    Value::from((key.value(), value.clone()))
}

/// Keys with their values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entries {
    list: Vec<(Key, Value)>,
    /// The places of the entries by the hash of their keys, if there are more than a few.
    index: HashTable<usize>,
    hasher: RandomState,
}

impl Entries {
    /// Entries with distinct keys.
    pub(crate) fn of_distinct(list: Vec<(Key, Value)>) -> Self {
        let mut entries = Self { list, ..Self::default() };
        entries.index_new();
        entries
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn first(&self) -> Option<&(Key, Value)> {
        self.list.first()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Key, &Value)> {
        self.list.iter().map(|(key, value)| (key, value))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.list.iter().map(|(key, _)| key)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Value> {
        self.list.iter().map(|(_, value)| value)
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&Value> {
        self.value(self.place(key)?)
    }

    pub(crate) fn get_str(&self, key: &str) -> Option<&Value> {
        let is_key = |known: &Key| known.as_value().as_str() == Some(key);
        if self.index.is_empty() {
            return self.list.iter().find(|(known, _)| is_key(known)).map(|(_, value)| value);
        }
        let place = self.index.find(self.hasher.hash_one(key), |place| self.key(*place).is_some_and(is_key));
        self.value(*place?)
    }

    /// Adds an entry, or replaces the value of a key that is there.
    pub(crate) fn insert(&mut self, key: Key, value: Value) {
        match self.place(&key).and_then(|place| self.list.get_mut(place)) {
            Some((_, old)) => *old = value,
            None => {
                self.list.push((key, value));
                self.index_new();
            }
        }
    }

    fn key(&self, place: usize) -> Option<&Key> {
        self.list.get(place).map(|(key, _)| key)
    }

    fn value(&self, place: usize) -> Option<&Value> {
        self.list.get(place).map(|(_, value)| value)
    }

    fn place(&self, key: &Key) -> Option<usize> {
        if self.index.is_empty() {
            return self.list.iter().position(|(known, _)| known == key);
        }
        self.index.find(self.hasher.hash_one(key), |place| self.key(*place) == Some(key)).copied()
    }

    /// Indexes new entries, once there are more than a few.
    fn index_new(&mut self) {
        let Self { list, index, hasher } = self;
        if list.len() <= FEW {
            return;
        }
        let hash = |place: usize| list.get(place).map_or(0, |(key, _)| hasher.hash_one(key));
        for place in index.len()..list.len() {
            index.insert_unique(hash(place), place, |place| hash(*place));
        }
    }
}

impl Extend<(Key, Value)> for Entries {
    fn extend<T: IntoIterator<Item = (Key, Value)>>(&mut self, entries: T) {
        entries.into_iter().for_each(|(key, value)| self.insert(key, value));
    }
}

impl FromIterator<(Key, Value)> for Entries {
    fn from_iter<T: IntoIterator<Item = (Key, Value)>>(entries: T) -> Self {
        let mut made = Self::default();
        made.extend(entries);
        made
    }
}

#[cfg(test)]
mod tests {
    use super::{Entries, Key};
    use minijinja::Value;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn entries_are_found_however_many_there_are(keys in prop::collection::vec(0_u8..40, 0..60)) {
            let mut entries = Entries::default();
            let mut expected: Vec<(String, usize)> = Vec::new();
            for (value, key) in keys.iter().enumerate() {
                let key = key.to_string();
                entries.insert(Key::from(key.as_str()), Value::from(value));
                match expected.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, old)) => *old = value,
                    None => expected.push((key, value)),
                }
            }
            let found: Vec<_> = entries.iter().map(|(key, value)| (key.as_value().to_string(), value.clone())).collect();
            let wanted: Vec<_> = expected.iter().map(|(key, value)| (key.clone(), Value::from(*value))).collect();
            prop_assert_eq!(found, wanted);
            for (key, value) in &expected {
                prop_assert_eq!(entries.get_str(key), Some(&Value::from(*value)));
                prop_assert_eq!(entries.get(&Key::from(key.as_str())), Some(&Value::from(*value)));
            }
            prop_assert_eq!(entries.get_str("absent"), None);
            let distinct = entries.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
            let again = Entries::of_distinct(distinct);
            prop_assert!(expected.iter().all(|(key, value)| again.get_str(key) == Some(&Value::from(*value))));
        }
    }
}
