//! The value of `self` in a template: its blocks, each of which renders when called.

use std::fmt;
use std::sync::Arc;

use minijinja::value::{Object, ObjectRepr};
use minijinja::{State, Value};

use crate::chat::engine::limits;
use crate::chat::values::arguments::none;
use crate::chat::values::text::to_str;
use crate::chat::values::{Result, items_of};

/// `self` in a template with blocks of these names.
pub(crate) fn value(names: &Value) -> Result<Value> {
    let names = items_of(names)?.iter().map(|name| to_str(name).into_owned()).collect();
    Ok(Value::from_object(OwnBlocks { names }))
}

/// The blocks by name; any other name is undefined.
#[derive(Debug)]
struct OwnBlocks {
    names: Vec<String>,
}

impl Object for OwnBlocks {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        let name = self.names.iter().find(|name| *name == key)?;
        Some(Value::from_object(Block { name: name.clone() }))
    }

    fn render(self: &Arc<Self>, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("<TemplateReference None>")
    }
}

/// One block; calling it renders it where it is called.
#[derive(Debug)]
struct Block {
    name: String,
}

impl Object for Block {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        (key == "name").then(|| Value::from(self.name.as_str()))
    }

    fn call(self: &Arc<Self>, state: &mut State<'_, '_>, arguments: &[Value]) -> Result<Value> {
        none("a block", arguments)?;
        let text = state.render_block(&self.name)?;
        limits::charge_bytes(text.len())?;
        Ok(Value::from(text))
    }

    fn render(self: &Arc<Self>, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("<jinja2.runtime.BlockReference object>")
    }
}
