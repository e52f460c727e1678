//! The engine, set up to run lowered templates: Python's operators, printing and methods, the builtins, the limits.

use std::sync::OnceLock;

use minijinja::value::{Rest, ValueOrKwargs};
use minijinja::{AutoEscape, Environment, Error, Output, State, Value};

use super::{limits, macro_varargs, own_blocks, printed};
use crate::chat::builtins::{filters, functions, methods, tests};
use crate::chat::engine::context::is_defined;
use crate::chat::jinja::intrinsics;
use crate::chat::values::containers::{Entries, Key};
use crate::chat::values::markup;
use crate::chat::values::pieces::{self, Pieces};
use crate::chat::values::text::to_str;
use crate::chat::values::{Kind, Result, build, equality, error, format, measure, operators};

/// An engine without templates. Operators, filters, tests and functions are registered once and shared.
pub(crate) fn environment() -> Result<Environment<'static>> {
    static SHARED: OnceLock<Environment<'static>> = OnceLock::new();
    match SHARED.get() {
        Some(environment) => Ok(environment.clone()),
        None => {
            let environment = new_environment()?;
            Ok(SHARED.get_or_init(|| environment).clone())
        }
    }
}

fn new_environment() -> Result<Environment<'static>> {
    let mut environment = Environment::empty();
    environment.set_syntax(minijinja::syntax::SyntaxConfig::builder().keep_trailing_newline(true).build()?);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_formatter(print);
    environment.set_unknown_method_callback(call_method);
    environment.set_debug(false);
    environment.set_fuel(Some(limits::FUEL));
    environment.set_recursion_limit(limits::RECURSION);
    filters::register(&mut environment);
    tests::register(&mut environment);
    functions::register(&mut environment);
    operators(&mut environment);
    Ok(environment)
}

/// Writes what the template prints.
fn print(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<()> {
    match Pieces::of(value) {
        Some(pieces) => pieces.iter().try_for_each(|piece| print_value(out, state, piece)),
        None => print_value(out, state, value),
    }
}

fn print_value(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<()> {
    let text = to_str(value);
    limits::charge_printed(&text)?;
    if matches!(state.auto_escape(), AutoEscape::None) || value.is_safe() {
        printed::keep(value);
        out.write_str(&text)?;
    } else {
        let mut escaped = String::new();
        markup::escape_into(&mut escaped, &text);
        out.write_str(&escaped)?;
    }
    Ok(())
}

fn call_method(state: &mut State<'_, '_>, value: &Value, name: &str, arguments: &[Value]) -> Result<Value> {
    limits::charge(std::slice::from_ref(value))?;
    limits::charge(arguments)?;
    if name == intrinsics::ASSIGN {
        return match arguments {
            [field, assigned] => crate::chat::engine::context::assign(value, &to_str(field), assigned.clone()),
            _ => Err(error("an assignment without a value")),
        };
    }
    charged(methods::call(state, value, name, arguments))
}

/// Charges for the result of an operator. Operators charge for their operands themselves.
fn charged(result: Result<Value>) -> Result<Value> {
    let result = result?;
    limits::charge(std::slice::from_ref(&result))?;
    Ok(result)
}

fn operators(environment: &mut Environment<'_>) {
    type Unary = fn(&Value) -> Result<Value>;
    type Binary = fn(&Value, &Value) -> Result<Value>;
    let binary: [(&'static str, Binary); 16] = [
        (intrinsics::ADD, operators::add),
        (intrinsics::ADD_PRINTED, pieces::add),
        (intrinsics::SUB, operators::sub),
        (intrinsics::MUL, operators::mul),
        (intrinsics::DIV, operators::div),
        (intrinsics::FLOOR_DIV, operators::floor_div),
        (intrinsics::REM, remainder),
        (intrinsics::POW, operators::pow),
        (intrinsics::EQ, |a, b| Ok(Value::from(equality::equal(a, b)))),
        (intrinsics::NE, |a, b| Ok(Value::from(!equality::equal(a, b)))),
        (intrinsics::LT, |a, b| ordered("<", a, b)),
        (intrinsics::LE, |a, b| ordered("<=", a, b)),
        (intrinsics::GT, |a, b| ordered(">", a, b)),
        (intrinsics::GE, |a, b| ordered(">=", a, b)),
        (intrinsics::IN, |a, b| operators::contains(b, a).map(Value::from)),
        (intrinsics::NOT_IN, |a, b| operators::contains(b, a).map(|found| Value::from(!found))),
    ];
    for (name, operator) in binary {
        environment.add_filter(name, move |a: &Value, b: &Value| charged(operator(a, b)));
    }
    let unary: [(&'static str, Unary); 7] = [
        (intrinsics::NEG, operators::neg),
        (intrinsics::POS, operators::pos),
        (intrinsics::ITERATE, operators::iterate),
        (intrinsics::ROWS, operators::iterate_rows),
        (intrinsics::LIST, |items| build::list(parts(items)?.to_vec())),
        (intrinsics::TUPLE, |items| build::tuple(parts(items)?.to_vec())),
        (intrinsics::DICT, dict),
    ];
    for (name, operator) in unary {
        environment.add_filter(name, move |a: &Value| charged(operator(a)));
    }
    environment.add_filter(intrinsics::CONCAT, |parts: Rest<ValueOrKwargs>| {
        charged(operators::concat(parts.iter().map(|part| -> &Value { part })))
    });
    environment.add_filter(intrinsics::CONCAT_PRINTED, |parts: Rest<ValueOrKwargs>| {
        charged(pieces::concat(parts.iter().map(|part| -> &Value { part })))
    });
    environment.add_filter(intrinsics::SLICE, |value: &Value, start: &Value, stop: &Value, step: &Value| {
        limits::charge(std::slice::from_ref(value))?;
        charged(operators::slice(value, [start, stop, step]))
    });
    environment.add_filter(intrinsics::ATTRIBUTE, |value: &Value, name: &str| methods::attribute(value, name));
    environment.add_filter(intrinsics::ITEM, |value: &Value, key: &Value| methods::item(value, key));
    environment.add_filter(intrinsics::DEFINED, |state: &mut State<'_, '_>, name: &str| is_defined(state, name));
    environment.add_filter(intrinsics::OWN_BLOCKS, own_blocks::value);
    environment.add_filter(intrinsics::WEIGHED, |value: Value| measure::charge_deep(&value).map(|()| value));
    environment.add_filter(intrinsics::MACRO_VARARGS, macro_varargs::wrap);
    environment.add_filter(intrinsics::TRUTH, |value: &Value| value.is_true());
    environment.add_filter(intrinsics::REFUSE, |message: &Value| -> Result<Value> { Err(error(to_str(message))) });
}

fn remainder(a: &Value, b: &Value) -> Result<Value> {
    match Kind::of(a) {
        Kind::Str(text) => format::percent(a, text, b),
        _ => operators::rem(a, b),
    }
}

fn ordered(operator: &str, a: &Value, b: &Value) -> Result<Value> {
    operators::compare(operator, a, b).map(|order| Value::from(operators::satisfies(operator, order)))
}

fn parts(items: &Value) -> Result<&[Value]> {
    match Kind::of(items) {
        Kind::List(items) => Ok(items),
        _ => Err(Error::from(minijinja::ErrorKind::InvalidOperation)),
    }
}

/// A dictionary from keys and values in turn.
fn dict(items: &Value) -> Result<Value> {
    let mut entries = Entries::default();
    for pair in parts(items)?.chunks_exact(2) {
        if let [key, value] = pair {
            entries.insert(Key::of(key)?, value.clone());
        }
    }
    build::dict(entries)
}
