//! Namespaces, the values of `namespace()`.

use std::sync::{Arc, Mutex, PoisonError};

use minijinja::Value;
use minijinja::value::{DynObject, Object, ObjectRepr};

use super::entries::{Entries, Key};
use super::error::{Result, error};
use super::extent::Extent;
use crate::engine::limits;

/// The sandbox reserves names that begin with an underscore.
fn check_name(name: &str) -> Result<()> {
    if name.starts_with('_') {
        Err(error(format!("a namespace cannot hold '{name}': it begins with an underscore")))
    } else {
        Ok(())
    }
}

/// The only value that a template can assign to from an inner scope.
#[derive(Debug)]
pub(crate) struct Namespace {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    entries: Entries,
    extent: Extent,
}

impl Namespace {
    /// A namespace with these entries; `extent` is that of a container of them. Fails on names that begin with an
    /// underscore.
    pub(crate) fn new(entries: Entries, extent: Extent) -> Result<Self> {
        entries.keys().filter_map(|key| key.as_value().as_str()).try_for_each(check_name)?;
        Ok(Self { inner: Mutex::new(Inner { entries, extent }) })
    }

    /// A copy of its entries.
    pub(crate) fn entries(&self) -> Entries {
        self.with(|inner| inner.entries.clone())
    }

    fn with<T>(&self, action: impl FnOnce(&mut Inner) -> T) -> T {
        action(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// `{% set namespace.name = value %}`; `around` is the extent of a container of the value.
    pub(crate) fn set(&self, name: &str, value: Value, around: Extent) -> Result<()> {
        check_name(name)?;
        self.with(|inner| {
            inner.extent = inner.extent.max(around);
            inner.entries.insert(Key::from(name), value);
        });
        Ok(())
    }

    pub(crate) fn extent(&self) -> Extent {
        self.inner.try_lock().map(|inner| inner.extent).unwrap_or_default()
    }

    /// Drops everything it holds, which may include itself.
    pub(crate) fn clear(&self) {
        let entries = self.with(|inner| std::mem::take(&mut inner.entries));
        drop(entries);
    }
}

impl Object for Namespace {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        if !limits::spend_key(key) {
            return None;
        }
        self.with(|inner| inner.entries.get_str(key).cloned())
    }

    fn is_true(self: &Arc<Self>) -> bool {
        true
    }

    // A namespace equals itself alone.
    fn custom_cmp(self: &Arc<Self>, other: &DynObject) -> Option<std::cmp::Ordering> {
        let other = other.downcast_ref::<Namespace>()?;
        Some(std::ptr::from_ref::<Namespace>(self).cmp(&std::ptr::from_ref(other)))
    }
}
