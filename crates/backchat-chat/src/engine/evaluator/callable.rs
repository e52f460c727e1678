//! Callables that do not come from the context: macros, built-in functions, blocks.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use minijinja::Value;
use minijinja::value::{Object, ObjectRepr};

use crate::builtins::functions;
use crate::engine::program::{Function, FunctionId};
use crate::values::build;

/// A macro, or the body of a call block.
#[derive(Debug)]
pub(super) struct Macro {
    pub(super) id: FunctionId,
    pub(super) function: Arc<Function>,
    /// The activation it was declared in.
    pub(super) around: usize,
}

impl Object for Macro {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match key.as_str()? {
            "name" => Some(self.function.name.as_deref().map_or(Value::from(()), Value::from)),
            "arguments" => {
                build::tuple(self.function.parameters.iter().map(|parameter| Value::from(&*parameter.name)).collect())
                    .ok()
            }
            "caller" => Some(Value::from(self.function.caller.is_some())),
            "catch_varargs" => Some(Value::from(self.function.varargs.is_some())),
            "catch_kwargs" => Some(Value::from(self.function.kwargs.is_some())),
            _ => None,
        }
    }

    fn render(self: &Arc<Self>, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.function.name {
            Some(name) => write!(out, "<Macro '{name}'>"),
            None => out.write_str("<Macro anonymous>"),
        }
    }
}

/// A built-in function that was referenced but not called.
#[derive(Debug)]
pub(super) struct Builtin {
    pub(super) name: String,
    pub(super) function: functions::Function,
}

impl Object for Builtin {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn render(self: &Arc<Self>, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "<function {}>", self.name)
    }
}

/// The value of `self`: the blocks by name; any other name is undefined.
#[derive(Debug)]
pub(super) struct Blocks(pub(super) Arc<HashMap<Box<str>, FunctionId>>);

impl Object for Blocks {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let (name, function) = self.0.get_key_value(key.as_str()?)?;
        Some(Value::from_object(Block { name: name.clone(), function: *function }))
    }

    fn render(self: &Arc<Self>, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("<TemplateReference None>")
    }
}

/// One block; calling it renders it where it is called.
#[derive(Debug)]
pub(super) struct Block {
    name: Box<str>,
    pub(super) function: FunctionId,
}

impl Object for Block {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        (key.as_str()? == "name").then(|| Value::from(&*self.name))
    }

    fn render(self: &Arc<Self>, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("<jinja2.runtime.BlockReference object>")
    }
}
