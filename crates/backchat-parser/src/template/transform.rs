//! The shape a field gives to its value: JSON with placeholders, each replaced by a value whose type is kept.

use backchat_core::json::{Map, Value};
use backchat_core::python::text::is_word;
use backchat_core::text::slice;

/// The shape a field gives to its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Transform {
    /// The shape.
    pub shape: Shape,
    /// Whether the value is a list of objects, the shape applied to each.
    pub each: bool,
    /// Whether each part of the value is used at most once in the shape, so that it can be moved there.
    pub(crate) moves: bool,
}

impl Transform {
    pub(crate) fn new(shape: Shape, each: bool) -> Self {
        let placeholders = shape.placeholders();
        let shares =
            |(index, one): (usize, &&Placeholder)| placeholders.iter().skip(index + 1).any(|other| one.shares(other));
        let moves = !placeholders.iter().enumerate().any(shares);
        Self { shape, each, moves }
    }
}

/// A JSON value with holes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Shape {
    /// A hole: replaced by a value, whose type is kept.
    Placeholder(Placeholder),
    /// A value without holes.
    Literal(Value),
    /// A list with a hole somewhere below it.
    List(Vec<Shape>),
    /// An object with a hole somewhere below it.
    Object(Map<Shape>),
}

/// The text between the braces of `"{name.key.key}"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placeholder {
    /// `content`, or a named group of the open pattern; under `transform_each` also a key of the element.
    pub name: String,
    /// Keys to go down, one inside another.
    pub keys: Vec<String>,
}

impl Placeholder {
    /// Reads a string that is wholly a placeholder.
    pub fn read(text: &str) -> Option<Self> {
        let mut words = text.strip_prefix('{')?.strip_suffix('}')?.split('.');
        let is_word = |word: &str| !word.is_empty() && word.chars().all(is_word);
        let name = words.next().filter(|word| is_word(word))?.to_owned();
        let keys = words.map(|word| is_word(word).then(|| word.to_owned())).collect::<Option<_>>()?;
        Some(Self { name, keys })
    }

    /// Whether two placeholders name the same value, or one of them a value inside the other's.
    fn shares(&self, other: &Self) -> bool {
        self.name == other.name && self.keys.iter().zip(&other.keys).all(|(one, other)| one == other)
    }

    /// Whether a string has a placeholder somewhere in it.
    pub fn is_in(text: &str) -> bool {
        text.match_indices('{').any(|(start, _)| {
            let rest = slice(text, start..);
            rest.find('}').and_then(|end| rest.get(..=end)).is_some_and(|inner| Self::read(inner).is_some())
        })
    }
}

impl std::fmt::Display for Placeholder {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{{{}", self.name)?;
        self.keys.iter().try_for_each(|key| write!(out, ".{key}"))?;
        write!(out, "}}")
    }
}

impl Shape {
    /// Finds the holes of a value. Keys are not looked at.
    pub fn of(value: &Value) -> Self {
        Self::with_holes(value).unwrap_or_else(|| Shape::Literal(value.clone()))
    }

    /// The shape of a value that has a hole.
    fn with_holes(value: &Value) -> Option<Self> {
        let or_literal =
            |(value, shape): (&Value, Option<Self>)| shape.unwrap_or_else(|| Shape::Literal(value.clone()));
        match value {
            Value::String(text) => Placeholder::read(text).map(Shape::Placeholder),
            Value::List(items) => {
                let shapes: Vec<_> = items.iter().map(Self::with_holes).collect();
                let has_hole = shapes.iter().any(Option::is_some);
                has_hole.then(|| Shape::List(items.iter().zip(shapes).map(or_literal).collect()))
            }
            Value::Object(entries) => {
                let shapes: Vec<_> = entries.values().map(Self::with_holes).collect();
                let has_hole = shapes.iter().any(Option::is_some);
                let shapes = entries.values().zip(shapes).map(or_literal);
                has_hole.then(|| Shape::Object(entries.keys().zip(shapes).collect()))
            }
            _ => None,
        }
    }

    /// The value it was made from.
    pub fn to_value(&self) -> Value {
        match self {
            Shape::Placeholder(placeholder) => Value::String(placeholder.to_string()),
            Shape::Literal(value) => value.clone(),
            Shape::List(items) => Value::List(items.iter().map(Shape::to_value).collect()),
            Shape::Object(entries) => {
                Value::Object(entries.iter().map(|(key, shape)| (key, shape.to_value())).collect())
            }
        }
    }

    /// Every placeholder, from first to last.
    pub fn placeholders(&self) -> Vec<&Placeholder> {
        match self {
            Shape::Placeholder(placeholder) => vec![placeholder],
            Shape::Literal(_) => Vec::new(),
            Shape::List(items) => items.iter().flat_map(Shape::placeholders).collect(),
            Shape::Object(entries) => entries.values().flat_map(Shape::placeholders).collect(),
        }
    }
}
