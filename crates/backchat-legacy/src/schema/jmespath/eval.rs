//! Evaluates an expression on a value.

use std::cmp::Ordering;

use super::number;
use super::parse::Ast;
use crate::schema::fault::Fault;
use backchat_core::json::{Object, Value, equal_by};

/// How much may be copied in one evaluation, in addition to an allowance for each byte of the value.
const ROOM: usize = 1 << 20;
/// How often the value itself may be copied.
const COPIES: usize = 64;

/// Evaluates; copied values are counted.
pub(super) struct Evaluator {
    room: usize,
}

impl Evaluator {
    pub fn new(value: &Value) -> Self {
        Self { room: ROOM + size(value).saturating_mul(COPIES) }
    }

    pub fn eval(&mut self, node: &Ast, value: Value) -> Result<Value, Fault> {
        Ok(match node {
            Ast::Current => value,
            Ast::Field(name) => match value {
                Value::Object(mut entries) => entries.get_mut(name).map_or(Value::Null, std::mem::take),
                _ => Value::Null,
            },
            Ast::Literal(literal) => self.copy(literal)?,
            Ast::Then(first, then) => {
                let value = self.eval(first, value)?;
                self.eval(then, value)?
            }
            Ast::Index(steps) => steps.iter().try_fold(value, |value, step| self.eval(step, value))?,
            Ast::At(place) => item(value, *place),
            Ast::Slice(parts) => match value {
                Value::List(items) => Value::List(slice(items, *parts)?),
                _ => Value::Null,
            },
            Ast::Flatten(of) => match self.eval(of, value)? {
                Value::List(items) => Value::List(flattened(items)),
                _ => Value::Null,
            },
            Ast::Project(of, then) => match self.eval(of, value)? {
                Value::List(items) => self.project(items.into_iter(), then)?,
                _ => Value::Null,
            },
            Ast::ProjectValues(of, then) => match self.eval(of, value)? {
                Value::Object(mut entries) => self.project(entries.values_mut().map(std::mem::take), then)?,
                _ => Value::Null,
            },
            Ast::Filter(of, condition) => match self.eval(of, value)? {
                Value::List(items) => Value::List(self.filter(items, condition)?),
                _ => Value::Null,
            },
            Ast::Equal(left, right) => equal(&self.eval_copy(left, &value)?, &self.eval(right, value)?).into(),
            Ast::Order(holds, left, right) => {
                compared(&self.eval_copy(left, &value)?, &self.eval(right, value)?, *holds)?
            }
            Ast::Or(one, other) => {
                let first = self.eval_copy(one, &value)?;
                if is_false(&first) { self.eval(other, value)? } else { first }
            }
            Ast::And(one, other) => {
                let first = self.eval_copy(one, &value)?;
                if is_false(&first) { first } else { self.eval(other, value)? }
            }
            Ast::Not(of) => is_false(&self.eval(of, value)?).into(),
            Ast::List(_) | Ast::Object(_) if value.is_null() => Value::Null,
            Ast::List(items) => {
                items.iter().map(|item| self.eval_copy(item, &value)).collect::<Result<_, _>>().map(Value::List)?
            }
            Ast::Object(entries) => self.object(entries, &value)?,
            Ast::Call(name, arguments) => self.call(name, arguments, &value)?,
            Ast::Reference(_) => return Err(Fault::new("`&` is only allowed in an argument of a function")),
        })
    }

    fn filter(&mut self, items: Vec<Value>, condition: &Ast) -> Result<Vec<Value>, Fault> {
        let mut kept = Vec::new();
        for item in items {
            if !is_false(&self.eval_copy(condition, &item)?) {
                kept.push(item);
            }
        }
        Ok(kept)
    }

    fn object(&mut self, entries: &[(String, Ast)], value: &Value) -> Result<Value, Fault> {
        let mut object = Object::new();
        for (name, node) in entries {
            object.insert(name.clone(), self.eval_copy(node, value)?);
        }
        Ok(Value::Object(object))
    }

    fn project(&mut self, items: impl Iterator<Item = Value>, then: &Ast) -> Result<Value, Fault> {
        let mut kept = Vec::new();
        for item in items {
            let item = self.eval(then, item)?;
            if !item.is_null() {
                kept.push(item);
            }
        }
        Ok(Value::List(kept))
    }

    /// Evaluates on a copy of a value.
    pub fn eval_copy(&mut self, node: &Ast, value: &Value) -> Result<Value, Fault> {
        let copy = self.copy(value)?;
        self.eval(node, copy)
    }

    /// A copy of a value, charged against the room.
    fn copy(&mut self, value: &Value) -> Result<Value, Fault> {
        let room = self.room.checked_sub(size(value));
        self.room = room.ok_or("the result of the expression does not fit into memory")?;
        Ok(value.clone())
    }
}

/// An item of a list, counted from its end if the index is negative.
fn item(value: Value, index: i64) -> Value {
    let Value::List(mut items) = value else { return Value::Null };
    let index = if index < 0 { index.saturating_add(items.len() as i64) } else { index };
    let item = usize::try_from(index).ok().and_then(|index| items.get_mut(index));
    item.map_or(Value::Null, std::mem::take)
}

/// The items of lists in a list, and its other items.
fn flattened(items: Vec<Value>) -> Vec<Value> {
    let inner = |item| if let Value::List(inner) = item { inner } else { vec![item] };
    items.into_iter().flat_map(inner).collect()
}

/// The approximate size of a value, in bytes.
fn size(value: &Value) -> usize {
    8 + match value {
        Value::String(text) => text.len(),
        Value::Number(number) => number.as_str().len(),
        Value::List(items) => items.iter().map(size).sum(),
        Value::Object(entries) => entries.iter().map(|(key, item)| key.len() + size(item)).sum(),
        Value::Null | Value::Bool(_) => 0,
    }
}

/// Whether a value counts as false; zero does not.
fn is_false(value: &Value) -> bool {
    match value {
        Value::Bool(value) => !value,
        value => value.is_empty(),
    }
}

/// A slice of a list, as in Python.
fn slice(items: Vec<Value>, [start, stop, step]: [Option<i64>; 3]) -> Result<Vec<Value>, Fault> {
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err(Fault::new("the step of a slice cannot be 0"));
    }
    let length = items.len() as i64;
    // The range of a bound: from one before the first element if the slice runs backwards.
    let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let bound = |given: Option<i64>, absent: i64| match given {
        Some(place) if place < 0 => place.saturating_add(length).clamp(low, high),
        Some(place) => place.clamp(low, high),
        None => absent,
    };
    let (from, to) = if step > 0 { (low, high) } else { (high, low) };
    let (mut place, stop) = (bound(start, from), bound(stop, to));
    let mut items: Vec<Option<Value>> = items.into_iter().map(Some).collect();
    let mut list = Vec::new();
    while (step > 0 && place < stop) || (step < 0 && place > stop) {
        let item = usize::try_from(place).ok().and_then(|place| items.get_mut(place));
        list.extend(item.and_then(Option::take));
        place = place.saturating_add(step);
    }
    Ok(list)
}

/// Whether an order holds between two values; null if one has none.
fn compared(left: &Value, right: &Value, holds: fn(Ordering) -> bool) -> Result<Value, Fault> {
    let is_ordered = |value: &Value| matches!(value, Value::Number(_) | Value::String(_));
    match is_ordered(left) && is_ordered(right) {
        true => Ok(order(left, right)?.is_some_and(holds).into()),
        false => Ok(Value::Null),
    }
}

/// Compares two numbers or two strings; `None` if one is NaN.
pub(super) fn order(left: &Value, right: &Value) -> Result<Option<Ordering>, Fault> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => Ok(number::compare(left, right)),
        (Value::String(left), Value::String(right)) => Ok(Some(left.cmp(right))),
        _ => Err(Fault::new(format!("{} and {} cannot be ordered", left.kind(), right.kind()))),
    }
}

/// `==` of an expression, to which bools differ from 0 and 1.
fn equal(left: &Value, right: &Value) -> bool {
    let is_bool = |value: &Value| matches!(value, Value::Bool(_));
    if is_bool(left) != is_bool(right) { false } else { python_equal(left, right) }
}

/// `==` of Python, to which `True` is 1.
pub(super) fn python_equal(left: &Value, right: &Value) -> bool {
    equal_by(left, right, &|left, right| match (left, right) {
        (Value::Number(left), Value::Number(right)) => number::compare(left, right) == Some(Ordering::Equal),
        (Value::Bool(truth), Value::Number(number)) | (Value::Number(number), Value::Bool(truth)) => {
            number.as_f64() == f64::from(u8::from(*truth))
        }
        (left, right) => left == right,
    })
}
