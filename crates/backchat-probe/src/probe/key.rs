//! Keys of caches: found by a hash of 64 bits, and compared, because two keys may share it. The order of the keys of an
//! object and the text of numbers count.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::FixedState;

use backchat_core::json::{Object, Value};

/// The hash of something, the same in every run.
pub(super) fn hash(hashed: impl Hash) -> u64 {
    FixedState::default().hash_one(hashed)
}

/// Values by keys. Its callers hash and compare keys, which may be looked up in another form than they are kept in.
pub(crate) struct Known<K, V> {
    by_hash: HashMap<u64, Vec<(K, V)>, FixedState>,
}

impl<K, V> Default for Known<K, V> {
    fn default() -> Self {
        Self { by_hash: HashMap::default() }
    }
}

impl<K, V> Known<K, V> {
    pub fn get(&self, hash: u64, is_key: impl Fn(&K) -> bool) -> Option<&V> {
        self.by_hash.get(&hash)?.iter().find(|(key, _)| is_key(key)).map(|(_, value)| value)
    }

    /// Adds a key that is not known yet.
    pub fn insert(&mut self, hash: u64, key: K, value: V) {
        self.by_hash.entry(hash).or_default().push((key, value));
    }
}

/// A value that is hashed and compared with the order of its keys and the text of its numbers.
pub(super) struct Exact<'v>(pub &'v Value);

/// The same for an object.
pub(super) struct Entries<'v>(pub &'v Object);

impl Hash for Exact<'_> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        std::mem::discriminant(self.0).hash(hasher);
        match self.0 {
            Value::Null => {}
            Value::Bool(value) => value.hash(hasher),
            Value::Number(number) => number.as_str().hash(hasher),
            Value::String(text) => text.hash(hasher),
            Value::List(values) => {
                values.len().hash(hasher);
                values.iter().for_each(|value| Exact(value).hash(hasher));
            }
            Value::Object(object) => Entries(object).hash(hasher),
        }
    }
}

impl PartialEq for Exact<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self.0, other.0) {
            (Value::List(one), Value::List(other)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(one, other)| Exact(one) == Exact(other))
            }
            (Value::Object(one), Value::Object(other)) => Entries(one) == Entries(other),
            (one, other) => one == other,
        }
    }
}

impl Hash for Entries<'_> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.len().hash(hasher);
        for (name, value) in self.0 {
            name.hash(hasher);
            Exact(value).hash(hasher);
        }
    }
}

impl PartialEq for Entries<'_> {
    fn eq(&self, other: &Self) -> bool {
        let same = |((name, value), (other_name, other)): ((&str, &Value), (&str, &Value))| {
            name == other_name && Exact(value) == Exact(other)
        };
        self.0.len() == other.0.len() && self.0.iter().zip(other.0.iter()).all(same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_under_one_hash_are_told_apart_by_their_keys() {
        let mut known = Known::default();
        known.insert(7, "one", 1);
        known.insert(7, "two", 2);
        let get = |hash, key| known.get(hash, |known: &&str| *known == key).copied();
        assert_eq!([get(7, "one"), get(7, "two"), get(7, "three"), get(8, "one")], [Some(1), Some(2), None, None]);
    }

    #[test]
    fn contexts_that_differ_have_different_keys() {
        let contexts: Vec<Object> = [
            r#"{}"#,
            r#"{"a": 1}"#,
            r#"{"a": "1"}"#,
            r#"{"a": 1.0}"#,
            r#"{"a": true}"#,
            r#"{"a": null}"#,
            r#"{"a": [1]}"#,
            r#"{"a": [[1]]}"#,
            r#"{"a": {"b": 1}}"#,
            r#"{"a": 1, "b": 1}"#,
            // Templates print objects in their order.
            r#"{"b": 1, "a": 1}"#,
        ]
        .iter()
        .map(|text| backchat_core::json::read(text).unwrap().as_object().unwrap().clone())
        .collect();
        for (at, one) in contexts.iter().enumerate() {
            for other in &contexts[at + 1..] {
                assert_ne!(hash(Entries(one)), hash(Entries(other)), "{one:?} {other:?}");
                assert!(Entries(one) != Entries(other), "{one:?} {other:?}");
            }
            assert_eq!(hash(Entries(one)), hash(Entries(&one.clone())));
            assert!(Entries(one) == Entries(&one.clone()));
        }
    }
}
