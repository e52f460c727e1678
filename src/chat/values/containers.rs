//! Lists and dictionaries.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use indexmap::{Equivalent, IndexMap};
use minijinja::Value;
use minijinja::value::{Enumerator, Object, ObjectRepr, Tuple};

use super::{Kind, Result, error, lazy, operators};
use crate::chat::engine::limits;
use crate::chat::engine::read_recorder::Watch;

/// How deep values may nest. Values are dropped and printed recursively, and a loop can nest them as deep as
/// it has turns.
const MAX_DEPTH: u16 = 400;

/// How much hangs on a value: comparing and printing visit all of it, and a value that holds itself twice,
/// over and over, has more parts than memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extent {
    depth: u16,
    parts: usize,
}

impl Extent {
    /// What hangs on a value.
    fn of(value: &Value) -> Self {
        let Some(object) = value.as_object() else { return Self { depth: 0, parts: 1 } };
        if let Some(list) = object.downcast_ref::<List>() {
            list.extent
        } else if let Some(dict) = object.downcast_ref::<Dict>() {
            dict.extent
        } else if let Some(items) = object.downcast_ref::<Vec<Value>>() {
            Self::around(items)
        } else if let Some(items) = object.downcast_ref::<Tuple>() {
            Self::around(items.iter())
        } else {
            lazy::extent(value)
        }
    }

    /// The greater of both.
    pub(crate) fn max(self, other: Self) -> Self {
        Self { depth: self.depth.max(other.depth), parts: self.parts.max(other.parts) }
    }

    fn around<'v>(items: impl IntoIterator<Item = &'v Value>) -> Self {
        let mut whole = Self { depth: 0, parts: 1 };
        for item in items {
            let part = Self::of(item);
            whole.depth = whole.depth.max(part.depth);
            whole.parts = whole.parts.saturating_add(part.parts);
        }
        whole.depth = whole.depth.saturating_add(1);
        whole
    }

    /// What hangs on a container of these items, where that is not too much.
    pub(crate) fn checked<'v>(items: impl IntoIterator<Item = &'v Value>) -> Result<Self> {
        let extent = Self::around(items);
        if extent.depth > MAX_DEPTH {
            return Err(error(format!("values nested more than {MAX_DEPTH} deep")));
        }
        limits::items(extent.parts)?;
        Ok(extent)
    }
}

/// A Python list that nothing can change.
#[derive(Debug)]
pub(crate) struct List {
    items: Vec<Value>,
    extent: Extent,
}

impl List {
    pub(crate) fn items(&self) -> &[Value] {
        &self.items
    }
}

/// A list as a value.
pub(crate) fn list(items: Vec<Value>) -> Result<Value> {
    let extent = Extent::checked(&items)?;
    Ok(Value::from_object(List { items, extent }))
}

/// A tuple as a value.
pub(crate) fn tuple(items: Vec<Value>) -> Result<Value> {
    Extent::checked(&items)?;
    Ok(Value::from(Tuple::from(items)))
}

impl Object for List {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.items.get(key.as_usize()?).cloned()
    }

    fn get_value_by_str(self: &Arc<Self>, _key: &str) -> Option<Value> {
        None
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.items.len())
    }
}

/// The entries of a dictionary, in their order.
pub(crate) type Entries = IndexMap<Key, Value, foldhash::fast::RandomState>;

/// A key of a dictionary: equal and hashed as Python has it, so that `1`, `1.0` and `True` are one key.
#[derive(Clone, Debug)]
pub(crate) struct Key(Value);

impl Key {
    /// Takes a value for a key; lists and dictionaries cannot be one.
    pub(crate) fn of(value: &Value) -> Result<Self> {
        match Kind::of(value) {
            Kind::List(_) => Err(error("unhashable type: 'list'")),
            Kind::Dict(_) => Err(error("unhashable type: 'dict'")),
            Kind::Tuple(items) => {
                limits::spend(items.len());
                limits::check()?;
                items.iter().try_for_each(|item| Key::of(item).map(drop))?;
                Ok(Key(value.clone()))
            }
            _ => Ok(Key(value.clone())),
        }
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

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        match (self.0.as_str(), other.0.as_str()) {
            (Some(a), Some(b)) => a.len() == b.len() && limits::spend_key(a) && a == b,
            (None, None) => operators::equal(&self.0, &other.0),
            _ => false,
        }
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash(&self.0, state);
    }
}

fn hash<H: Hasher>(value: &Value, state: &mut H) {
    // Equal numbers of different types must meet, and both zeros.
    let mut number = |number: f64| (number + 0.0).to_bits().hash(state);
    match Kind::of(value) {
        Kind::Str(text) => {
            if limits::spend_key(text) {
                text.hash(state);
            }
        }
        Kind::Bool(truth) => number(f64::from(u8::from(truth))),
        Kind::Int(integer) => number(integer as f64),
        Kind::Float(float) => number(float),
        Kind::Tuple(items) => {
            if limits::spend(items.len()) {
                items.iter().for_each(|item| hash(item, state));
            }
        }
        // Everything else is too rare as a key to spread.
        _ => 0_i64.hash(state),
    }
}

impl Equivalent<Key> for str {
    fn equivalent(&self, key: &Key) -> bool {
        key.0.as_str() == Some(self)
    }
}

/// A Python dictionary that nothing can change; where it is watched, it tells what it is asked for.
#[derive(Debug)]
pub(crate) struct Dict {
    entries: Entries,
    extent: Extent,
    watch: Option<Watch>,
}

impl Dict {
    /// A dictionary that came with the conversation.
    pub(crate) fn given(entries: Entries, watch: Option<Watch>) -> Result<Value> {
        let extent = Extent::checked(entries.values())?;
        Ok(Value::from_object(Self { entries, extent, watch }))
    }

    /// A dictionary that the template made.
    pub(crate) fn value(entries: Entries) -> Result<Value> {
        Self::given(entries, None)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &Value) -> Option<Value> {
        match key.as_str() {
            Some(key) => self.get_str(key),
            None => self.entries.get(&Key::of(key).ok()?).cloned(),
        }
    }

    /// The value of another dictionary's key.
    pub(crate) fn entry(&self, key: &Key) -> Option<&Value> {
        self.entries.get(key)
    }

    fn get_str(&self, key: &str) -> Option<Value> {
        if !limits::spend_key(key) {
            return None;
        }
        let found = self.entries.get(key);
        if let Some(watch) = &self.watch {
            watch.key(key, found.is_some());
        }
        found.cloned()
    }

    /// Says that everything in it was taken, be it by printing or by iterating.
    pub(crate) fn note_whole(&self) {
        if let Some(watch) = &self.watch {
            watch.whole();
        }
    }

    /// All entries, in their order. What uses them says so with [`Dict::note_whole`].
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Key, &Value)> {
        self.entries.iter()
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = Value> {
        self.entries.keys().map(Key::value)
    }
}

impl Object for Dict {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get(key)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        self.get_str(key)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        self.note_whole();
        Enumerator::Values(self.keys().collect())
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.len())
    }
}
