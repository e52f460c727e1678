//! The outermost scope of one render: the variables of the caller that the template may ask for.

use std::sync::Arc;

use minijinja::Value;

use super::read_recorder::{Recorder, Watch};
use crate::builtins::names;
use crate::values::entries::{Entries, Key};
use crate::values::extent::Extent;
use crate::values::number::LongInteger;
use crate::values::{Result, build};
use backchat_core::json;

/// The outermost scope: the variables of the caller, by their numbers in the program.
#[derive(Debug)]
pub(crate) struct Context {
    variables: Vec<Option<Value>>,
    /// The bytes of all strings in the variables.
    pub(crate) text: usize,
    recorder: Option<Arc<Recorder>>,
}

impl Context {
    /// The variables of these names.
    pub(crate) fn new(asked: &[Box<str>], given: &json::Object, recorder: Option<Arc<Recorder>>) -> Result<Self> {
        let mut variables = Vec::with_capacity(asked.len());
        let mut text = 0;
        let mut all = Extent::CONTAINER;
        for name in asked {
            let watch = recorder.as_ref().map(|recorder| Watch::new(recorder, name));
            let value = given.get(name).map(|value| engine_value(value, watch, &mut text, &mut all));
            variables.push(value.transpose()?);
        }
        Ok(Self { variables, text, recorder })
    }

    /// The variable of a number and name, if it was given.
    pub(crate) fn variable(&self, number: usize, name: &str) -> Option<&Value> {
        let found = self.variables.get(number).and_then(Option::as_ref);
        if let Some(recorder) = &self.recorder
            && (found.is_some() || !names::is_function(name))
        {
            recorder.variable(name, found.is_some());
        }
        found
    }
}

/// A value as the engine holds it, inside a container of that extent. The bytes of its strings are added to `bytes`.
fn engine_value(value: &json::Value, watch: Option<Watch>, bytes: &mut usize, around: &mut Extent) -> Result<Value> {
    let mut extent = Extent::SCALAR;
    let made = match value {
        json::Value::Null => Value::from(()),
        json::Value::Bool(value) => Value::from(*value),
        json::Value::Number(number) => engine_number(number),
        json::Value::String(text) => {
            *bytes += text.len();
            Value::from(text.as_str())
        }
        json::Value::List(items) => {
            extent = Extent::CONTAINER;
            let element = watch.as_ref().map(Watch::element);
            let mut list = Vec::with_capacity(items.len());
            for item in items {
                list.push(engine_value(item, element.clone(), bytes, &mut extent)?);
            }
            build::given_list(list, extent)?
        }
        json::Value::Object(given) => {
            extent = Extent::CONTAINER;
            let mut entries = Vec::with_capacity(given.len());
            for (key, value) in given {
                let below = watch.as_ref().map(|watch| watch.below(key));
                entries.push((Key::from(key.as_str()), engine_value(value, below, bytes, &mut extent)?));
            }
            build::given_dict(Entries::of_distinct(entries), extent, watch)?
        }
    };
    *around = around.with(extent);
    Ok(made)
}

fn engine_number(number: &json::Number) -> Value {
    if !number.is_integer() {
        return Value::from(number.as_f64());
    }
    if let Some(integer) = number.as_i64() {
        return Value::from(integer);
    }
    match number.as_str().parse::<i128>() {
        Ok(integer) => Value::from(integer),
        Err(_) => Value::from_object(LongInteger(number.as_str().into())),
    }
}
