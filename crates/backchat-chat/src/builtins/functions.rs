//! The functions that every chat template can call.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use minijinja::Value;
use minijinja::value::{Object, ObjectRepr};

use crate::builtins::table::Table;
use crate::engine::limits;
use crate::engine::run::Run;
use crate::engine::strftime::strftime;
use crate::values::arguments::{bind, integer, none, required, split};
use crate::values::build;
use crate::values::entries::{Entries, Key};
use crate::values::lazy::Range;
use crate::values::measure;
use crate::values::namespace::Namespace;
use crate::values::{Kind, Result, error, items_of, text, type_name};

pub(crate) type Function = fn(&Run, &[Value]) -> Result<Value>;

pub(crate) static FUNCTIONS: Table<Function> = Table(&[
    ("cycler", cycler),
    ("dict", dict),
    ("joiner", joiner),
    ("namespace", namespace),
    ("raise_exception", raise_exception),
    ("range", range),
    ("strftime_now", strftime_now),
]);

/// Calls a function, and charges for its arguments and result.
pub(crate) fn call(function: Function, run: &Run, arguments: &[Value]) -> Result<Value> {
    limits::charge(arguments)?;
    limits::charged(function(run, arguments))
}

fn raise_exception(run: &Run, arguments: &[Value]) -> Result<Value> {
    let [message] = bind("raise_exception", ["message"], arguments)?;
    let message = text::to_str(&required("raise_exception", "message", message)?).into_owned();
    run.raised.replace(Some(message.clone()));
    Err(error(message))
}

fn strftime_now(run: &Run, arguments: &[Value]) -> Result<Value> {
    let [format] = bind("strftime_now", ["format"], arguments)?;
    let format = required("strftime_now", "format", format)?;
    let format = crate::values::arguments::string("strftime_now", &format)?;
    if format.len() > limits::MAX_TIME_FORMAT {
        return Err(error(format!("strftime_now: a format of more than {} KiB", limits::MAX_TIME_FORMAT >> 10)));
    }
    Ok(strftime(run.now(), format).into())
}

fn range(_: &Run, arguments: &[Value]) -> Result<Value> {
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

/// The entries of `dict(…)` and `namespace(…)`: a mapping or pairs, then keywords.
fn entries(function: &str, arguments: &[Value]) -> Result<Entries> {
    let (positional, keywords) = split(arguments);
    let mut entries = Entries::default();
    match positional {
        [] => {}
        [source] => match Kind::of(source) {
            Kind::Undefined => return Err(error(format!("{function}() of an undefined value"))),
            Kind::Dict(dict) => entries.extend(dict.read_all().map(|(key, value)| (key.clone(), value.clone()))),
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

fn dict(_: &Run, arguments: &[Value]) -> Result<Value> {
    build::dict(entries("dict", arguments)?)
}

fn namespace(run: &Run, arguments: &[Value]) -> Result<Value> {
    let entries = entries("namespace", arguments)?;
    let extent = measure::checked(entries.values())?;
    let namespace = Arc::new(Namespace::new(entries, extent)?);
    run.keep(&namespace)?;
    Ok(Value::from_dyn_object(namespace))
}

fn cycler(_: &Run, arguments: &[Value]) -> Result<Value> {
    let (items, keywords) = split(arguments);
    if items.is_empty() || keywords.is_some() {
        return Err(error("cycler() expects at least one item and no keywords"));
    }
    measure::check_held(items)?;
    Ok(Value::from_object(Cycler { items: items.to_vec(), at: AtomicUsize::new(0) }))
}

/// The result of `cycler()`.
#[derive(Debug)]
pub(crate) struct Cycler {
    items: Vec<Value>,
    at: AtomicUsize,
}

impl Cycler {
    /// Calls its method with this name, if it has one.
    pub(crate) fn call_method(&self, name: &str, arguments: &[Value]) -> Option<Result<Value>> {
        match name {
            "next" => Some(none(name, arguments).map(|()| self.next())),
            "reset" => Some(none(name, arguments).map(|()| {
                self.at.store(0, Ordering::Relaxed);
                Value::from(())
            })),
            _ => None,
        }
    }

    fn next(&self) -> Value {
        let current = self.current();
        let next = (self.at.load(Ordering::Relaxed) + 1) % self.items.len().max(1);
        self.at.store(next, Ordering::Relaxed);
        current
    }

    fn current(&self) -> Value {
        // There is an item, and `next` keeps the index below the number of items.
        let at = self.at.load(Ordering::Relaxed);
        debug_assert!(at < self.items.len(), "a cycler of {} items is at {at}", self.items.len());
        self.items.get(at).cloned().unwrap_or_default()
    }
}

impl Object for Cycler {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match key.as_str()? {
            "current" => Some(self.current()),
            "pos" => Some(Value::from(self.at.load(Ordering::Relaxed))),
            "items" => Some(Value::from(minijinja::value::Tuple::from(self.items.clone()))),
            _ => None,
        }
    }
}

fn joiner(_: &Run, arguments: &[Value]) -> Result<Value> {
    let [separator] = bind("joiner", ["sep"], arguments)?;
    let separator = separator.unwrap_or_else(|| Value::from(", "));
    measure::check_held([&separator])?;
    Ok(Value::from_object(Joiner { separator, used: AtomicUsize::new(0) }))
}

/// The result of `joiner()`: empty on the first call, then the separator.
#[derive(Debug)]
pub(crate) struct Joiner {
    separator: Value,
    used: AtomicUsize,
}

impl Joiner {
    pub(crate) fn call(&self, arguments: &[Value]) -> Result<Value> {
        none("joiner", arguments)?;
        let first = self.used.fetch_add(1, Ordering::Relaxed) == 0;
        Ok(if first { Value::from("") } else { self.separator.clone() })
    }
}

impl Object for Joiner {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match key.as_str()? {
            "sep" => Some(self.separator.clone()),
            "used" => Some(Value::from(self.used.load(Ordering::Relaxed) > 0)),
            _ => None,
        }
    }
}
