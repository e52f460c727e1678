//! The effect of each keyword of a JSON Schema on a shape.

use backchat_core::json::{Object, Value};
use backchat_core::push_new;

use super::listed::Listed;
use super::shape::{Additional, Constraints, Schema, escaped, types};
use super::{Problem, SchemaReader};
use crate::automaton::number::Decimal;
use crate::notes::Effect;

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

/// The value of a keyword that must be a string.
fn text<'v>(value: &'v Value, keyword: &str, path: &str) -> Result<&'v str, Problem> {
    value.as_str().ok_or_else(|| Problem::at(path, &format!("`{keyword}` must be a string")))
}

/// A whole number that is not negative, in any spelling.
fn whole(value: &Value) -> Option<u64> {
    let Value::Number(number) = value else { return None };
    Decimal::read(number.as_str())?.as_u64()
}

/// The types that the `type` of a schema names; `None` if one is unknown.
fn names_of(value: &Value) -> Option<Vec<&str>> {
    let names = value.as_list().unwrap_or(std::slice::from_ref(value));
    names.iter().map(|name| name.as_str().filter(|name| named(name).is_some())).collect()
}

/// What the value of a keyword must be, if it is something else; `None` for keywords with checks of their own.
fn wanted(keyword: &str, value: &Value) -> Option<&'static str> {
    let (fits, wanted) = match keyword {
        "enum" | "prefixItems" | "allOf" | "anyOf" | "oneOf" => (value.as_list().is_some(), "a list"),
        "required" => (value.as_list().is_some(), "a list of names"),
        "properties" | "patternProperties" => (value.as_object().is_some(), "an object"),
        "uniqueItems" => (value.as_bool().is_some(), "`true` or `false`"),
        "minimum" | "maximum" | "multipleOf" => (matches!(value, Value::Number(_)), "a number"),
        // In draft 4 the exclusive bounds are flags next to the others.
        "exclusiveMinimum" | "exclusiveMaximum" => (matches!(value, Value::Number(_) | Value::Bool(_)), "a number"),
        "minLength" | "maxLength" | "minProperties" | "maxProperties" | "minItems" | "maxItems" => {
            (whole(value).is_some(), "a whole number that is not negative")
        }
        _ => return None,
    };
    (!fits).then_some(wanted)
}

/// The schemas of a list, each with its place.
fn schemas(list: &Value, keyword: &str, path: &str) -> Vec<Schema> {
    let items = list.as_list().unwrap_or(&[]).iter().enumerate();
    items.map(|(at, item)| Schema::new(item, format!("{path}/{keyword}/{at}"))).collect()
}

/// The schemas of members or of their patterns, each with its name.
fn members(value: &Value, keyword: &str, path: &str) -> impl Iterator<Item = (String, Schema)> {
    let members = value.as_object().into_iter().flatten();
    members
        .map(move |(name, value)| (name.to_owned(), Schema::new(value, format!("{path}/{keyword}/{}", escaped(name)))))
}

/// Adds a member, which must satisfy every schema that names it.
fn keep_property(shape: &mut Constraints, (name, own): (String, Schema)) {
    match shape.properties.iter_mut().find(|(known, _)| *known == name) {
        Some((_, known)) => *known = known.clone().and(&own),
        None => shape.properties.push((name, own)),
    }
}

impl SchemaReader<'_> {
    /// Applies a schema to a shape.
    pub(super) fn apply(&mut self, shape: &mut Constraints, value: &Value, path: &str) -> Result<(), Problem> {
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
            match wanted(keyword, value) {
                Some(wanted) => self.without_effect(value, wanted, keyword, path),
                None => self.keyword(shape, entries, (keyword, value), path)?,
            }
        }
        self.types(shape, entries, path);
        Ok(())
    }

    /// Applies one keyword, whose value has the right type.
    fn keyword(
        &mut self,
        shape: &mut Constraints,
        entries: &Object,
        (keyword, value): (&str, &Value),
        path: &str,
    ) -> Result<(), Problem> {
        let own = || Schema::new(value, format!("{path}/{keyword}"));
        shape.names_members |= matches!(keyword, "properties" | "patternProperties");
        match keyword {
            // Both are read together, after the other keywords.
            "type" | "nullable" => {}
            "enum" => keep_values(shape, value.as_list().unwrap_or(&[]).to_vec()),
            "const" => keep_values(shape, vec![value.clone()]),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                self.bound(shape, entries, keyword, value, path);
            }
            "multipleOf" => self.multiple(shape, value, path),
            "minLength" => shape.length.at_least(whole(value)),
            "maxLength" => shape.length.at_most(whole(value)),
            "pattern" => keep_text(&mut shape.patterns, text(value, keyword, path)?, path),
            "format" => keep_text(&mut shape.formats, text(value, keyword, path)?, path),
            "properties" => members(value, keyword, path).for_each(|member| keep_property(shape, member)),
            "patternProperties" => shape.pattern_properties.extend(members(value, keyword, path)),
            "additionalProperties" => shape.additional.push(Additional::beside(entries, own())),
            "propertyNames" => shape.property_names.push(own()),
            "required" => self.require(shape, value, path),
            "minProperties" => shape.member_count.at_least(whole(value)),
            "maxProperties" => shape.member_count.at_most(whole(value)),
            "minItems" => shape.item_count.at_least(whole(value)),
            "maxItems" => shape.item_count.at_most(whole(value)),
            // Read together with `prefixItems`.
            "items" if entries.get("prefixItems").is_some_and(|items| items.as_list().is_some()) => {}
            "items" if value.as_list().is_none() => merge_items(shape, &[], Some(own())),
            "items" | "prefixItems" => {
                let rest = entries.get("items").filter(|items| items.as_list().is_none());
                let rest = rest.map(|items| Schema::new(items, format!("{path}/items")));
                merge_items(shape, &schemas(value, keyword, path), rest);
            }
            "uniqueItems" if value.is_truthy() => drop(shape.unique.get_or_insert_with(|| path.to_owned())),
            "uniqueItems" => {}
            "allOf" => {
                for (value, path) in schemas(value, keyword, path).iter().flat_map(|schema| &schema.all) {
                    self.apply(shape, value, path)?;
                }
            }
            "anyOf" => shape.choices.push(schemas(value, keyword, path)),
            "oneOf" => self.one_of(shape, schemas(value, keyword, path), path),
            "not" => self.negated(shape, value, path),
            "$ref" => self.reference(shape, text(value, keyword, path)?, path)?,
            other => self.ignored(other, path),
        }
        Ok(())
    }

    /// `oneOf`: exactly one branch must match, which a grammar cannot say.
    fn one_of(&mut self, shape: &mut Constraints, branches: Vec<Schema>, path: &str) {
        if !self.are_apart(&branches) {
            let message = "branches that overlap are read as `anyOf`: a grammar cannot exclude that two match";
            self.note(Effect::Looser, path, "oneOf", message);
        }
        shape.choices.push(branches);
    }

    /// `type`, and `nullable` next to it.
    fn types(&mut self, shape: &mut Constraints, entries: &Object, path: &str) {
        let Some(value) = entries.get("type") else { return };
        let mut bits = 0;
        for name in value.as_list().unwrap_or(std::slice::from_ref(value)) {
            bits |= name.as_str().and_then(named).unwrap_or_else(|| {
                let name = name.as_str().map_or_else(|| name.to_string(), str::to_owned);
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

    fn bound(&mut self, shape: &mut Constraints, entries: &Object, keyword: &str, value: &Value, path: &str) {
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

    /// Notes that a value is ignored, because it must be something else.
    fn without_effect(&mut self, value: &Value, wanted: &str, keyword: &str, path: &str) {
        let shown = match value {
            Value::List(_) | Value::Object(_) => value.kind().to_owned(),
            scalar => format!("`{scalar}`"),
        };
        self.note(Effect::Assumed, path, keyword, &format!("{shown} has no effect: it must be {wanted}"));
    }

    /// Adds the names of `required`.
    fn require(&mut self, shape: &mut Constraints, names: &Value, path: &str) {
        for name in names.as_list().unwrap_or(&[]) {
            match name.as_str() {
                Some(name) => drop(push_new(&mut shape.required, name.to_owned())),
                None => self.without_effect(name, "a name", "required", path),
            }
        }
    }

    fn multiple(&mut self, shape: &mut Constraints, value: &Value, path: &str) {
        let Some(number) = whole(value).filter(|number| (1..=100).contains(number)) else {
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

    /// `not` of types and of values; a grammar cannot express others.
    fn negated(&mut self, shape: &mut Constraints, value: &Value, path: &str) {
        let entries = value.as_object();
        let only = entries.filter(|entries| entries.len() == 1).and_then(|entries| entries.first());
        if let Some(("type", kinds)) = only
            && let Some(names) = names_of(kinds)
        {
            for name in names {
                shape.types &= !named(name).unwrap_or(0);
                shape.not_whole |= name == "integer";
            }
            return;
        }
        match only {
            Some(("const", value)) => shape.not_values.push(value.clone()),
            Some(("enum", Value::List(values))) => shape.not_values.extend(values.iter().cloned()),
            _ => self.note(Effect::Looser, path, "not", "only `not` of `type`, `const` and `enum` is enforced"),
        }
    }

    /// Applies the target of a reference.
    fn reference(&mut self, shape: &mut Constraints, target: &str, path: &str) -> Result<(), Problem> {
        let (value, pointer) = self.resolve(target, path)?;
        if !shape.followed.contains(&pointer) {
            shape.followed.push(pointer.clone());
            return self.apply(shape, &value, &pointer);
        }
        if shape.branched == 0 {
            return Err(Problem::at(path, "this reference refers only to itself"));
        }
        // A branch that refers to the whole schema adds nothing to it.
        shape.types = 0;
        Ok(())
    }

    /// A keyword that has no effect here.
    fn ignored(&mut self, keyword: &str, path: &str) {
        let (effect, why) = match keyword {
            // Annotations.
            "title" | "description" | "default" | "examples" | "example" | "deprecated" | "readOnly" | "writeOnly"
            | "$comment" | "$schema" | "$id" | "$anchor" | "$defs" | "definitions" | "$vocabulary"
            | "contentMediaType" | "contentEncoding" | "contentSchema" | "strict" => return,
            // No grammar of sensible size can enforce these.
            "if" | "then" | "else" => (Effect::Looser, "a grammar cannot track which branch was taken"),
            "dependentRequired" | "dependentSchemas" => {
                (Effect::Looser, "members that depend on others are not enforced")
            }
            "contains" => (Effect::Looser, "a grammar cannot track whether an item was seen"),
            "unevaluatedProperties" => (Effect::Looser, "other members are not enforced here"),
            "unevaluatedItems" => (Effect::Looser, "other items are not enforced here"),
            "$dynamicRef" => (Effect::Looser, "dynamic references are not followed"),
            _ => (Effect::Assumed, "unknown keyword, which has no effect"),
        };
        self.note(effect, path, keyword, why);
    }
}

/// Adds a text, and where it is from.
fn keep_text(known: &mut Vec<(String, String)>, text: &str, path: &str) {
    if !known.iter().any(|(known, _)| known == text) {
        known.push((text.to_owned(), path.to_owned()));
    }
}

fn keep_values(shape: &mut Constraints, values: Vec<Value>) {
    let Some(known) = &mut shape.values else {
        shape.values = Some(values);
        return;
    };
    let listed = Listed::new(&values);
    known.retain(|value| listed.contains(value));
}

/// Adds the schemas of the first items, and that of the others. Where only one branch lists a first item, the other branch
/// holds it to the schema of its others.
fn merge_items(shape: &mut Constraints, prefix: &[Schema], items: Option<Schema>) {
    let both = |known: Option<&Schema>, own: Option<&Schema>| match (known, own) {
        (Some(known), Some(own)) => Some(known.clone().and(own)),
        (known, own) => known.or(own).cloned(),
    };
    let count = shape.prefix.len().max(prefix.len());
    let first = |at: usize| {
        let known = shape.prefix.get(at).or(shape.items.as_ref());
        both(known, prefix.get(at).or(items.as_ref())).unwrap_or_else(Schema::anything)
    };
    shape.prefix = (0..count).map(first).collect();
    shape.items = both(shape.items.as_ref(), items.as_ref());
}

fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}
