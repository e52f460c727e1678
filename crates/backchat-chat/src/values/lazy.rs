//! Lazy values: generators, views of a dictionary, ranges.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use minijinja::Value;
use minijinja::value::{Enumerator, Object, ObjectRepr};

use super::error::{Result, error};
use super::extent::Extent;

/// The result of a filter such as `map` or `select`: always true, without a length, empty after one pass. Only
/// [`build`](super::build) creates generators and views.
#[derive(Debug)]
pub(crate) struct Generator {
    pub(super) items: Mutex<VecDeque<Value>>,
    pub(super) extent: Extent,
}

impl Generator {
    fn take(&self) -> Vec<Value> {
        std::mem::take(&mut *self.items.lock().unwrap_or_else(PoisonError::into_inner)).into()
    }

    /// What it still holds.
    pub(super) fn remaining(&self) -> Vec<Value> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    pub(crate) fn next(&self) -> Option<Value> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

impl Object for Generator {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Iterable
    }

    // Keeps the engine from indexing into the items.
    fn get_value(self: &Arc<Self>, _key: &Value) -> Option<Value> {
        Some(Value::UNDEFINED)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.take())
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        None
    }

    fn is_true(self: &Arc<Self>) -> bool {
        true
    }
}

/// The part of a dictionary that a view shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Keys,
    Values,
    Items,
}

/// The result of `keys()`, `values()` and `items()`.
#[derive(Debug)]
pub(crate) struct View {
    pub(super) items: Vec<Value>,
    pub(super) side: Side,
    pub(super) extent: Extent,
}

impl View {
    pub(crate) fn type_name(&self) -> &'static str {
        match self.side {
            Side::Keys => "dict_keys",
            Side::Values => "dict_values",
            Side::Items => "dict_items",
        }
    }
}

impl Object for View {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Iterable
    }

    fn get_value(self: &Arc<Self>, _key: &Value) -> Option<Value> {
        Some(Value::UNDEFINED)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.items.clone())
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.items.len())
    }
}

/// The result of `range()`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(crate) start: i64,
    pub(crate) stop: i64,
    pub(crate) step: i64,
}

impl Range {
    /// The maximum length that the sandbox allows.
    const MAX_LEN: usize = 100_000;

    pub(crate) fn value(start: i64, stop: i64, step: i64) -> Result<Value> {
        if step == 0 {
            return Err(error("range() arg 3 must not be zero"));
        }
        let range = Self { start, stop, step };
        if range.len() > Self::MAX_LEN {
            return Err(error(format!("range too big: the sandbox stops at {} items", Self::MAX_LEN)));
        }
        Ok(Value::from_object(range))
    }

    pub(crate) fn len(&self) -> usize {
        let (start, stop, step) = (i128::from(self.start), i128::from(self.stop), i128::from(self.step));
        let span = if step > 0 { stop - start } else { start - stop };
        if span <= 0 { 0 } else { usize::try_from((span - 1) / step.abs() + 1).unwrap_or(usize::MAX) }
    }

    pub(crate) fn get(&self, index: usize) -> Option<Value> {
        let offset = i64::try_from(index).ok()?.checked_mul(self.step)?;
        (index < self.len()).then(|| Value::from(self.start.saturating_add(offset)))
    }
}

impl Object for Range {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match key.as_str() {
            Some("start") => Some(Value::from(self.start)),
            Some("stop") => Some(Value::from(self.stop)),
            Some("step") => Some(Value::from(self.step)),
            Some(_) => None,
            None => self.get(key.as_usize()?),
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.len())
    }
}

pub(super) fn is_lazy(value: &Value) -> bool {
    value.downcast_object_ref::<Generator>().is_some()
        || value.downcast_object_ref::<View>().is_some()
        || value.downcast_object_ref::<Range>().is_some()
}

/// Whether a value is lazy, or another iterable of the engine.
pub(crate) fn is_iterable(value: &Value) -> bool {
    value.as_object().is_some_and(|object| matches!(object.repr(), ObjectRepr::Iterable | ObjectRepr::Seq))
}
