//! The kind of a value in Python, the name of its type, and its items.

use minijinja::Value;
use minijinja::value::{DynObject, Tuple, ValueKind};

use super::containers::{Dict, List};
use super::error::{Result, error};
use super::lazy;
use super::number::LongInteger;
use crate::engine::limits;

/// A value by its type in Python.
pub(crate) enum Kind<'v> {
    Undefined,
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(&'v str),
    List(&'v [Value]),
    Tuple(&'v [Value]),
    Dict(&'v Dict),
    /// Anything else: lazy values, namespaces, macros, functions, the loop, long integers.
    Object(&'v DynObject),
    /// Values that do not occur: bytes, and invalid values.
    Other,
}

impl<'v> Kind<'v> {
    pub(crate) fn of(value: &'v Value) -> Self {
        match value.kind() {
            ValueKind::Undefined => Kind::Undefined,
            ValueKind::None => Kind::None,
            ValueKind::Bool => Kind::Bool(value.is_true()),
            ValueKind::Number if value.is_integer() => match i128::try_from(value.clone()) {
                Ok(integer) => Kind::Int(integer),
                Err(_) => Kind::Other,
            },
            ValueKind::Number => f64::try_from(value.clone()).map_or(Kind::Other, Kind::Float),
            ValueKind::String => value.as_str().map_or(Kind::Other, Kind::Str),
            _ => Self::of_object(value),
        }
    }

    fn of_object(value: &'v Value) -> Self {
        if let Some(list) = value.downcast_object_ref::<List>() {
            Kind::List(list.items())
        } else if let Some(dict) = value.downcast_object_ref::<Dict>() {
            Kind::Dict(dict)
        } else if let Some(tuple) = value.downcast_object_ref::<Tuple>() {
            Kind::Tuple(tuple)
        } else if let Some(items) = value.downcast_object_ref::<Vec<Value>>() {
            Kind::List(items)
        } else {
            value.as_object().map_or(Kind::Other, Kind::Object)
        }
    }
}

/// A number to compute with; as in Python, a bool is one.
pub(crate) enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    pub(crate) fn of(value: &Value) -> Option<Self> {
        match Kind::of(value) {
            Kind::Bool(value) => Some(Number::Int(i128::from(value))),
            Kind::Int(value) => Some(Number::Int(value)),
            Kind::Float(value) => Some(Number::Float(value)),
            _ => None,
        }
    }

    pub(crate) fn as_f64(&self) -> f64 {
        match self {
            Number::Int(value) => *value as f64,
            Number::Float(value) => *value,
        }
    }
}

/// The name of a value's type in Python.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match Kind::of(value) {
        Kind::Undefined => "Undefined",
        Kind::None => "NoneType",
        Kind::Bool(_) => "bool",
        Kind::Int(_) => "int",
        Kind::Float(_) => "float",
        Kind::Str(_) => "str",
        Kind::List(_) => "list",
        Kind::Tuple(_) => "tuple",
        Kind::Dict(_) => "dict",
        Kind::Object(_) if value.downcast_object_ref::<LongInteger>().is_some() => "int",
        Kind::Object(_) if value.downcast_object_ref::<lazy::Range>().is_some() => "range",
        Kind::Object(_) if value.downcast_object_ref::<lazy::Generator>().is_some() => "generator",
        Kind::Object(_) => value.downcast_object_ref::<lazy::View>().map_or("object", lazy::View::type_name),
        Kind::Other => "object",
    }
}

/// The items of Python's `iter(value)`.
///
/// An undefined value has none; a value that cannot be iterated over is an error.
pub(crate) fn items_of(value: &Value) -> Result<Vec<Value>> {
    match Kind::of(value) {
        Kind::Undefined => Ok(Vec::new()),
        Kind::List(items) | Kind::Tuple(items) => Ok(items.to_vec()),
        Kind::Dict(dict) => {
            dict.note_whole();
            Ok(dict.keys().collect())
        }
        Kind::Str(text) => {
            limits::items(text.chars().count())?;
            Ok(text.chars().map(Value::from).collect())
        }
        Kind::Object(object) if lazy::is_iterable(value) => Ok(object.try_iter().into_iter().flatten().collect()),
        _ => Err(error(format!("'{}' object is not iterable", type_name(value)))),
    }
}
