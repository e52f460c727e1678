//! One JSON Schema with everything that applies to the same value merged: types, bounds, patterns, members.

use crate::automaton::number::{Bounds, Decimal};
use crate::notes::Effect;
use backchat_core::json::{Object, Value};

use super::SchemaReader;
use super::listed::Listed;

/// The types of values, as bits: integers and fractions are distinct.
pub(crate) mod types {
    pub const NULL: u8 = 1;
    pub const BOOLEAN: u8 = 2;
    pub const WHOLE: u8 = 4;
    pub const FRACTION: u8 = 8;
    pub const STRING: u8 = 16;
    pub const ARRAY: u8 = 32;
    pub const OBJECT: u8 = 64;
    pub const ALL: u8 = 127;
}

/// Schemas that hold for the same value, each with its place in the document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Schema {
    pub all: Vec<(Value, String)>,
}

impl Schema {
    pub fn new(value: &Value, path: String) -> Self {
        Self { all: vec![(value.clone(), path)] }
    }

    pub fn anything() -> Self {
        Self { all: Vec::new() }
    }

    /// The path of the first schema; that of the root if there is none.
    pub fn path(&self) -> &str {
        self.all.first().map_or("", |(_, path)| path)
    }

    /// Whether the first schema is `false`.
    pub fn is_false(&self) -> bool {
        matches!(self.all.as_slice(), [(Value::Bool(false), _), ..])
    }

    pub fn and(mut self, other: &Self) -> Self {
        for (value, path) in &other.all {
            if !self.all.iter().any(|(_, known)| known == path) {
                self.all.push((value.clone(), path.clone()));
            }
        }
        self
    }
}

/// How many characters, items or members a value may have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub min: u64,
    pub max: Option<u64>,
}

impl Count {
    pub fn at_least(&mut self, min: Option<u64>) {
        self.min = self.min.max(min.unwrap_or(0));
    }

    pub fn at_most(&mut self, max: Option<u64>) {
        self.max = self.max.into_iter().chain(max).min();
    }

    pub fn is_free(self) -> bool {
        self.min == 0 && self.max.is_none()
    }

    pub fn is_never(self) -> bool {
        self.max.is_some_and(|max| max < self.min)
    }

    /// Whether a value may have this many.
    pub fn holds(self, count: usize) -> bool {
        count as u64 >= self.min && self.max.is_none_or(|max| count as u64 <= max)
    }

    /// The bounds of the repetition that is left after this many.
    pub fn after(self, count: u64) -> (u32, Option<u32>) {
        let left = |bound: u64| u32::try_from(bound.saturating_sub(count)).unwrap_or(u32::MAX);
        (left(self.min), self.max.map(left))
    }
}

/// The schema of the members that `properties` and `patternProperties` next to it do not name.
#[derive(Clone, Debug)]
pub(crate) struct Additional {
    pub schema: Schema,
    pub names: Vec<String>,
    pub patterns: Vec<String>,
}

impl Additional {
    pub fn beside(entries: &Object, schema: Schema) -> Self {
        let names = |keyword: &str| {
            let named = entries.get(keyword).and_then(Value::as_object).into_iter().flatten();
            named.map(|(name, _)| name.to_owned()).collect()
        };
        Self { schema, names: names("properties"), patterns: names("patternProperties") }
    }
}

/// The constraints on a value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Constraints {
    pub types: u8,
    /// The only values allowed.
    pub values: Option<Vec<Value>>,
    pub not_values: Vec<Value>,
    /// Whether whole numbers are refused in every spelling: `5.0` is one for a schema.
    pub not_whole: bool,
    pub bounds: Bounds,
    pub length: Count,
    pub patterns: Vec<(String, String)>,
    pub formats: Vec<(String, String)>,
    pub properties: Vec<(String, Schema)>,
    pub required: Vec<String>,
    /// Whether the schema constrains members, even to none.
    pub names_members: bool,
    /// The schemas of members with other names.
    pub additional: Vec<Additional>,
    pub pattern_properties: Vec<(String, Schema)>,
    pub property_names: Vec<Schema>,
    pub member_count: Count,
    pub prefix: Vec<Schema>,
    pub items: Option<Schema>,
    pub item_count: Count,
    /// The path of a schema whose items must differ.
    pub unique: Option<String>,
    /// Lists of branches; one branch of each list must hold.
    pub choices: Vec<Vec<Schema>>,
    /// The references that led here, and how many branches were taken.
    pub followed: Vec<String>,
    pub branched: usize,
    /// Its path, for notes.
    pub path: String,
}

impl Constraints {
    /// The keyword that bounds the length.
    pub fn length_keyword(&self) -> &'static str {
        if self.length.max.is_some() { "maxLength" } else { "minLength" }
    }

    /// Whether every text is such a value.
    pub fn takes_any_text(&self) -> bool {
        let is_listed = self.values.is_some() || self.not_values.iter().any(|value| value.as_str().is_some());
        let has_form = !self.patterns.is_empty() || !self.formats.is_empty();
        self.types & types::STRING != 0 && self.length.is_free() && !is_listed && !has_form
    }
}

/// What distinguishes a branch: its types, its values, and required members with their values.
type Facts = (u8, Option<Vec<Value>>, Vec<(String, Vec<Value>)>);

/// The type bits of a value.
pub(crate) fn type_of(value: &Value) -> u8 {
    match value {
        Value::Null => types::NULL,
        Value::Bool(_) => types::BOOLEAN,
        Value::Number(number) if number.is_integer() => types::WHOLE,
        Value::Number(number) if Decimal::read(number.as_str()).is_some_and(|number| number.is_whole()) => {
            types::WHOLE | types::FRACTION
        }
        Value::Number(_) => types::FRACTION,
        Value::String(_) => types::STRING,
        Value::List(_) => types::ARRAY,
        Value::Object(_) => types::OBJECT,
    }
}

impl SchemaReader<'_> {
    /// Merges the constraints of a schema on one value, except for its branches.
    pub(super) fn merged(&mut self, schema: &Schema) -> Result<Constraints, super::Problem> {
        let mut shape = Constraints { types: types::ALL, path: schema.path().to_owned(), ..Constraints::default() };
        for (value, path) in &schema.all {
            self.apply(&mut shape, value, path)?;
        }
        Ok(shape)
    }

    /// Whether no value satisfies two of these branches, because their types, values or required constants are
    /// disjoint.
    pub(super) fn are_apart(&mut self, branches: &[Schema]) -> bool {
        let facts: Vec<Facts> = branches
            .iter()
            .map(|branch| {
                let Ok(shape) = self.quietly(|reader| reader.merged(branch)) else {
                    return (types::ALL, None, Vec::new());
                };
                let mut tags = Vec::new();
                for (name, schema) in shape.properties.iter().filter(|(name, _)| shape.required.contains(name)) {
                    if let Ok(Constraints { values: Some(values), .. }) = self.quietly(|reader| reader.merged(schema)) {
                        tags.push((name.clone(), values));
                    }
                }
                let types = if shape.choices.is_empty() { shape.types } else { types::ALL & shape.types };
                (types, shape.values, tags)
            })
            .collect();
        let disjoint = |a: &[Value], b: &[Value]| {
            let listed = Listed::new(b);
            !a.iter().any(|value| listed.contains(value))
        };
        facts.iter().enumerate().all(|(at, (types, values, tags))| {
            facts.iter().skip(at + 1).all(|(other_types, other_values, other_tags)| {
                // A whole number satisfies `number` as well.
                let common = types & other_types;
                common == 0
                    || matches!((values, other_values), (Some(a), Some(b)) if disjoint(a, b))
                    || common == types::OBJECT
                        && tags
                            .iter()
                            .any(|(name, a)| other_tags.iter().any(|(other, b)| name == other && disjoint(a, b)))
            })
        })
    }

    /// The target of a reference, and its pointer.
    pub(super) fn resolve(&mut self, target: &str, path: &str) -> Result<(Value, String), super::Problem> {
        let Some(fragment) = target.strip_prefix('#') else {
            self.note(Effect::Looser, path, "$ref", "references into other documents are not followed");
            return Ok((Value::Bool(true), format!("{path}/$ref")));
        };
        let pointer = decoded(fragment);
        if !pointer.is_empty() && !pointer.starts_with('/') {
            let found = anchored(self.document, &pointer, "");
            return found.ok_or_else(|| super::Problem::at(path, &format!("`{target}` does not exist in this schema")));
        }
        let mut value = self.document;
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            let next = match value {
                Value::Object(entries) => entries.get(&step),
                Value::List(items) => step.parse::<usize>().ok().and_then(|at| items.get(at)),
                _ => None,
            };
            let Some(next) = next else {
                return Err(super::Problem::at(path, &format!("`{target}` does not exist in this schema")));
            };
            value = next;
        }
        Ok((value.clone(), pointer))
    }
}

/// The fragment of a URI without its percent-encoding.
fn decoded(fragment: &str) -> String {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, others @ ..] = rest {
        let encoded = match rest {
            [b'%', high, low, after @ ..] => digit(*high).zip(digit(*low)).map(|(high, low)| (16 * high + low, after)),
            _ => None,
        };
        let (byte, after) = encoded.unwrap_or((*first, others));
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The schema with this `$anchor`, and its pointer.
fn anchored(value: &Value, anchor: &str, path: &str) -> Option<(Value, String)> {
    match value {
        Value::Object(entries) if entries.get("$anchor").and_then(Value::as_str) == Some(anchor) => {
            Some((value.clone(), path.to_owned()))
        }
        Value::Object(entries) => {
            entries.iter().find_map(|(name, value)| anchored(value, anchor, &format!("{path}/{}", escaped(name))))
        }
        Value::List(items) => {
            items.iter().enumerate().find_map(|(at, item)| anchored(item, anchor, &format!("{path}/{at}")))
        }
        _ => None,
    }
}

/// A name as a step of a JSON pointer.
pub(crate) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
