//! Macros that use `varargs` or `kwargs`: they take more arguments than they have parameters.

use std::sync::Arc;

use minijinja::value::{Kwargs, Object, ObjectRepr};
use minijinja::{State, Value};

use crate::chat::values::arguments::split;
use crate::chat::values::build;
use crate::chat::values::containers::{Entries, Key};
use crate::chat::values::text::to_str;
use crate::chat::values::{Result, error, items_of};

/// A macro whose last parameters are called `varargs` and `kwargs`.
#[derive(Debug)]
struct VarargsMacro {
    inner: Value,
    parameters: Vec<String>,
    takes_more: bool,
    takes_keywords: bool,
}

/// Wraps a macro, so that arguments beyond its parameters are collected in its last two.
pub(crate) fn wrap(inner: Value, parameters: &Value, takes_more: bool, takes_keywords: bool) -> Result<Value> {
    let parameters = items_of(parameters)?.iter().map(|name| to_str(name).into_owned()).collect();
    Ok(Value::from_object(VarargsMacro { inner, parameters, takes_more, takes_keywords }))
}

impl Object for VarargsMacro {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, state: &mut State<'_, '_>, arguments: &[Value]) -> Result<Value> {
        let (positional, keywords) = split(arguments);
        let mut bound: Vec<Value> = positional.iter().take(self.parameters.len()).cloned().collect();
        bound.resize(self.parameters.len(), Value::UNDEFINED);
        let more: Vec<Value> = positional.iter().skip(self.parameters.len()).cloned().collect();
        let mut rest = Entries::default();
        let mut caller = None;
        for name in keywords.iter().flat_map(Kwargs::args) {
            let value: Value = keywords.as_ref().map_or(Ok(Value::UNDEFINED), |keywords| keywords.peek(name))?;
            let place = self.parameters.iter().position(|parameter| parameter == name);
            match place.and_then(|place| bound.get_mut(place)) {
                Some(slot) => *slot = value,
                None if name == "caller" => caller = Some(value),
                None => drop(rest.insert(Key::from(name), value)),
            }
        }
        if !self.takes_more && !more.is_empty() {
            return Err(error(format!("the macro takes at most {} arguments", self.parameters.len())));
        }
        if let (false, Some((odd, _))) = (self.takes_keywords, rest.first()) {
            return Err(error(format!("the macro takes no keyword argument '{}'", to_str(&odd.value()))));
        }
        if self.takes_more {
            bound.push(build::tuple(more)?);
        }
        if self.takes_keywords {
            bound.push(build::dict(rest)?);
        }
        bound.extend(caller.map(|caller| Value::from(Kwargs::from_iter([("caller", caller)]))));
        self.inner.call(state, &bound)
    }
}
