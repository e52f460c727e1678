//! Filters that apply another filter, a test or an attribute to each item of a sequence.

use minijinja::value::Kwargs;
use minijinja::{Error, ErrorKind, Value};

use super::FILTERS;
use crate::builtins::{filters, tests};
use crate::engine::limits;
use crate::engine::run::Run;
use crate::values::arguments::split;
use crate::values::build;
use crate::values::text::to_str;
use crate::values::{Kind, Result, error, items_of};

/// Looks up an attribute of an item, which may be a path such as `function.name` or `0.id`; without one, the item
/// itself.
#[derive(Default)]
pub(super) struct Getter {
    path: Vec<Value>,
    default: Option<Value>,
}

impl Getter {
    pub(super) fn new(attribute: &Value, default: Option<Value>) -> Result<Self> {
        let path = match Kind::of(attribute) {
            Kind::Str(path) => {
                let step = |step: &str| {
                    let index = step.bytes().all(|b| b.is_ascii_digit()).then(|| step.parse::<u64>().ok()).flatten();
                    index.map_or_else(|| Value::from(step), Value::from)
                };
                limits::items(path.bytes().filter(|byte| *byte == b'.').count())?;
                path.split('.').map(step).collect()
            }
            Kind::None => Vec::new(),
            _ => vec![attribute.clone()],
        };
        Ok(Self { path, default: default.filter(|default| !default.is_none()) })
    }

    pub(super) fn of(attribute: Option<Value>) -> Result<Self> {
        attribute.map_or_else(|| Ok(Self::default()), |attribute| Self::new(&attribute, None))
    }

    pub(super) fn get(&self, item: &Value) -> Result<Value> {
        let mut found = item.clone();
        for step in &self.path {
            if found.is_undefined() {
                return Err(error(format!("a value is undefined, and so is its '{}'", to_str(step))));
            }
            found = found.get_item(step)?;
            if let (true, Some(default)) = (found.is_undefined(), &self.default) {
                found = default.clone();
            }
        }
        Ok(found)
    }
}

/// The items of a sequence; none if the sequence is false.
fn items_if_true(value: &Value) -> Result<Vec<Value>> {
    if value.is_true() { items_of(value) } else { Ok(Vec::new()) }
}

fn with_keywords(positional: &[Value], keywords: Option<Kwargs>) -> Vec<Value> {
    let mut arguments = positional.to_vec();
    arguments.extend(keywords.map(Value::from));
    arguments
}

/// Applies a filter by name.
fn apply(run: &Run, name: &str, value: &Value, arguments: &[Value]) -> Result<Value> {
    match FILTERS.find(name) {
        Some(filter) => filters::apply(filter, run, value, arguments),
        None => Err(Error::new(ErrorKind::UnknownFilter, format!("No filter named '{name}'."))),
    }
}

pub(super) fn map(run: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    let (positional, keywords) = split(arguments);
    if let ([], Some(keywords)) = (positional, &keywords)
        && keywords.has("attribute")
    {
        let default = if keywords.has("default") { Some(keywords.peek("default")?) } else { None };
        if let Some(odd) = keywords.args().find(|name| !matches!(*name, "attribute" | "default")) {
            return Err(error(format!("Unexpected keyword argument '{odd}'")));
        }
        let getter = Getter::new(&keywords.peek("attribute")?, default)?;
        let mapped = items_if_true(value)?.iter().map(|item| getter.get(item)).collect::<Result<_>>()?;
        return build::generator(mapped);
    }
    let [name, rest @ ..] = positional else { return Err(error("map requires a filter argument")) };
    let name = to_str(name).into_owned();
    let arguments = with_keywords(rest, keywords);
    let items = items_if_true(value)?;
    let mapped = items.iter().map(|item| apply(run, &name, item, &arguments)).collect::<Result<_>>()?;
    build::generator(mapped)
}

/// Keeps the items whose test gives `wanted`. With `by_attribute`, the first argument names the attribute to test.
pub(super) fn keep(value: &Value, arguments: &[Value], by_attribute: bool, wanted: bool) -> Result<Value> {
    let (mut test, keywords) = split(arguments);
    let mut pick = Getter::default();
    if by_attribute {
        let [attribute, rest @ ..] = test else { return Err(error("Missing parameter for attribute name")) };
        (pick, test) = (Getter::new(attribute, None)?, rest);
    }
    let (name, arguments) = match test {
        [] => (None, Vec::new()),
        [name, rest @ ..] => (Some(to_str(name).into_owned()), with_keywords(rest, keywords)),
    };
    let mut kept = Vec::new();
    for item in items_if_true(value)? {
        let subject = pick.get(&item)?;
        let answer = match &name {
            Some(name) => tests::apply(name, &subject, &arguments)?,
            None => subject.is_true(),
        };
        if answer == wanted {
            kept.push(item);
        }
    }
    build::generator(kept)
}
