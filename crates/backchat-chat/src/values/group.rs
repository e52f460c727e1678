//! One group of the filter `groupby`.

use std::sync::Arc;

use minijinja::Value;
use minijinja::value::{Enumerator, Object, ObjectRepr};

/// A pair with names.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) grouper: Value,
    pub(crate) list: Value,
}

impl Object for Group {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match key.as_usize() {
            Some(0) => Some(self.grouper.clone()),
            Some(1) => Some(self.list.clone()),
            Some(_) => None,
            None => self.get_value_by_str(key.as_str()?),
        }
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        match key {
            "grouper" => Some(self.grouper.clone()),
            "list" => Some(self.list.clone()),
            _ => None,
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(2)
    }
}
