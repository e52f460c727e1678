//! Jinja2's tests, the words after `is`.

use minijinja::{Error, ErrorKind, Value};

use crate::builtins::filters::FILTERS;
use crate::builtins::table::Table;
use crate::engine::limits;
use crate::values::arguments::{bind, required};
use crate::values::equality::equal;
use crate::values::group::Group;
use crate::values::lazy::{Range, is_iterable};
use crate::values::namespace::Namespace;
use crate::values::text::to_str;
use crate::values::{Kind, Result, operators};

/// A test: the value first, then the arguments.
pub(crate) type Test = fn(&Value, &[Value]) -> Result<bool>;

pub(crate) static TESTS: Table<Test> = Table(&[
    ("!=", |value, arguments| other(arguments).map(|other| !equal(value, &other))),
    ("<", |value, arguments| ordered("<", value, arguments)),
    ("<=", |value, arguments| ordered("<=", value, arguments)),
    ("==", |value, arguments| other(arguments).map(|other| equal(value, &other))),
    (">", |value, arguments| ordered(">", value, arguments)),
    (">=", |value, arguments| ordered(">=", value, arguments)),
    ("boolean", |value, arguments| alone(arguments, matches!(Kind::of(value), Kind::Bool(_)))),
    ("callable", |value, arguments| alone(arguments, callable(value))),
    ("defined", |value, arguments| alone(arguments, !value.is_undefined())),
    ("divisibleby", |value, arguments| operators::rem(value, &other(arguments)?).map(|rest| !rest.is_true())),
    ("eq", |value, arguments| other(arguments).map(|other| equal(value, &other))),
    ("equalto", |value, arguments| other(arguments).map(|other| equal(value, &other))),
    ("escaped", |value, arguments| alone(arguments, value.is_safe())),
    ("even", |value, arguments| alone(arguments, !operators::rem(value, &Value::from(2))?.is_true())),
    ("false", |value, arguments| alone(arguments, matches!(Kind::of(value), Kind::Bool(false)))),
    ("filter", |value, arguments| alone(arguments, FILTERS.has(&to_str(value)))),
    ("float", |value, arguments| alone(arguments, matches!(Kind::of(value), Kind::Float(_)))),
    ("ge", |value, arguments| ordered(">=", value, arguments)),
    ("greaterthan", |value, arguments| ordered(">", value, arguments)),
    ("gt", |value, arguments| ordered(">", value, arguments)),
    ("in", |value, arguments| operators::contains(&other(arguments)?, value)),
    ("integer", |value, arguments| alone(arguments, crate::values::type_name(value) == "int")),
    ("iterable", |value, arguments| alone(arguments, iterable(value))),
    ("le", |value, arguments| ordered("<=", value, arguments)),
    ("lessthan", |value, arguments| ordered("<", value, arguments)),
    ("lower", |value, arguments| alone(arguments, cased(value, char::is_lowercase, char::is_uppercase))),
    ("lt", |value, arguments| ordered("<", value, arguments)),
    ("mapping", |value, arguments| alone(arguments, matches!(Kind::of(value), Kind::Dict(_)))),
    ("ne", |value, arguments| other(arguments).map(|other| !equal(value, &other))),
    ("none", |value, arguments| alone(arguments, value.is_none())),
    ("number", |value, arguments| alone(arguments, number(value))),
    ("odd", |value, arguments| alone(arguments, equal(&operators::rem(value, &Value::from(2))?, &Value::from(1)))),
    ("sameas", |value, arguments| other(arguments).map(|other| same(value, &other))),
    ("sequence", |value, arguments| alone(arguments, sequence(value))),
    ("string", |value, arguments| alone(arguments, matches!(Kind::of(value), Kind::Str(_)))),
    ("test", |value, arguments| alone(arguments, TESTS.has(&to_str(value)))),
    ("true", |value, arguments| alone(arguments, matches!(Kind::of(value), Kind::Bool(true)))),
    ("undefined", |value, arguments| alone(arguments, value.is_undefined())),
    ("upper", |value, arguments| alone(arguments, cased(value, char::is_uppercase, char::is_lowercase))),
]);

/// Runs a test, and charges for its operands.
pub(crate) fn run(test: Test, value: &Value, arguments: &[Value]) -> Result<bool> {
    let answer = test(value, arguments)?;
    limits::charge(std::slice::from_ref(value))?;
    limits::charge(arguments)?;
    Ok(answer)
}

/// Applies a test by name, as `select` does.
pub(crate) fn apply(name: &str, value: &Value, arguments: &[Value]) -> Result<bool> {
    match TESTS.find(name) {
        Some(test) => run(test, value, arguments),
        None => Err(Error::new(ErrorKind::UnknownTest, format!("No test named '{name}'."))),
    }
}

fn alone(arguments: &[Value], answer: bool) -> Result<bool> {
    bind("the test", [], arguments).map(|_| answer)
}

fn other(arguments: &[Value]) -> Result<Value> {
    let [other] = bind("the test", ["other"], arguments)?;
    required("the test", "other", other)
}

fn ordered(operator: &str, value: &Value, arguments: &[Value]) -> Result<bool> {
    let order = operators::compare(operator, value, &other(arguments)?)?;
    Ok(operators::satisfies(operator, order))
}

fn number(value: &Value) -> bool {
    matches!(crate::values::type_name(value), "int" | "float" | "bool")
}

fn callable(value: &Value) -> bool {
    match Kind::of(value) {
        Kind::Undefined => true,
        Kind::Object(object) => {
            matches!(object.repr(), minijinja::value::ObjectRepr::Plain | minijinja::value::ObjectRepr::Map)
                && value.downcast_object_ref::<Namespace>().is_none()
        }
        _ => false,
    }
}

fn iterable(value: &Value) -> bool {
    matches!(Kind::of(value), Kind::Undefined | Kind::Str(_) | Kind::List(_) | Kind::Tuple(_) | Kind::Dict(_))
        || is_iterable(value)
}

/// Whether a value has a length and can be indexed: views and generators do not count, undefined does.
fn sequence(value: &Value) -> bool {
    matches!(Kind::of(value), Kind::Undefined | Kind::Str(_) | Kind::List(_) | Kind::Tuple(_) | Kind::Dict(_))
        || value.downcast_object_ref::<Range>().is_some()
        || value.downcast_object_ref::<Group>().is_some()
}

fn cased(value: &Value, wanted: fn(char) -> bool, unwanted: fn(char) -> bool) -> bool {
    let text = to_str(value);
    text.chars().any(wanted) && !text.chars().any(unwanted)
}

/// `is` in Python: the same object, which for small constants means the same value.
fn same(a: &Value, b: &Value) -> bool {
    match (Kind::of(a), Kind::of(b)) {
        (Kind::None, Kind::None) => true,
        (Kind::Bool(a), Kind::Bool(b)) => a == b,
        (Kind::Int(a), Kind::Int(b)) => a == b,
        (Kind::Float(a), Kind::Float(b)) => a == b,
        (Kind::Str(a), Kind::Str(b)) => a == b,
        (Kind::List(a), Kind::List(b)) | (Kind::Tuple(a), Kind::Tuple(b)) => std::ptr::eq(a, b),
        (Kind::Dict(a), Kind::Dict(b)) => std::ptr::eq(a, b),
        _ => false,
    }
}
