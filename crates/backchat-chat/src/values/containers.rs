//! Immutable lists and dictionaries.

use std::sync::Arc;

use minijinja::Value;
use minijinja::value::{Enumerator, Object, ObjectRepr, Tuple};

use super::entries::{Entries, Key};
use super::error::{Result, error};
use super::extent::Extent;
use crate::engine::limits;
use crate::engine::read_recorder::Watch;

/// An immutable Python list. Only [`build`](super::build) creates lists, because it measures the items.
#[derive(Debug)]
pub(crate) struct List {
    pub(super) items: Vec<Value>,
    pub(super) extent: Extent,
}

impl List {
    pub(crate) fn items(&self) -> &[Value] {
        &self.items
    }
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

impl Key {
    /// A value as a key. Fails for lists and dictionaries, and tuples that hold them.
    pub(crate) fn of(value: &Value) -> Result<Self> {
        let Some(object) = value.as_object() else { return Ok(Key::new(value.clone())) };
        if object.downcast_ref::<List>().is_some() || object.downcast_ref::<Vec<Value>>().is_some() {
            return Err(error("unhashable type: 'list'"));
        }
        if object.downcast_ref::<Dict>().is_some() {
            return Err(error("unhashable type: 'dict'"));
        }
        if let Some(items) = object.downcast_ref::<Tuple>() {
            limits::charge_units(items.len())?;
            items.iter().try_for_each(|item| Key::of(item).map(drop))?;
        }
        Ok(Key::new(value.clone()))
    }
}

/// An immutable Python dictionary; a watched one reports lookups. Only [`build`](super::build) creates dictionaries.
#[derive(Debug)]
pub(crate) struct Dict {
    pub(super) entries: Entries,
    pub(super) extent: Extent,
    pub(super) watch: Option<Watch>,
}

impl Dict {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

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

    pub(crate) fn get_str(&self, key: &str) -> Option<Value> {
        if !limits::spend_key(key) {
            return None;
        }
        let found = self.entries.get_str(key);
        if let Some(watch) = &self.watch {
            watch.key(key, found.is_some());
        }
        found.cloned()
    }

    /// Reports that all of it was read, by printing or iterating.
    pub(crate) fn note_whole(&self) {
        if let Some(watch) = &self.watch {
            watch.whole();
        }
    }

    /// All entries, in their order, reported as read.
    pub(crate) fn read_all(&self) -> impl Iterator<Item = (&Key, &Value)> {
        self.note_whole();
        self.entries()
    }

    /// All entries, in their order. Callers that use them must call [`Dict::note_whole`].
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
