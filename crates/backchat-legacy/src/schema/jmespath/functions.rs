//! The functions of expressions, with the types they take.

use std::cmp::Ordering;

use super::eval::{Evaluator, order, python_equal};
use super::number;
use super::parse::Ast;
use crate::schema::fault::Fault;
use backchat_core::json::{Object, Value};
use backchat_core::python;
use backchat_parser::content::{Mode, number as parsed};

enum Argument<'n> {
    Value(Value),
    /// `&expression`
    Expression(&'n Ast),
}

/// The kind of one argument of a function.
#[derive(Clone, Copy)]
enum Takes {
    Any,
    Number,
    Text,
    List,
    Object,
    Expression,
    Numbers,
    Texts,
    NumbersOrTexts,
    ListOrText,
    ListTextOrObject,
}

/// Each function with its arguments; `true` if the last may repeat.
const FUNCTIONS: &[(&str, &[Takes], bool)] = &[
    ("abs", &[Takes::Number], false),
    ("avg", &[Takes::Numbers], false),
    ("ceil", &[Takes::Number], false),
    ("contains", &[Takes::ListOrText, Takes::Any], false),
    ("ends_with", &[Takes::Text, Takes::Text], false),
    ("floor", &[Takes::Number], false),
    ("join", &[Takes::Text, Takes::Texts], false),
    ("keys", &[Takes::Object], false),
    ("length", &[Takes::ListTextOrObject], false),
    ("map", &[Takes::Expression, Takes::List], false),
    ("max", &[Takes::NumbersOrTexts], false),
    ("max_by", &[Takes::List, Takes::Expression], false),
    ("merge", &[Takes::Object], true),
    ("min", &[Takes::NumbersOrTexts], false),
    ("min_by", &[Takes::List, Takes::Expression], false),
    ("not_null", &[Takes::Any], true),
    ("reverse", &[Takes::ListOrText], false),
    ("sort", &[Takes::NumbersOrTexts], false),
    ("sort_by", &[Takes::List, Takes::Expression], false),
    ("starts_with", &[Takes::Text, Takes::Text], false),
    ("sum", &[Takes::Numbers], false),
    ("to_array", &[Takes::Any], false),
    ("to_number", &[Takes::Any], false),
    ("to_string", &[Takes::Any], false),
    ("type", &[Takes::Any], false),
    ("values", &[Takes::Object], false),
];

impl Evaluator {
    pub(super) fn call(&mut self, name: &str, arguments: &[Ast], value: &Value) -> Result<Value, Fault> {
        let mut given = Vec::new();
        for argument in arguments {
            given.push(match argument {
                Ast::Reference(expression) => Argument::Expression(expression),
                other => Argument::Value(self.eval_copy(other, value)?),
            });
        }
        let (_, takes, variadic) =
            FUNCTIONS.iter().find(|(known, ..)| *known == name).ok_or_else(|| format!("unknown function `{name}`"))?;
        let enough = if *variadic { given.len() >= takes.len() } else { given.len() == takes.len() };
        if !enough {
            return Err(Fault::new(format!("`{name}` takes {} arguments, not {}", takes.len(), given.len())));
        }
        for (argument, takes) in given.iter().zip(*takes) {
            takes.check(argument, name)?;
        }
        self.apply(name, given)
    }

    fn apply(&mut self, name: &str, given: Vec<Argument<'_>>) -> Result<Value, Fault> {
        let mut expression = None;
        let mut values = Vec::new();
        for argument in given {
            match argument {
                Argument::Value(value) => values.push(value),
                Argument::Expression(_) if name == "type" => return Ok(Value::Null),
                Argument::Expression(node) => expression = Some(node),
            }
        }
        if let Some(expression) = expression {
            let Some(Value::List(items)) = values.into_iter().next() else {
                return Err(Fault::new(format!("`{name}` takes no expression here")));
            };
            return self.apply_expression(name, items, expression);
        }
        let mut values = values.into_iter();
        let first = values.next().ok_or_else(|| lacks(name))?;
        apply_to_values(name, first, values)
    }

    fn apply_expression(&mut self, name: &str, items: Vec<Value>, expression: &Ast) -> Result<Value, Fault> {
        if name == "map" {
            let mapped: Result<Vec<_>, _> = items.into_iter().map(|item| self.eval(expression, item)).collect();
            return Ok(Value::List(mapped?));
        }
        let mut keyed = Vec::new();
        for item in items {
            let key = self.eval_copy(expression, &item)?;
            if !matches!(key, Value::Number(_) | Value::String(_)) {
                return Err(Fault::new(format!("`{name}` orders by numbers or strings, not by {}", key.kind())));
            }
            keyed.push((key, item));
        }
        match name {
            "sort_by" => sorted(keyed),
            "min_by" | "max_by" => outermost(keyed, name == "max_by"),
            _ => Err(Fault::new(format!("`{name}` takes no expression"))),
        }
    }
}

fn lacks(name: &str) -> Fault {
    Fault::new(format!("`{name}` lacks an argument"))
}

/// The functions of values, by the type of their first one.
fn apply_to_values(name: &str, first: Value, mut values: impl Iterator<Item = Value>) -> Result<Value, Fault> {
    Ok(match (name, first) {
        ("not_null", first) => {
            std::iter::once(first).chain(values).find(|value| !value.is_null()).unwrap_or(Value::Null)
        }
        ("type", first) => type_name(&first).into(),
        ("to_array", list @ Value::List(_)) => list,
        ("to_array", other) => Value::List(vec![other]),
        ("to_string", text @ Value::String(_)) => text,
        ("to_string", other) => dumps(&other).into(),
        ("to_number", first) => to_number(first),
        ("abs", Value::Number(number)) if number.is_integer() => {
            number::integer(number.as_str().trim_start_matches('-'))
        }
        ("abs", Value::Number(number)) => number.as_f64().abs().into(),
        ("ceil" | "floor", Value::Number(number)) if number.is_integer() => Value::Number(number),
        ("ceil" | "floor", Value::Number(number)) => {
            let value = number.as_f64();
            let rounded = if name == "ceil" { value.ceil() } else { value.floor() };
            number::whole(rounded).ok_or("NaN and infinities cannot be made an integer")?
        }
        ("sum", Value::List(items)) => number::sum(&items)?.into(),
        ("avg", Value::List(items)) if items.is_empty() => Value::Null,
        ("avg", Value::List(items)) => (number::sum(&items)?.as_f64() / items.len() as f64).into(),
        ("length", Value::String(text)) => text.chars().count().into(),
        ("length", Value::List(items)) => items.len().into(),
        ("length", Value::Object(entries)) => entries.len().into(),
        ("reverse", Value::String(text)) => text.chars().rev().collect::<String>().into(),
        ("reverse", Value::List(mut items)) => {
            items.reverse();
            Value::List(items)
        }
        ("keys", Value::Object(entries)) => Value::List(entries.keys().map(Value::from).collect()),
        ("values", Value::Object(mut entries)) => Value::List(entries.values_mut().map(std::mem::take).collect()),
        ("contains", subject) => contains(&subject, &values.next().ok_or_else(|| lacks(name))?)?.into(),
        ("starts_with" | "ends_with", Value::String(text)) => {
            let Some(Value::String(part)) = values.next() else { return Err(lacks(name)) };
            if name == "starts_with" { text.starts_with(&part) } else { text.ends_with(&part) }.into()
        }
        ("join", Value::String(between)) => {
            let Some(Value::List(list)) = values.next() else { return Err(lacks(name)) };
            let texts: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
            texts.join(&between).into()
        }
        ("merge", Value::Object(merged)) => merge(merged, values)?,
        ("min" | "max", Value::List(items)) => {
            let keyed = items.into_iter().map(|item| (item.clone(), item)).collect();
            outermost(keyed, name == "max")?
        }
        ("sort", Value::List(items)) => sorted(items.into_iter().map(|item| (item.clone(), item)).collect())?,
        (name, first) => return Err(Fault::new(format!("`{name}` cannot take {}", first.kind()))),
    })
}

fn merge(mut merged: Object, values: impl Iterator<Item = Value>) -> Result<Value, Fault> {
    for value in values {
        match value {
            Value::Object(entries) => merged.extend(entries),
            Value::List(items) if items.is_empty() => {}
            other => return Err(Fault::new(format!("`merge` takes objects, not {}", other.kind()))),
        }
    }
    Ok(Value::Object(merged))
}

impl Takes {
    fn check(self, argument: &Argument<'_>, name: &str) -> Result<(), Fault> {
        let value = match (self, argument) {
            (Takes::Any | Takes::Expression, Argument::Expression(_)) => return Ok(()),
            (_, Argument::Expression(_)) => return Err(Fault::new(format!("`{name}` takes no expression here"))),
            (_, Argument::Value(value)) => value,
        };
        let number = |value: &Value| matches!(value, Value::Number(_));
        let text = |value: &Value| matches!(value, Value::String(_));
        let list = value.as_list();
        let fits = match self {
            Takes::Any => true,
            Takes::Expression => false,
            Takes::Number => number(value),
            Takes::Text => text(value),
            Takes::List => list.is_some(),
            Takes::Object => value.as_object().is_some(),
            Takes::Numbers => list.is_some_and(|items| items.iter().all(number)),
            Takes::Texts => list.is_some_and(|items| items.iter().all(text)),
            Takes::NumbersOrTexts => list.is_some_and(|items| items.iter().all(number) || items.iter().all(text)),
            Takes::ListOrText => list.is_some() || text(value),
            Takes::ListTextOrObject => list.is_some() || text(value) || value.as_object().is_some(),
        };
        if fits { Ok(()) } else { Err(Fault::new(format!("`{name}` cannot take {} here", value.kind()))) }
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::List(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A number, or the one that Python's `int` or `float` reads in a text.
fn to_number(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(number),
        Value::String(text) => {
            let number = parsed::int(&text, Mode::Reference).or_else(|_| parsed::float(&text));
            number.map_or(Value::Null, Value::Number)
        }
        _ => Value::Null,
    }
}

fn contains(subject: &Value, search: &Value) -> Result<bool, Fault> {
    match (subject, search) {
        (Value::List(items), search) => Ok(items.iter().any(|item| python_equal(item, search))),
        (Value::String(text), Value::String(part)) => Ok(text.contains(part.as_str())),
        (_, search) => Err(Fault::new(format!("a string cannot contain {}", search.kind()))),
    }
}

/// The first item with the least or the greatest key; null without items.
fn outermost(keyed: Vec<(Value, Value)>, greatest: bool) -> Result<Value, Fault> {
    let mut best: Option<(Value, Value)> = None;
    for (key, item) in keyed {
        let is_better = match &best {
            None => true,
            Some((known, _)) => order(&key, known)? == Some(if greatest { Ordering::Greater } else { Ordering::Less }),
        };
        if is_better {
            best = Some((key, item));
        }
    }
    Ok(best.map_or(Value::Null, |(_, item)| item))
}

fn sorted(mut keyed: Vec<(Value, Value)>) -> Result<Value, Fault> {
    if let Some((first, rest)) = keyed.split_first() {
        for (key, _) in rest {
            order(&first.0, key)?;
        }
    }
    keyed.sort_by(|(one, _), (other, _)| order(one, other).ok().flatten().unwrap_or(Ordering::Equal));
    Ok(Value::List(keyed.into_iter().map(|(_, item)| item).collect()))
}

/// `json.dumps` with `,` and `:` as separators and everything beyond ASCII escaped.
fn dumps(value: &Value) -> String {
    let quoted = |text: &str| {
        let mut out = String::new();
        python::json::write_string(&mut out, text, true);
        out
    };
    let list = |parts: Vec<String>| parts.join(",");
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => python::json::number(number),
        Value::String(text) => quoted(text),
        Value::List(items) => format!("[{}]", list(items.iter().map(dumps).collect())),
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, item)| format!("{}:{}", quoted(key), dumps(item)));
            format!("{{{}}}", list(entries.collect()))
        }
    }
}
