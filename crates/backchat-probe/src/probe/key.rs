//! The keys of the cache: 64 bits of a context, in which the order of keys and the text of numbers count.

use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::FixedState;

use backchat_core::json::{Object, Value};

/// The hash of something, the same in every run.
pub(super) fn hash(hashed: impl Hash) -> u64 {
    FixedState::default().hash_one(hashed)
}

pub(super) struct Hashed<'v>(pub &'v Value);

/// An object, hashed with the order of its keys.
pub(super) struct Entries<'v>(pub &'v Object);

impl Hash for Hashed<'_> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        std::mem::discriminant(self.0).hash(hasher);
        match self.0 {
            Value::Null => {}
            Value::Bool(value) => value.hash(hasher),
            Value::Number(number) => number.as_str().hash(hasher),
            Value::String(text) => text.hash(hasher),
            Value::List(values) => {
                values.len().hash(hasher);
                values.iter().for_each(|value| Hashed(value).hash(hasher));
            }
            Value::Object(object) => Entries(object).hash(hasher),
        }
    }
}

impl Hash for Entries<'_> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.len().hash(hasher);
        for (name, value) in self.0 {
            name.hash(hasher);
            Hashed(value).hash(hasher);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            }
            assert_eq!(hash(Entries(one)), hash(Entries(&one.clone())));
        }
    }
}
