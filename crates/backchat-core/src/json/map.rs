//! A map from strings that keeps the order of its keys. Looking one up takes no time that grows with the map.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher;

use hashbrown::HashTable;
use smol_str::SmolStr;

/// Up to this many entries are compared one by one, which is faster than hashing and needs no memory of its own.
const SMALL: usize = 12;

/// A map from strings to values of any kind; keys keep their order. A key of up to 23 bytes takes no memory of its own.
///
/// ```
/// # use backchat_core as backchat;
/// use backchat::json::{Object, Value};
///
/// let mut object = Object::new();
/// object.insert("b", 1.into());
/// object.insert("a", "x".into());
/// object.insert("b", 2.into());
/// assert_eq!(Value::from(object).to_string(), r#"{"b": 2, "a": "x"}"#);
/// ```
#[derive(Clone)]
pub struct Map<V> {
    entries: Vec<(SmolStr, V)>,
    /// The index of each key, once there are more than a few.
    index: Option<Box<Index>>,
}

#[derive(Clone, Default)]
struct Index {
    places: HashTable<usize>,
    state: RandomState,
}

impl Index {
    fn of<V>(entries: &[(SmolStr, V)]) -> Self {
        let mut index = Self::default();
        entries.iter().enumerate().for_each(|(place, (key, _))| index.add(entries, key, place));
        index
    }

    /// Adds a key at an index, after these entries or among them.
    fn add<V>(&mut self, entries: &[(SmolStr, V)], key: &str, place: usize) {
        let key_at = |place: &usize| entries.get(*place).map_or(key, |(key, _)| key.as_str());
        self.places.insert_unique(self.state.hash_one(key), place, |place| self.state.hash_one(key_at(place)));
    }

    fn find<V>(&self, entries: &[(SmolStr, V)], key: &str) -> Option<usize> {
        let is_key = |place: &usize| entries.get(*place).is_some_and(|(other, _)| other == key);
        self.places.find(self.state.hash_one(key), is_key).copied()
    }
}

impl<V> Default for Map<V> {
    fn default() -> Self {
        Self { entries: Vec::new(), index: None }
    }
}

impl<V> Map<V> {
    /// A map without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many entries it has.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn place(&self, key: &str) -> Option<usize> {
        match &self.index {
            Some(index) => index.find(&self.entries, key),
            None => self.entries.iter().position(|(other, _)| other == key),
        }
    }

    /// Makes the index fit entries that have moved.
    fn reindex(&mut self) {
        self.index = (self.entries.len() > SMALL).then(|| Box::new(Index::of(&self.entries)));
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&V> {
        self.entries.get(self.place(key)?).map(|(_, value)| value)
    }

    /// The value of a key, mutable.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut V> {
        let place = self.place(key)?;
        self.entries.get_mut(place).map(|(_, value)| value)
    }

    /// The stored key, and its value.
    pub fn get_key_value(&self, key: &str) -> Option<(&str, &V)> {
        self.entries.get(self.place(key)?).map(|(key, value)| (key.as_str(), value))
    }

    /// The first key and its value.
    pub fn first(&self) -> Option<(&str, &V)> {
        self.entries.first().map(|(key, value)| (key.as_str(), value))
    }

    /// Sets a key and moves it to a place, or to the end if there are fewer keys.
    pub fn insert_at(&mut self, place: usize, key: impl AsRef<str>, value: V) {
        let key = key.as_ref();
        self.entries.retain(|(other, _)| other != key);
        self.entries.insert(place.min(self.entries.len()), (key.into(), value));
        self.reindex();
    }

    /// Whether it has the key.
    pub fn contains_key(&self, key: &str) -> bool {
        self.place(key).is_some()
    }

    /// Sets a key; returns its old value. A new key comes last, and an existing one keeps its place.
    pub fn insert(&mut self, key: impl AsRef<str>, value: V) -> Option<V> {
        let key = key.as_ref();
        if let Some(before) = self.get_mut(key) {
            return Some(std::mem::replace(before, value));
        }
        self.push(key.into(), value);
        None
    }

    /// Adds a key that it does not have.
    fn push(&mut self, key: SmolStr, value: V) -> &mut V {
        if self.entries.len() >= SMALL {
            let index = self.index.get_or_insert_with(|| Box::new(Index::of(&self.entries)));
            index.add(&self.entries, &key, self.entries.len());
        }
        &mut self.entries.push_mut((key, value)).1
    }

    #[expect(clippy::indexing_slicing, reason = "an entry exists only at a place that was just found")]
    fn value_at(&mut self, place: usize) -> &mut V {
        &mut self.entries[place].1
    }

    /// The entry of a key, for inspection and insertion.
    pub fn entry(&mut self, key: impl AsRef<str>) -> MapEntry<'_, V> {
        let key = key.as_ref();
        MapEntry { place: self.place(key), map: self, key: key.into() }
    }

    /// Removes a key; the keys after it keep their order.
    pub fn shift_remove(&mut self, key: &str) -> Option<V> {
        let place = self.place(key)?;
        let (_, value) = self.entries.remove(place);
        self.reindex();
        Some(value)
    }

    /// Keeps the entries for which the closure returns true.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &mut V) -> bool) {
        let before = self.entries.len();
        self.entries.retain_mut(|(key, value)| keep(key, value));
        if self.entries.len() != before {
            self.reindex();
        }
    }

    /// The keys and values in order.
    pub fn iter(&self) -> Iter<'_, V> {
        Iter(self.entries.iter())
    }

    /// The keys and values in order, the values mutable.
    pub fn iter_mut(&mut self) -> IterMut<'_, V> {
        IterMut(self.entries.iter_mut())
    }

    /// The keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        self.entries.iter().map(|(key, _)| key.as_str())
    }

    /// The values in order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator {
        self.entries.iter().map(|(_, value)| value)
    }

    /// The values in order of their keys, mutable.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> + ExactSizeIterator {
        self.entries.iter_mut().map(|(_, value)| value)
    }
}

/// The place of a key in a [`Map`].
#[derive(Debug)]
pub struct MapEntry<'o, V> {
    map: &'o mut Map<V>,
    key: SmolStr,
    place: Option<usize>,
}

impl<'o, V> MapEntry<'o, V> {
    /// The existing value, or else the given one, inserted.
    pub fn or_insert(self, value: V) -> &'o mut V {
        self.or_insert_with(|| value)
    }

    /// The existing value, or else that of the closure, inserted.
    pub fn or_insert_with(self, value: impl FnOnce() -> V) -> &'o mut V {
        match self.place {
            Some(place) => self.map.value_at(place),
            None => self.map.push(self.key, value()),
        }
    }

    /// Sets the value, replacing any old one.
    pub fn insert(self, value: V) -> &'o mut V {
        match self.place {
            Some(place) => {
                let before = self.map.value_at(place);
                *before = value;
                before
            }
            None => self.map.push(self.key, value),
        }
    }
}

impl<'o, V: Default> MapEntry<'o, V> {
    /// The existing value, or else the default, inserted.
    pub fn or_default(self) -> &'o mut V {
        self.or_insert_with(V::default)
    }
}

/// The entries of a [`Map`] in order.
#[derive(Debug)]
pub struct Iter<'o, V>(std::slice::Iter<'o, (SmolStr, V)>);

/// The entries of a [`Map`] in order, the values mutable.
#[derive(Debug)]
pub struct IterMut<'o, V>(std::slice::IterMut<'o, (SmolStr, V)>);

impl<'o, V> Iterator for Iter<'o, V> {
    type Item = (&'o str, &'o V);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (key.as_str(), value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<V> DoubleEndedIterator for Iter<'_, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(key, value)| (key.as_str(), value))
    }
}

impl<V> ExactSizeIterator for Iter<'_, V> {}

impl<'o, V> Iterator for IterMut<'o, V> {
    type Item = (&'o str, &'o mut V);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (key.as_str(), value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<V> ExactSizeIterator for IterMut<'_, V> {}

/// The entries of a [`Map`] in order, by value.
#[derive(Debug)]
pub struct IntoIter<V>(std::vec::IntoIter<(SmolStr, V)>);

impl<V> Iterator for IntoIter<V> {
    type Item = (String, V);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (key.into(), value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<V> DoubleEndedIterator for IntoIter<V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(key, value)| (key.into(), value))
    }
}

impl<V> ExactSizeIterator for IntoIter<V> {}

impl<V> IntoIterator for Map<V> {
    type Item = (String, V);
    type IntoIter = IntoIter<V>;

    fn into_iter(self) -> Self::IntoIter {
        IntoIter(self.entries.into_iter())
    }
}

impl<'o, V> IntoIterator for &'o Map<V> {
    type Item = (&'o str, &'o V);
    type IntoIter = Iter<'o, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'o, V> IntoIterator for &'o mut Map<V> {
    type Item = (&'o str, &'o mut V);
    type IntoIter = IterMut<'o, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<K: AsRef<str>, V> Extend<(K, V)> for Map<V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        let entries = entries.into_iter();
        self.entries.reserve(entries.size_hint().0);
        entries.for_each(|(key, value)| drop(self.insert(key, value)));
    }
}

impl<K: AsRef<str>, V> FromIterator<(K, V)> for Map<V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<K: AsRef<str>, V, const N: usize> From<[(K, V); N]> for Map<V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

/// Two maps are equal if the same keys have equal values, in any order.
impl<V: PartialEq> PartialEq for Map<V> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(key, value)| other.get(key) == Some(value))
    }
}

impl<V: Eq> Eq for Map<V> {}

impl<V: fmt::Debug> fmt::Debug for Map<V> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::json::{Object, Value};

    /// Conversations are millions of values.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn a_value_is_four_words() {
        assert_eq!(size_of::<Value>(), 32);
        assert_eq!(size_of::<(smol_str::SmolStr, Value)>(), size_of::<(String, Value)>());
    }

    proptest! {
        /// After any operations it equals a plain list of entries.
        #[test]
        fn an_object_is_a_list_of_entries(steps in prop::collection::vec((0..3_u8, 0..40_u8), 0..120)) {
            let mut object = Object::new();
            let mut list: Vec<(String, Value)> = Vec::new();
            for (number, (step, key)) in (0_i64..).zip(steps) {
                // Long keys are kept otherwise than short ones.
                let key = "k".repeat(usize::from(key));
                let place = list.iter().position(|(other, _)| *other == key);
                let value = Value::from(number);
                let before = match (step, place) {
                    (0, Some(place)) => {
                        prop_assert_eq!(object.shift_remove(&key), Some(list.remove(place).1));
                        continue;
                    }
                    (0, None) => None,
                    (1, _) => {
                        if place.is_none() {
                            list.push((key.clone(), value.clone()));
                        }
                        object.entry(key.clone()).or_insert(value);
                        continue;
                    }
                    (_, Some(place)) => Some(std::mem::replace(&mut list[place].1, value.clone())),
                    (_, None) => {
                        list.push((key.clone(), value.clone()));
                        None
                    }
                };
                let found = if step == 0 { object.shift_remove(&key) } else { object.insert(key, value) };
                prop_assert_eq!(found, before);
            }
            prop_assert!(object.iter().map(|(key, value)| (key.to_owned(), value.clone())).eq(list.iter().cloned()));
            for length in 0..40 {
                let key = "k".repeat(length);
                prop_assert_eq!(object.get(&key), list.iter().find(|(other, _)| *other == key).map(|(_, value)| value));
            }
            let turned: Object = list.into_iter().rev().collect();
            prop_assert!(object == turned, "the order of keys does not count");
        }
    }
}
