//! The functions that every chat template can call.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use minijinja::value::{Object, ObjectRepr, Rest, ValueOrKwargs};
use minijinja::{Environment, Error, State, Value};

use crate::chat::engine::context::run_of;
use crate::chat::engine::limits;
use crate::chat::values::arguments::{bind, integer, none, required, split};
use crate::chat::values::build;
use crate::chat::values::containers::{Entries, Key};
use crate::chat::values::lazy::Range;
use crate::chat::values::measure;
use crate::chat::values::namespace::Namespace;
use crate::chat::values::{Kind, Result, error, items_of, text, type_name};

type Function = fn(&mut State<'_, '_>, &[Value]) -> Result<Value>;

const FUNCTIONS: &[(&str, Function)] = &[
    ("cycler", cycler),
    ("dict", dict),
    ("joiner", joiner),
    ("namespace", namespace),
    ("raise_exception", raise_exception),
    ("range", range),
    ("strftime_now", strftime_now),
];

/// Registers the functions with the engine.
pub(crate) fn register(environment: &mut Environment<'_>) {
    for (name, function) in FUNCTIONS {
        environment.add_function(*name, move |state: &mut State<'_, '_>, arguments: Rest<ValueOrKwargs>| {
            let arguments = arguments.into_values();
            limits::charge(&arguments)?;
            let result = function(state, &arguments)?;
            limits::charge(std::slice::from_ref(&result))?;
            Ok(result)
        });
    }
}

fn raise_exception(state: &mut State<'_, '_>, arguments: &[Value]) -> Result<Value> {
    let [message] = bind("raise_exception", ["message"], arguments)?;
    let message = text::to_str(&required("raise_exception", "message", message)?).into_owned();
    if let Some(run) = run_of(state) {
        run.raise(&message);
    }
    Err(error(message))
}

fn strftime_now(state: &mut State<'_, '_>, arguments: &[Value]) -> Result<Value> {
    let [format] = bind("strftime_now", ["format"], arguments)?;
    let format = required("strftime_now", "format", format)?;
    let format = crate::chat::values::arguments::string("strftime_now", &format)?;
    if format.len() > limits::MAX_TIME_FORMAT {
        return Err(error(format!("strftime_now: a format of more than {} KiB", limits::MAX_TIME_FORMAT >> 10)));
    }
    let now = run_of(state).map_or_else(jiff::civil::DateTime::default, |run| run.now());
    crate::chat::engine::now::strftime(now, format).map(Value::from)
}

fn range(_state: &mut State<'_, '_>, arguments: &[Value]) -> Result<Value> {
    let (positional, keywords) = split(arguments);
    if keywords.is_some() {
        return Err(error("range() takes no keyword arguments"));
    }
    let number = |value: &Value| integer("range", value);
    match positional {
        [stop] => Range::value(0, number(stop)?, 1),
        [start, stop] => Range::value(number(start)?, number(stop)?, 1),
        [start, stop, step] => Range::value(number(start)?, number(stop)?, number(step)?),
        _ => Err(error("range expected 1 to 3 arguments")),
    }
}

/// The entries that `dict(…)` and `namespace(…)` are made of: a mapping or pairs, then keywords.
fn entries(function: &str, arguments: &[Value]) -> Result<Entries> {
    let (positional, keywords) = split(arguments);
    let mut entries = Entries::default();
    match positional {
        [] => {}
        [source] => match Kind::of(source) {
            Kind::Dict(dict) => {
                dict.note_whole();
                entries.extend(dict.entries().map(|(key, value)| (key.clone(), value.clone())));
            }
            _ => {
                for pair in items_of(source)? {
                    let [key, value] = items_of(&pair)?.try_into().map_err(|_| {
                        error(format!("{function}() expects pairs; an element is a {}, not a pair", type_name(&pair)))
                    })?;
                    entries.insert(Key::of(&key)?, value);
                }
            }
        },
        more => return Err(error(format!("{function} expected at most 1 argument, got {}", more.len()))),
    }
    if let Some(keywords) = keywords {
        for name in keywords.args() {
            entries.insert(Key::from(name), keywords.peek(name)?);
        }
    }
    Ok(entries)
}

fn dict(_state: &mut State<'_, '_>, arguments: &[Value]) -> Result<Value> {
    build::dict(entries("dict", arguments)?)
}

fn namespace(state: &mut State<'_, '_>, arguments: &[Value]) -> Result<Value> {
    let entries = entries("namespace", arguments)?;
    let extent = measure::checked(entries.values())?;
    let namespace = Arc::new(Namespace::new(entries, extent)?);
    if let Some(run) = run_of(state) {
        run.keep(&namespace)?;
    }
    Ok(Value::from_dyn_object(namespace))
}

fn cycler(_state: &mut State<'_, '_>, arguments: &[Value]) -> Result<Value> {
    let (items, keywords) = split(arguments);
    if items.is_empty() || keywords.is_some() {
        return Err(error("cycler() expects at least one item and no keywords"));
    }
    Ok(Value::from_object(Cycler { items: items.to_vec(), at: AtomicUsize::new(0) }))
}

/// The result of `cycler()`.
#[derive(Debug)]
struct Cycler {
    items: Vec<Value>,
    at: AtomicUsize,
}

impl Cycler {
    fn current(&self) -> Value {
        // There is an item, and `next` keeps the place below their number.
        let at = self.at.load(Ordering::Relaxed);
        debug_assert!(at < self.items.len(), "a cycler of {} items is at {at}", self.items.len());
        self.items.get(at).cloned().unwrap_or_default()
    }
}

impl Object for Cycler {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        match key {
            "current" => Some(self.current()),
            "pos" => Some(Value::from(self.at.load(Ordering::Relaxed))),
            "items" => Some(Value::from(minijinja::value::Tuple::from(self.items.clone()))),
            _ => None,
        }
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn call_method(self: &Arc<Self>, _state: &mut State<'_, '_>, name: &str, arguments: &[Value]) -> Result<Value> {
        match name {
            "next" => {
                none(name, arguments)?;
                let current = self.current();
                let next = (self.at.load(Ordering::Relaxed) + 1) % self.items.len().max(1);
                self.at.store(next, Ordering::Relaxed);
                Ok(current)
            }
            "reset" => {
                none(name, arguments)?;
                self.at.store(0, Ordering::Relaxed);
                Ok(Value::from(()))
            }
            _ => Err(Error::from(minijinja::ErrorKind::UnknownMethod)),
        }
    }
}

fn joiner(_state: &mut State<'_, '_>, arguments: &[Value]) -> Result<Value> {
    let [separator] = bind("joiner", ["sep"], arguments)?;
    let separator = separator.unwrap_or_else(|| Value::from(", "));
    Ok(Value::from_object(Joiner { separator, used: AtomicUsize::new(0) }))
}

/// The result of `joiner()`: gives nothing the first time it is called, then the separator.
#[derive(Debug)]
struct Joiner {
    separator: Value,
    used: AtomicUsize,
}

impl Object for Joiner {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        match key {
            "sep" => Some(self.separator.clone()),
            "used" => Some(Value::from(self.used.load(Ordering::Relaxed) > 0)),
            _ => None,
        }
    }

    fn call(self: &Arc<Self>, _state: &mut State<'_, '_>, arguments: &[Value]) -> Result<Value> {
        none("joiner", arguments)?;
        let first = self.used.fetch_add(1, Ordering::Relaxed) == 0;
        Ok(if first { Value::from("") } else { self.separator.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::FUNCTIONS;
    use crate::chat::builtins::names;

    #[test]
    fn every_name_has_its_function() {
        assert_eq!(FUNCTIONS.iter().map(|(name, _)| *name).collect::<Vec<_>>(), names::FUNCTIONS);
    }
}
