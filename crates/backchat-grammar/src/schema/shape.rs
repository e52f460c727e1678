//! One JSON Schema with everything that applies to the same value merged: types, bounds, patterns, members.

use crate::notes::Effect;
use crate::number::{Bounds, Decimal};
use backchat_core::json::Value;

use super::Reader;
use super::listed::Listed;

/// The types of values, as bits: whole numbers and others are two.
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

    /// The place of the schema, of the first where there are several; the root's where none says anything.
    pub fn path(&self) -> &str {
        self.all.first().map_or("", |(_, path)| path)
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

/// The constraints on a value.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub types: u8,
    /// The only values there are.
    pub values: Option<Vec<Value>>,
    pub not_values: Vec<Value>,
    pub bounds: Bounds,
    pub min_length: u64,
    pub max_length: Option<u64>,
    pub patterns: Vec<(String, String)>,
    pub formats: Vec<(String, String)>,
    pub properties: Vec<(String, Schema)>,
    pub required: Vec<String>,
    /// Whether the schema says which members there are, be it none.
    pub names_members: bool,
    /// The schema of members with other names; nothing if there is none.
    pub additional: Option<Schema>,
    pub pattern_properties: Vec<(String, Schema)>,
    pub property_names: Vec<Schema>,
    pub min_properties: u64,
    pub max_properties: Option<u64>,
    pub prefix: Vec<Schema>,
    pub items: Option<Schema>,
    pub min_items: u64,
    pub max_items: Option<u64>,
    /// Lists of branches of which one has to hold.
    pub choices: Vec<Vec<Schema>>,
    /// The references that led here, and how many branches were taken.
    pub followed: Vec<String>,
    pub branched: usize,
    /// Its path, for notes.
    pub path: String,
}

impl Shape {
    /// Whether any text is such a value.
    pub fn takes_any_text(&self) -> bool {
        let is_free = self.min_length == 0 && self.max_length.is_none();
        let is_listed = self.values.is_some() || self.not_values.iter().any(|value| value.as_str().is_some());
        let has_form = !self.patterns.is_empty() || !self.formats.is_empty();
        self.types & types::STRING != 0 && is_free && !is_listed && !has_form
    }
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            types: types::ALL,
            values: None,
            not_values: Vec::new(),
            bounds: Bounds::default(),
            min_length: 0,
            max_length: None,
            patterns: Vec::new(),
            formats: Vec::new(),
            properties: Vec::new(),
            required: Vec::new(),
            names_members: false,
            additional: None,
            pattern_properties: Vec::new(),
            property_names: Vec::new(),
            min_properties: 0,
            max_properties: None,
            prefix: Vec::new(),
            items: None,
            min_items: 0,
            max_items: None,
            choices: Vec::new(),
            followed: Vec::new(),
            branched: 0,
            path: String::new(),
        }
    }
}

/// The properties that distinguish a branch: its types, its values, and required members with their values.
type Facts = (u8, Option<Vec<Value>>, Vec<(String, Vec<Value>)>);

/// Keywords that say something to people alone.
const ANNOTATIONS: [&str; 19] = [
    "title",
    "description",
    "default",
    "examples",
    "example",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$comment",
    "$schema",
    "$id",
    "$anchor",
    "$defs",
    "definitions",
    "$vocabulary",
    "contentMediaType",
    "contentEncoding",
    "contentSchema",
    "strict",
];

/// Keywords that no grammar of sensible size can enforce.
const BEYOND: [(&str, &str); 9] = [
    ("if", "a grammar cannot track which branch was taken"),
    ("then", "a grammar cannot track which branch was taken"),
    ("else", "a grammar cannot track which branch was taken"),
    ("dependentRequired", "members that depend on others are not enforced"),
    ("dependentSchemas", "members that depend on others are not enforced"),
    ("contains", "a grammar cannot track whether an item was seen"),
    ("unevaluatedProperties", "other members are not enforced here"),
    ("unevaluatedItems", "other items are not enforced here"),
    ("$dynamicRef", "dynamic references are not followed"),
];

/// The type bits of a value.
pub(crate) fn type_of(value: &Value) -> u8 {
    match value {
        Value::Null => types::NULL,
        Value::Bool(_) => types::BOOLEAN,
        Value::Number(number) if number.is_integer() => types::WHOLE,
        Value::Number(_) => types::FRACTION,
        Value::String(_) => types::STRING,
        Value::List(_) => types::ARRAY,
        Value::Object(_) => types::OBJECT,
    }
}

fn named(name: &str) -> Option<u8> {
    Some(match name {
        "null" => types::NULL,
        "boolean" => types::BOOLEAN,
        "integer" => types::WHOLE,
        "number" => types::WHOLE | types::FRACTION,
        "string" => types::STRING,
        "array" => types::ARRAY,
        "object" => types::OBJECT,
        _ => return None,
    })
}

/// The text of a keyword that takes nothing else.
fn text<'v>(value: &'v Value, keyword: &str, path: &str) -> Result<&'v str, super::Problem> {
    value.as_str().ok_or_else(|| super::Problem::at(path, &format!("`{keyword}` must be a string")))
}

impl Reader<'_> {
    /// Merges everything that a schema says about one value, apart from its branches.
    pub(super) fn merged(&mut self, schema: &Schema) -> Result<Shape, super::Problem> {
        let mut shape = Shape { path: schema.path().to_owned(), ..Shape::default() };
        for (value, path) in &schema.all {
            self.apply(&mut shape, value, path)?;
        }
        Ok(shape)
    }

    pub(super) fn apply(&mut self, shape: &mut Shape, value: &Value, path: &str) -> Result<(), super::Problem> {
        let entries = match value {
            Value::Bool(true) => return Ok(()),
            Value::Bool(false) => {
                shape.types = 0;
                return Ok(());
            }
            Value::Object(entries) => entries,
            _ => return Err(super::Problem::at(path, "not a schema: it must be an object, `true` or `false`")),
        };
        let schemas = |list: &Value, name: &str| -> Vec<Schema> {
            let items = list.as_list().unwrap_or(&[]).iter().enumerate();
            items.map(|(at, item)| Schema::new(item, format!("{path}/{name}/{at}"))).collect()
        };
        let mut types_here = None;
        for (keyword, value) in entries {
            let number = value.as_u64();
            match keyword.as_str() {
                "type" => {
                    let names = match value {
                        Value::String(name) => vec![name.as_str()],
                        Value::List(names) => names.iter().filter_map(Value::as_str).collect(),
                        _ => Vec::new(),
                    };
                    let mut bits = 0;
                    for name in names {
                        match named(name) {
                            Some(bit) => bits |= bit,
                            None => {
                                let message = format!("`{name}` is not a type of JSON Schema");
                                self.note(Effect::Assumed, path, keyword, &message);
                                bits |= types::ALL;
                            }
                        }
                    }
                    types_here = Some(bits);
                }
                "nullable" => {}
                "enum" => {
                    let values = value.as_list().unwrap_or(&[]).to_vec();
                    keep_values(shape, values);
                }
                "const" => keep_values(shape, vec![value.clone()]),
                "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                    self.bound(shape, entries, keyword, value, path);
                }
                "multipleOf" => match number.filter(|number| (1..=100).contains(number)) {
                    Some(number) => {
                        let known = shape.bounds.multiple.unwrap_or(1);
                        let both = known * number / divisor(known, number);
                        if both <= 1000 {
                            shape.bounds.multiple = Some(both);
                        } else {
                            self.note(Effect::Looser, path, keyword, "multiples of so large a number are not enforced");
                        }
                    }
                    None => {
                        self.note(Effect::Looser, path, keyword, "multiples are enforced for whole numbers up to 100");
                    }
                },
                "minLength" => shape.min_length = shape.min_length.max(number.unwrap_or(0)),
                "maxLength" => shape.max_length = least(shape.max_length, number),
                "pattern" => {
                    let pattern = text(value, keyword, path)?;
                    if !shape.patterns.iter().any(|(known, _)| known == pattern) {
                        shape.patterns.push((pattern.to_owned(), path.to_owned()));
                    }
                }
                "format" => {
                    let format = text(value, keyword, path)?;
                    if !shape.formats.iter().any(|(known, _)| known == format) {
                        shape.formats.push((format.to_owned(), path.to_owned()));
                    }
                }
                "required" => {
                    for name in value.as_list().unwrap_or(&[]).iter().filter_map(Value::as_str) {
                        if !shape.required.iter().any(|known| known == name) {
                            shape.required.push(name.to_owned());
                        }
                    }
                }
                "properties" => {
                    shape.names_members = true;
                    for (name, value) in value.as_object().into_iter().flatten() {
                        let own = Schema::new(value, format!("{path}/properties/{}", escaped(name)));
                        match shape.properties.iter_mut().find(|(known, _)| known == name) {
                            Some((_, known)) => *known = known.clone().and(&own),
                            None => shape.properties.push((name.clone(), own)),
                        }
                    }
                }
                "additionalProperties" => {
                    let own = Schema::new(value, format!("{path}/additionalProperties"));
                    shape.additional = Some(match shape.additional.take() {
                        Some(known) => known.and(&own),
                        None => own,
                    });
                }
                "patternProperties" => {
                    shape.names_members = true;
                    for (pattern, value) in value.as_object().into_iter().flatten() {
                        let own = Schema::new(value, format!("{path}/patternProperties/{}", escaped(pattern)));
                        shape.pattern_properties.push((pattern.clone(), own));
                    }
                }
                "propertyNames" => shape.property_names.push(Schema::new(value, format!("{path}/propertyNames"))),
                "minProperties" => shape.min_properties = shape.min_properties.max(number.unwrap_or(0)),
                "maxProperties" => shape.max_properties = least(shape.max_properties, number),
                "prefixItems" => merge_prefix(shape, schemas(value, keyword)),
                "items" if value.as_list().is_some() => merge_prefix(shape, schemas(value, keyword)),
                "items" => {
                    let own = Schema::new(value, format!("{path}/items"));
                    shape.items = Some(match shape.items.take() {
                        Some(known) => known.and(&own),
                        None => own,
                    });
                }
                "minItems" => shape.min_items = shape.min_items.max(number.unwrap_or(0)),
                "maxItems" => shape.max_items = least(shape.max_items, number),
                "uniqueItems" => {
                    if value.is_truthy() {
                        self.note(Effect::Looser, path, keyword, "items may repeat: a grammar cannot track them");
                    }
                }
                "allOf" => {
                    for schema in schemas(value, keyword) {
                        for (value, path) in &schema.all {
                            self.apply(shape, value, path)?;
                        }
                    }
                }
                "anyOf" => shape.choices.push(schemas(value, keyword)),
                "oneOf" => {
                    let branches = schemas(value, keyword);
                    if !self.are_apart(&branches) {
                        let message =
                            "branches that overlap are read as `anyOf`: a grammar cannot exclude that two match";
                        self.note(Effect::Looser, path, keyword, message);
                    }
                    shape.choices.push(branches);
                }
                "not" => self.negated(shape, value, path),
                "$ref" => {
                    let target = text(value, keyword, path)?;
                    let (value, pointer) = self.resolve(target, path)?;
                    if shape.followed.contains(&pointer) {
                        if shape.branched == 0 {
                            let message = "this reference leads back to itself and to nothing else";
                            return Err(super::Problem::at(path, message));
                        }
                        // A branch that is the whole again adds nothing to it.
                        shape.types = 0;
                        continue;
                    }
                    shape.followed.push(pointer.clone());
                    self.apply(shape, &value, &pointer)?;
                }
                known if ANNOTATIONS.contains(&known) => {}
                other => match BEYOND.iter().find(|(name, _)| *name == other) {
                    Some((_, why)) => self.note(Effect::Looser, path, other, why),
                    None => self.note(Effect::Assumed, path, other, "unknown keyword, which has no effect"),
                },
            }
        }
        if let Some(mut bits) = types_here {
            if entries.get("nullable").is_some_and(Value::is_truthy) {
                bits |= types::NULL;
                if let Some(values) = entries.get("enum").and_then(Value::as_list)
                    && !values.contains(&Value::Null)
                    && let Some(known) = &mut shape.values
                {
                    known.push(Value::Null);
                }
            }
            shape.types &= bits;
        }
        Ok(())
    }

    fn bound(
        &mut self,
        shape: &mut Shape,
        entries: &backchat_core::json::Object,
        keyword: &str,
        value: &Value,
        path: &str,
    ) {
        // Draft 4 has the exclusive bounds as flags beside the others.
        let flag = |name: &str| entries.get(name).and_then(Value::as_bool).unwrap_or(false);
        let Value::Number(number) = value else { return };
        let Some(decimal) = Decimal::read(number.as_str()) else {
            return self.note(Effect::Looser, path, keyword, "this bound has too many digits to be enforced");
        };
        match keyword {
            "minimum" => shape.bounds.at_least(decimal, flag("exclusiveMinimum")),
            "exclusiveMinimum" => shape.bounds.at_least(decimal, true),
            "maximum" => shape.bounds.at_most(decimal, flag("exclusiveMaximum")),
            _ => shape.bounds.at_most(decimal, true),
        }
    }

    /// `not` of types and of values; anything else is beyond a grammar.
    fn negated(&mut self, shape: &mut Shape, value: &Value, path: &str) {
        let entries = value.as_object();
        let only = entries.filter(|entries| entries.len() == 1).and_then(|entries| entries.first());
        match only.map(|(key, value)| (key.as_str(), value)) {
            Some(("type", value)) => {
                let names = match value {
                    Value::String(name) => vec![name.as_str()],
                    other => other.as_list().unwrap_or(&[]).iter().filter_map(Value::as_str).collect(),
                };
                for name in names {
                    shape.types &= !named(name).unwrap_or(0);
                }
            }
            Some(("const", value)) => shape.not_values.push(value.clone()),
            Some(("enum", values)) => shape.not_values.extend(values.as_list().unwrap_or(&[]).iter().cloned()),
            _ => self.note(Effect::Looser, path, "not", "only `not` of `type`, `const` and `enum` is enforced"),
        }
    }

    /// Whether no value satisfies two of these branches: types apart, values apart, or a required constant apart.
    fn are_apart(&mut self, branches: &[Schema]) -> bool {
        let facts: Vec<Facts> = branches
            .iter()
            .map(|branch| {
                let Ok(shape) = self.quietly(|reader| reader.merged(branch)) else {
                    return (types::ALL, None, Vec::new());
                };
                let mut tags = Vec::new();
                for (name, schema) in shape.properties.iter().filter(|(name, _)| shape.required.contains(name)) {
                    if let Ok(Shape { values: Some(values), .. }) = self.quietly(|reader| reader.merged(schema)) {
                        tags.push((name.clone(), values));
                    }
                }
                let types = if shape.choices.is_empty() { shape.types } else { types::ALL & shape.types };
                (types, shape.values, tags)
            })
            .collect();
        let disjoint = |a: &[Value], b: &[Value]| !a.iter().any(|value| b.contains(value));
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

    /// The schema a reference names, and its pointer.
    pub(super) fn resolve(&mut self, target: &str, path: &str) -> Result<(Value, String), super::Problem> {
        let Some(pointer) = target.strip_prefix('#') else {
            self.note(Effect::Looser, path, "$ref", "references into other documents are not followed");
            return Ok((Value::Bool(true), format!("{path}/$ref")));
        };
        let mut value = self.document;
        for step in pointer.split('/').skip(1) {
            let step = step.replace("%25", "%").replace("~1", "/").replace("~0", "~");
            let next = match value {
                Value::Object(entries) => entries.get(&step),
                Value::List(items) => step.parse::<usize>().ok().and_then(|at| items.get(at)),
                _ => None,
            };
            let Some(next) = next else {
                return Err(super::Problem::at(path, &format!("`{target}` leads nowhere in this schema")));
            };
            value = next;
        }
        Ok((value.clone(), pointer.to_owned()))
    }
}

fn keep_values(shape: &mut Shape, values: Vec<Value>) {
    let Some(known) = &mut shape.values else {
        shape.values = Some(values);
        return;
    };
    let listed = Listed::new(&values);
    known.retain(|value| listed.contains(value));
}

fn merge_prefix(shape: &mut Shape, schemas: Vec<Schema>) {
    for (at, schema) in schemas.into_iter().enumerate() {
        match shape.prefix.get_mut(at) {
            Some(known) => *known = known.clone().and(&schema),
            None => shape.prefix.push(schema),
        }
    }
}

fn least(known: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (known, other) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// A name as a step of a JSON pointer.
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
