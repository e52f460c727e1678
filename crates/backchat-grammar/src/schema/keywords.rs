//! The effect of each keyword of a JSON Schema on a shape.

use backchat_core::json::{Object, Value};
use backchat_core::push_new;

use super::listed::Listed;
use super::shape::{Schema, Shape, escaped, types};
use super::{Problem, Reader};
use crate::notes::Effect;
use crate::number::Decimal;

/// Annotations, which have no effect.
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
fn text<'v>(value: &'v Value, keyword: &str, path: &str) -> Result<&'v str, Problem> {
    value.as_str().ok_or_else(|| Problem::at(path, &format!("`{keyword}` must be a string")))
}

/// The names of types that `type` gives.
fn names_of(value: &Value) -> Vec<&str> {
    match value {
        Value::String(name) => vec![name.as_str()],
        other => other.as_list().unwrap_or(&[]).iter().filter_map(Value::as_str).collect(),
    }
}

/// The schemas of a list, each with its place.
fn schemas(list: &Value, keyword: &str, path: &str) -> Vec<Schema> {
    let items = list.as_list().unwrap_or(&[]).iter().enumerate();
    items.map(|(at, item)| Schema::new(item, format!("{path}/{keyword}/{at}"))).collect()
}

impl Reader<'_> {
    /// Adds to a shape what a schema says.
    pub(super) fn apply(&mut self, shape: &mut Shape, value: &Value, path: &str) -> Result<(), Problem> {
        let entries = match value {
            Value::Bool(true) => return Ok(()),
            Value::Bool(false) => {
                shape.types = 0;
                return Ok(());
            }
            Value::Object(entries) => entries,
            _ => return Err(Problem::at(path, "not a schema: it must be an object, `true` or `false`")),
        };
        for (keyword, value) in entries {
            match keyword {
                // They are read together, after the other keywords.
                "type" | "nullable" => {}
                "enum" => keep_values(shape, value.as_list().unwrap_or(&[]).to_vec()),
                "const" => keep_values(shape, vec![value.clone()]),
                "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                    self.bound(shape, entries, keyword, value, path);
                }
                "multipleOf" => self.multiple(shape, value, path),
                "minLength" | "maxLength" | "pattern" | "format" => of_strings(shape, keyword, value, path)?,
                "properties"
                | "patternProperties"
                | "additionalProperties"
                | "propertyNames"
                | "required"
                | "minProperties"
                | "maxProperties" => of_objects(shape, keyword, value, path),
                "prefixItems" | "items" | "minItems" | "maxItems" | "uniqueItems" => {
                    self.of_lists(shape, keyword, value, path);
                }
                "allOf" | "anyOf" | "oneOf" | "not" => self.combined(shape, keyword, value, path)?,
                "$ref" => self.reference(shape, text(value, keyword, path)?, path)?,
                other => self.ignored(other, path),
            }
        }
        self.types(shape, entries, path);
        Ok(())
    }

    /// `type`, and `nullable` next to it.
    fn types(&mut self, shape: &mut Shape, entries: &Object, path: &str) {
        let Some(value) = entries.get("type") else { return };
        let mut bits = 0;
        for name in names_of(value) {
            bits |= named(name).unwrap_or_else(|| {
                let message = format!("`{name}` is not a type of JSON Schema");
                self.note(Effect::Assumed, path, "type", &message);
                types::ALL
            });
        }
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

    fn bound(&mut self, shape: &mut Shape, entries: &Object, keyword: &str, value: &Value, path: &str) {
        // In draft 4 the exclusive bounds are flags next to the others.
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

    fn multiple(&mut self, shape: &mut Shape, value: &Value, path: &str) {
        let Some(number) = value.as_u64().filter(|number| (1..=100).contains(number)) else {
            let message = "multiples are enforced for whole numbers up to 100";
            return self.note(Effect::Looser, path, "multipleOf", message);
        };
        let known = shape.bounds.multiple.unwrap_or(1);
        let both = known * number / divisor(known, number);
        if both <= 1000 {
            shape.bounds.multiple = Some(both);
        } else {
            self.note(Effect::Looser, path, "multipleOf", "multiples of so large a number are not enforced");
        }
    }

    fn of_lists(&mut self, shape: &mut Shape, keyword: &str, value: &Value, path: &str) {
        let number = value.as_u64();
        match keyword {
            "minItems" => shape.min_items = shape.min_items.max(number.unwrap_or(0)),
            "maxItems" => shape.max_items = least(shape.max_items, number),
            "uniqueItems" if value.is_truthy() => {
                self.note(Effect::Looser, path, keyword, "items may repeat: a grammar cannot track them");
            }
            "uniqueItems" => {}
            "items" if value.as_list().is_none() => {
                add(&mut shape.items, Schema::new(value, format!("{path}/items")));
            }
            _ => merge_prefix(shape, schemas(value, keyword, path)),
        }
    }

    fn combined(&mut self, shape: &mut Shape, keyword: &str, value: &Value, path: &str) -> Result<(), Problem> {
        match keyword {
            "allOf" => {
                for (value, path) in schemas(value, keyword, path).iter().flat_map(|schema| &schema.all) {
                    self.apply(shape, value, path)?;
                }
            }
            "anyOf" => shape.choices.push(schemas(value, keyword, path)),
            "oneOf" => {
                let branches = schemas(value, keyword, path);
                if !self.are_apart(&branches) {
                    let message = "branches that overlap are read as `anyOf`: a grammar cannot exclude that two match";
                    self.note(Effect::Looser, path, keyword, message);
                }
                shape.choices.push(branches);
            }
            _ => self.negated(shape, value, path),
        }
        Ok(())
    }

    /// `not` of types and of values; anything else is beyond a grammar.
    fn negated(&mut self, shape: &mut Shape, value: &Value, path: &str) {
        let entries = value.as_object();
        let only = entries.filter(|entries| entries.len() == 1).and_then(|entries| entries.first());
        match only {
            Some(("type", value)) => {
                for name in names_of(value) {
                    shape.types &= !named(name).unwrap_or(0);
                }
            }
            Some(("const", value)) => shape.not_values.push(value.clone()),
            Some(("enum", values)) => shape.not_values.extend(values.as_list().unwrap_or(&[]).iter().cloned()),
            _ => self.note(Effect::Looser, path, "not", "only `not` of `type`, `const` and `enum` is enforced"),
        }
    }

    /// What a reference leads to.
    fn reference(&mut self, shape: &mut Shape, target: &str, path: &str) -> Result<(), Problem> {
        let (value, pointer) = self.resolve(target, path)?;
        if !shape.followed.contains(&pointer) {
            shape.followed.push(pointer.clone());
            return self.apply(shape, &value, &pointer);
        }
        if shape.branched == 0 {
            return Err(Problem::at(path, "this reference refers only to itself"));
        }
        // A branch that is the whole again adds nothing to it.
        shape.types = 0;
        Ok(())
    }

    /// A keyword that has no effect here.
    fn ignored(&mut self, keyword: &str, path: &str) {
        if ANNOTATIONS.contains(&keyword) {
            return;
        }
        match BEYOND.iter().find(|(name, _)| *name == keyword) {
            Some((_, why)) => self.note(Effect::Looser, path, keyword, why),
            None => self.note(Effect::Assumed, path, keyword, "unknown keyword, which has no effect"),
        }
    }
}

fn of_strings(shape: &mut Shape, keyword: &str, value: &Value, path: &str) -> Result<(), Problem> {
    let known = match keyword {
        "minLength" => {
            shape.min_length = shape.min_length.max(value.as_u64().unwrap_or(0));
            return Ok(());
        }
        "maxLength" => {
            shape.max_length = least(shape.max_length, value.as_u64());
            return Ok(());
        }
        "pattern" => &mut shape.patterns,
        _ => &mut shape.formats,
    };
    let text = text(value, keyword, path)?;
    if !known.iter().any(|(known, _)| known == text) {
        known.push((text.to_owned(), path.to_owned()));
    }
    Ok(())
}

fn of_objects(shape: &mut Shape, keyword: &str, value: &Value, path: &str) {
    let number = value.as_u64();
    let members = value.as_object().into_iter().flatten();
    let members = members.map(|(name, value)| {
        let own = Schema::new(value, format!("{path}/{keyword}/{}", escaped(name)));
        (name, own)
    });
    match keyword {
        "properties" => {
            shape.names_members = true;
            for (name, own) in members {
                match shape.properties.iter_mut().find(|(known, _)| known == name) {
                    Some((_, known)) => *known = known.clone().and(&own),
                    None => shape.properties.push((name.to_owned(), own)),
                }
            }
        }
        "patternProperties" => {
            shape.names_members = true;
            shape.pattern_properties.extend(members.map(|(pattern, own)| (pattern.to_owned(), own)));
        }
        "additionalProperties" => add(&mut shape.additional, Schema::new(value, format!("{path}/{keyword}"))),
        "propertyNames" => shape.property_names.push(Schema::new(value, format!("{path}/{keyword}"))),
        "required" => {
            for name in value.as_list().unwrap_or(&[]).iter().filter_map(Value::as_str) {
                push_new(&mut shape.required, name.to_owned());
            }
        }
        "minProperties" => shape.min_properties = shape.min_properties.max(number.unwrap_or(0)),
        _ => shape.max_properties = least(shape.max_properties, number),
    }
}

/// Adds a schema that holds besides the one that is known.
fn add(known: &mut Option<Schema>, own: Schema) {
    *known = Some(match known.take() {
        Some(known) => known.and(&own),
        None => own,
    });
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
    known.into_iter().chain(other).min()
}

fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}
