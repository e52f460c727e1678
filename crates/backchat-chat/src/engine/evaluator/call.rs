//! Calls, and the arguments they are given.

use minijinja::value::Kwargs;
use minijinja::{Error, ErrorKind, Value};

use super::Evaluator;
use super::callable::{Block, Builtin, Macro};
use super::loops::LoopObject;
use crate::builtins::functions::{self, Cycler, Joiner};
use crate::builtins::methods::{self, Method};
use crate::engine::limits;
use crate::engine::program::{Argument, Arguments, Attribute, Function, FunctionId};
use crate::values::arguments::{none, split};
use crate::values::entries::{Entries, Key};
use crate::values::text::to_str;
use crate::values::{Kind, Result, build, error, items_of, type_name};

impl<'r> Evaluator<'r> {
    /// The arguments of a call: positional ones, then the keywords as one value.
    pub(super) fn arguments(&mut self, arguments: &'r Arguments) -> Result<Vec<Value>> {
        self.steps_of(arguments.given.len())?;
        let mut positional = Vec::with_capacity(arguments.given.len());
        let mut keywords: Vec<(String, Value)> = Vec::new();
        for argument in &arguments.given {
            match argument {
                Argument::Positional(value) => positional.push(self.evaluate(value)?),
                Argument::Keyword(name, value) => {
                    let value = self.evaluate(value)?;
                    keywords.push((name.to_string(), value));
                }
                Argument::Spread(value) => {
                    let items = self.evaluate(value)?;
                    limits::charge(std::slice::from_ref(&items))?;
                    positional.extend(items_of(&items)?);
                    limits::items(positional.len())?;
                }
                Argument::KeywordSpread(value) => {
                    let given = self.evaluate(value)?;
                    let Kind::Dict(dict) = Kind::of(&given) else {
                        return Err(error(format!("argument after ** must be a mapping, not {}", type_name(&given))));
                    };
                    limits::charge(std::slice::from_ref(&given))?;
                    for (key, value) in dict.read_all() {
                        match key.as_value().as_str() {
                            Some(name) => keywords.push((name.to_owned(), value.clone())),
                            None => return Err(error("keywords must be strings")),
                        }
                    }
                }
            }
        }
        if let Some(caller) = arguments.caller {
            keywords.push(("caller".to_owned(), self.declared(caller)?));
        }
        if !keywords.is_empty() {
            positional.push(Value::from(Kwargs::from_iter(keywords)));
        }
        Ok(positional)
    }

    /// A macro or the body of a call block, declared here.
    pub(super) fn declared(&self, id: FunctionId) -> Result<Value> {
        let function = self.program.functions.get(id).ok_or_else(|| error("there is no such function"))?;
        Ok(Value::from_object(Macro { id, function: function.clone(), around: self.at }))
    }

    /// `value(…)`
    pub(super) fn call(&mut self, value: &Value, arguments: &[Value]) -> Result<Value> {
        if let Some(called) = value.downcast_object_ref::<Macro>() {
            let (text, ()) = self.capture(|evaluator| evaluator.call_macro(called, arguments))?;
            return Ok(text);
        }
        if let Some(builtin) = value.downcast_object_ref::<Builtin>() {
            return functions::call(builtin.function, self.run, arguments);
        }
        if let Some(method) = value.downcast_object_ref::<Method>() {
            return self.call_method(&method.of, &method.name, arguments);
        }
        if let Some(joiner) = value.downcast_object_ref::<Joiner>() {
            return joiner.call(arguments);
        }
        if let Some(block) = value.downcast_object_ref::<Block>() {
            none("a block", arguments)?;
            // A block sees the template's variables wherever it is called.
            let (text, ()) = self.capture(|evaluator| evaluator.block(block.function, 0))?;
            return limits::charged(Ok(text));
        }
        if let Some(object) = value.downcast_object_ref::<LoopObject>() {
            return match arguments {
                [over] if !over.is_kwargs() => self.recurse(object, over.clone()),
                _ => Err(error("loop() takes one argument, the items to loop over")),
            };
        }
        Err(error(format!("'{}' object is not callable", type_name(value))))
    }

    /// Prints the result of `value(…)`; the text of a macro goes straight to the output.
    pub(super) fn print_call(&mut self, value: &Value, arguments: &[Value]) -> Result<()> {
        if let Some(called) = value.downcast_object_ref::<Macro>() {
            return self.at_fixed_position(|evaluator| evaluator.call_macro(called, arguments));
        }
        let value = self.call(value, arguments)?;
        self.print(&value)
    }

    /// `value.name(…)`: a method of the value's type takes precedence over an entry of that name.
    pub(super) fn method(&mut self, value: &Value, name: &Attribute, arguments: &[Value]) -> Result<Value> {
        limits::charge(std::slice::from_ref(value))?;
        limits::charge(arguments)?;
        self.call_method(value, &name.name, arguments)
    }

    fn call_method(&mut self, value: &Value, name: &str, arguments: &[Value]) -> Result<Value> {
        if methods::has(value, name) {
            return limits::charged(methods::call(value, name, arguments));
        }
        let own = if let Some(cycler) = value.downcast_object_ref::<Cycler>() {
            cycler.call_method(name, arguments)
        } else if let Some(object) = value.downcast_object_ref::<LoopObject>() {
            object.call_method(name, arguments)
        } else {
            None
        };
        if let Some(result) = own {
            return result;
        }
        let held = if value.is_undefined() { Value::UNDEFINED } else { value.get_attr(name)? };
        if held.is_undefined() {
            let message = format!("'{}' object has no attribute '{name}'", type_name(value));
            return Err(Error::new(ErrorKind::UnknownMethod, message));
        }
        self.call(&held, arguments)
    }

    /// Runs a block, which prints without escaping.
    pub(super) fn block(&mut self, id: FunctionId, around: usize) -> Result<()> {
        let outer = self.run.escapes.replace(false);
        self.function(id, around, |_, _| Ok(()))?;
        self.run.escapes.set(outer);
        Ok(())
    }

    /// Runs a macro, which prints. It escapes its output only if it was declared inside an `autoescape` block.
    fn call_macro(&mut self, called: &Macro, arguments: &[Value]) -> Result<()> {
        let outer = self.run.escapes.replace(self.run.escapes.get() && called.function.may_escape);
        self.function(called.id, called.around, |evaluator, function| evaluator.bind(function, arguments))?;
        self.run.escapes.set(outer);
        Ok(())
    }

    /// Binds the arguments of a call to the parameters of the running macro.
    fn bind(&mut self, function: &'r Function, arguments: &[Value]) -> Result<()> {
        let (positional, keywords) = split(arguments);
        let count = function.parameters.len();
        if positional.len() > count && function.varargs.is_none() {
            return Err(error(format!("{} takes at most {count} arguments", function.described())));
        }
        let mut given: Vec<Option<Value>> = positional.iter().take(count).cloned().map(Some).collect();
        given.resize(count, None);
        let mut rest = Entries::default();
        let mut caller = None;
        if let Some(keywords) = keywords {
            for name in keywords.args() {
                limits::charge_variables(count)?;
                let value = keywords.peek(name)?;
                let place = function.parameters.iter().position(|parameter| *parameter.name == *name);
                match place.and_then(|place| given.get_mut(place)) {
                    Some(Some(_)) => {
                        let message = format!("{} got two values for the argument '{name}'", function.described());
                        return Err(error(message));
                    }
                    Some(place) => *place = Some(value),
                    None if name == "caller" && function.caller.is_some() => caller = Some(value),
                    None => rest.insert(Key::from(name), value),
                }
            }
        }
        if let (None, Some((odd, _))) = (function.kwargs, rest.first()) {
            let odd = to_str(odd.as_value());
            return Err(error(format!("{} takes no keyword argument '{odd}'", function.described())));
        }
        if let Some(slot) = function.varargs {
            self.set(slot, build::tuple(positional.get(count..).unwrap_or_default().to_vec())?);
        }
        if let Some(slot) = function.kwargs {
            self.set(slot, build::dict(rest)?);
        }
        if let Some(slot) = function.caller {
            self.set(slot, caller.unwrap_or_default());
        }
        // A default also sees the parameters after it, which are undefined without an argument.
        for (slot, value) in given.iter().enumerate() {
            self.set(slot, value.clone().unwrap_or_default());
        }
        for (slot, (parameter, value)) in function.parameters.iter().zip(given).enumerate() {
            let value = match (value, &parameter.default) {
                (Some(value), _) => value,
                (None, Some(default)) => self.evaluate(default)?,
                (None, None) => Value::UNDEFINED,
            };
            self.set(slot, value);
        }
        Ok(())
    }
}
