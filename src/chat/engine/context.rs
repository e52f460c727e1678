//! The outermost scope of one render: the variables of the caller, and how the engine reaches the render's `Run`.

use std::sync::Arc;

use indexmap::IndexMap;
use minijinja::value::{Enumerator, Object};
use minijinja::{State, Value};

use super::read_recorder::Watch;
use super::run::Run;
use crate::chat::builtins::names;
use crate::chat::jinja::intrinsics;
use crate::chat::values::arguments::split;
use crate::chat::values::containers::{Entries, Key};
use crate::chat::values::namespace::Namespace;
use crate::chat::values::number::LongInteger;
use crate::chat::values::{Result, build, error, measure, text, type_name};
use crate::json;

type Variables = IndexMap<Box<str>, Value, foldhash::fast::RandomState>;

/// The outermost scope: the variables of the caller.
#[derive(Debug)]
pub(crate) struct Context {
    variables: Variables,
    /// The bytes of all strings in the variables.
    pub(crate) text: usize,
    pub(crate) run: Arc<Run>,
}

impl Context {
    pub(crate) fn new(given: &json::Object, run: Arc<Run>) -> Result<Self> {
        let mut variables = Variables::with_capacity_and_hasher(given.len(), foldhash::fast::RandomState::default());
        let mut text = 0;
        for (name, value) in given {
            let watch = run.recorder.as_ref().map(|recorder| Watch::new(recorder, name));
            variables.insert(name.as_str().into(), engine_value(value, watch, &mut text)?);
        }
        Ok(Self { variables, text, run })
    }

    fn variable(&self, name: &str) -> Option<Value> {
        let found = self.variables.get(name);
        if let Some(recorder) = &self.run.recorder
            && (found.is_some() || !names::is_function(name))
        {
            recorder.variable(name, found.is_some());
        }
        found.cloned()
    }
}

impl Object for Context {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, name: &str) -> Option<Value> {
        if name == intrinsics::CONTEXT { Some(Value::from_dyn_object(self.clone())) } else { self.variable(name) }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Empty
    }

    fn call_method(self: &Arc<Self>, state: &mut State<'_, '_>, name: &str, arguments: &[Value]) -> Result<Value> {
        if name == intrinsics::GENERATION {
            return generation(&self.run, state, arguments);
        }
        Err(match self.variable(name) {
            Some(value) => {
                error(format!("'{}' object is not callable: there is no function `{name}`", type_name(&value)))
            }
            None => error(format!("there is no function `{name}`")),
        })
    }
}

/// A `{% generation %}` block: records the span of its body in the output.
///
/// Inside a macro or set block the output is what was written before that began, as it is in transformers.
fn generation(run: &Run, state: &mut State<'_, '_>, arguments: &[Value]) -> Result<Value> {
    let (_, keywords) = split(arguments);
    let caller: Value = keywords.ok_or_else(|| error("a generation block without a body"))?.get("caller")?;
    let start = run.written();
    let body = caller.call(state, &[])?;
    run.span(start, start + text::to_str(&body).chars().count());
    Ok(body)
}

/// The [`Run`] of the current render.
///
/// The first call finds it through the context and caches it in the state.
pub(crate) fn run_of(state: &mut State<'_, '_>) -> Option<Arc<Run>> {
    if let Some(run) = state.get_extension::<Arc<Run>>() {
        return Some(run.clone());
    }
    let context = state.lookup(intrinsics::CONTEXT)?;
    let run = context.downcast_object_ref::<Context>()?.run.clone();
    Some(state.get_or_insert_extension(run).clone())
}

/// A value as the engine holds it. The bytes of its strings are added to `bytes`.
fn engine_value(value: &json::Value, watch: Option<Watch>, bytes: &mut usize) -> Result<Value> {
    Ok(match value {
        json::Value::Null => Value::from(()),
        json::Value::Bool(value) => Value::from(*value),
        json::Value::Number(number) => engine_number(number),
        json::Value::String(text) => {
            *bytes += text.len();
            Value::from(text.as_str())
        }
        json::Value::List(items) => {
            let element = watch.as_ref().map(Watch::element);
            let mut list = Vec::with_capacity(items.len());
            for item in items {
                list.push(engine_value(item, element.clone(), bytes)?);
            }
            build::list(list)?
        }
        json::Value::Object(given) => {
            let mut entries = Entries::with_capacity_and_hasher(given.len(), foldhash::fast::RandomState::default());
            for (key, value) in given {
                let below = watch.as_ref().map(|watch| watch.below(key));
                entries.insert(Key::from(key.as_str()), engine_value(value, below, bytes)?);
            }
            build::given_dict(entries, watch)?
        }
    })
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

/// `x is defined`, of a variable: asking is not reading.
pub(crate) fn is_defined(state: &mut State<'_, '_>, name: &str) -> bool {
    let run = run_of(state);
    let look = || state.lookup(name).is_some_and(|value| !value.is_undefined());
    match run.as_ref().and_then(|run| run.recorder.as_ref()) {
        Some(recorder) => recorder.testing(look),
        None => look(),
    }
}

/// `{% set namespace.name = value %}`
pub(crate) fn assign(target: &Value, name: &str, value: Value) -> Result<Value> {
    match target.downcast_object_ref::<Namespace>() {
        Some(namespace) => {
            let around = measure::checked([&value])?;
            namespace.set(name, value, around).map(|()| Value::UNDEFINED)
        }
        None => Err(error("cannot assign attribute on non-namespace object")),
    }
}
