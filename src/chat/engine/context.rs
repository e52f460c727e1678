//! The variables of one render, and what that render keeps track of.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use indexmap::IndexMap;
use jiff::civil::DateTime;
use minijinja::value::{Enumerator, Object};
use minijinja::{State, Value};

use crate::chat::builtins::functions::{self, Namespace};
use crate::chat::engine::limits::MAX_NAMESPACES;
use crate::chat::engine::read_recorder::{Recorder, Watch};
use crate::chat::jinja::lowering;
use crate::chat::values::arguments::split;
use crate::chat::values::containers::{self, Dict, Entries, Key};
use crate::chat::values::number::LongInteger;
use crate::chat::values::{Result, error, text, type_name};
use crate::json;

/// What one render keeps track of.
#[derive(Debug)]
pub(crate) struct Run {
    now: Option<DateTime>,
    /// Code points that have reached the output; what a block or macro gathers is not there yet.
    written: AtomicUsize,
    spans: Mutex<Vec<(usize, usize)>>,
    raised: Mutex<Option<String>>,
    namespaces: Mutex<Vec<Arc<Namespace>>>,
    pub(crate) recorder: Option<Arc<Recorder>>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Run {
    pub(crate) fn new(now: Option<DateTime>, watch: bool) -> Self {
        Self {
            now,
            written: AtomicUsize::new(0),
            spans: Mutex::default(),
            raised: Mutex::default(),
            namespaces: Mutex::default(),
            recorder: watch.then(Arc::default),
        }
    }

    pub(crate) fn now(&self) -> DateTime {
        self.now.unwrap_or_else(crate::chat::engine::now::local_now)
    }

    pub(crate) fn advance(&self, code_points: usize) {
        self.written.fetch_add(code_points, Ordering::Relaxed);
    }

    pub(crate) fn written(&self) -> usize {
        self.written.load(Ordering::Relaxed)
    }

    pub(crate) fn span(&self, start: usize, end: usize) {
        locked(&self.spans).push((start, end));
    }

    pub(crate) fn take_spans(&self) -> Vec<(usize, usize)> {
        std::mem::take(&mut locked(&self.spans))
    }

    pub(crate) fn raise(&self, message: &str) {
        *locked(&self.raised) = Some(message.to_owned());
    }

    pub(crate) fn take_raised(&self) -> Option<String> {
        locked(&self.raised).take()
    }

    /// Keeps a namespace until the render is over. It may come to hold itself, or a chain of others too long to
    /// be dropped one inside the other.
    pub(crate) fn keep(&self, namespace: &Arc<Namespace>) -> Result<()> {
        let mut namespaces = locked(&self.namespaces);
        if namespaces.len() == MAX_NAMESPACES {
            return Err(error(format!("more than {MAX_NAMESPACES} namespaces")));
        }
        namespaces.push(namespace.clone());
        Ok(())
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        for namespace in locked(&self.namespaces).iter() {
            namespace.clear();
        }
    }
}

type Variables = IndexMap<Box<str>, Value, foldhash::fast::RandomState>;

/// The outermost scope: what the caller gave.
#[derive(Debug)]
pub(crate) struct Context {
    variables: Variables,
    pub(crate) run: Arc<Run>,
}

impl Context {
    pub(crate) fn new(given: &json::Object, run: Arc<Run>) -> Result<Self> {
        let mut variables = Variables::with_capacity_and_hasher(given.len(), foldhash::fast::RandomState::default());
        for (name, value) in given {
            let watch = run.recorder.as_ref().map(|recorder| Watch::new(recorder, name));
            variables.insert(name.as_str().into(), engine_value(value, watch)?);
        }
        Ok(Self { variables, run })
    }

    fn variable(&self, name: &str) -> Option<Value> {
        let found = self.variables.get(name);
        if let Some(recorder) = &self.run.recorder
            && (found.is_some() || !functions::NAMES.contains(&name))
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
        if name == lowering::CONTEXT { Some(Value::from_dyn_object(self.clone())) } else { self.variable(name) }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Empty
    }

    fn call_method(self: &Arc<Self>, state: &mut State<'_, '_>, name: &str, arguments: &[Value]) -> Result<Value> {
        if name == lowering::GENERATION {
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

/// A `{% generation %}` block: notes where in the output its body stands.
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

/// What the render under way keeps track of.
///
/// The first to ask finds it through the context, and leaves it where the next finds it at once.
pub(crate) fn run_of(state: &mut State<'_, '_>) -> Option<Arc<Run>> {
    if let Some(run) = state.get_extension::<Arc<Run>>() {
        return Some(run.clone());
    }
    let context = state.lookup(lowering::CONTEXT)?;
    let run = context.downcast_object_ref::<Context>()?.run.clone();
    Some(state.get_or_insert_extension(run).clone())
}

fn engine_value(value: &json::Value, watch: Option<Watch>) -> Result<Value> {
    Ok(match value {
        json::Value::Null => Value::from(()),
        json::Value::Bool(value) => Value::from(*value),
        json::Value::Number(number) => engine_number(number),
        json::Value::String(text) => Value::from(text.as_str()),
        json::Value::List(items) => {
            let element = watch.as_ref().map(Watch::element);
            let mut list = Vec::with_capacity(items.len());
            for item in items {
                list.push(engine_value(item, element.clone())?);
            }
            containers::list(list)?
        }
        json::Value::Object(given) => {
            let mut entries = Entries::with_capacity_and_hasher(given.len(), foldhash::fast::RandomState::default());
            for (key, value) in given {
                let below = watch.as_ref().map(|watch| watch.below(key));
                entries.insert(Key::from(key.as_str()), engine_value(value, below)?);
            }
            Dict::given(entries, watch)?
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
        Some(namespace) => namespace.set(name, value).map(|()| Value::UNDEFINED),
        None => Err(error("cannot assign attribute on non-namespace object")),
    }
}
