//! Validates arguments against the JSON schema of their tool. Unknown keywords pass: a validator that
//! guesses blocks good calls.

use std::cell::Cell;

use backchat_core::json::{Number, Object, Value, equal_by};
use backchat_core::push_new;

/// How deep a schema is followed.
const DEPTH: usize = 32;

/// How many schemas are checked for one call: alternatives that refer to each other would not terminate.
const STEPS: usize = 100_000;

/// How many violations of one call are reported.
const VIOLATIONS: usize = 64;

/// A violation: the JSON pointer of the argument, and the keyword.
type Violation = (String, &'static str);

/// The violations of a schema by a value, leaf by leaf.
pub(super) fn violations(value: &Value, schema: &Value) -> Vec<Violation> {
    let (mut found, left) = (Vec::new(), Cell::new(STEPS));
    Validator { root: schema, found: &mut found, left: &left }.check(value, schema, "", DEPTH);
    found
}

struct Validator<'v> {
    root: &'v Value,
    found: &'v mut Vec<Violation>,
    /// How many checks are left.
    left: &'v Cell<usize>,
}

impl<'v> Validator<'v> {
    fn report(&mut self, path: &str, keyword: &'static str) {
        if self.found.len() < VIOLATIONS {
            push_new(self.found, (path.to_owned(), keyword));
        }
    }

    fn report_wrong(&mut self, path: &str, checks: impl IntoIterator<Item = (&'static str, bool)>) {
        for (keyword, _) in checks.into_iter().filter(|(_, is_wrong)| *is_wrong) {
            self.report(path, keyword);
        }
    }

    fn check(&mut self, value: &Value, schema: &'v Value, path: &str, depth: usize) {
        let Some(schema) = schema.as_object().filter(|_| depth > 0 && self.left.get() > 0) else { return };
        self.left.set(self.left.get() - 1);
        if let Some(target) = schema.get("$ref").and_then(Value::as_str).and_then(|reference| self.local(reference)) {
            self.check(value, target, path, depth - 1);
        }
        // A leaf of the wrong type, or not among the listed values, is reported once.
        if let Some(keyword) = wrong_kind(value, schema) {
            return self.report(path, keyword);
        }
        match value {
            Value::Object(entries) => self.check_object(entries, schema, path, depth),
            Value::List(items) => {
                self.report_wrong(path, bounds(items.len(), schema, ["minItems", "maxItems"]));
                if let Some(item_schema) = schema.get("items") {
                    for (place, item) in items.iter().enumerate() {
                        self.check(item, item_schema, &format!("{path}/{place}"), depth - 1);
                    }
                }
            }
            Value::String(text) => {
                self.report_wrong(path, bounds(text.chars().count(), schema, ["minLength", "maxLength"]));
            }
            Value::Number(number) => self.check_number(number, schema, path),
            _ => {}
        }
        for part in schema.get("allOf").and_then(Value::as_list).into_iter().flatten() {
            self.check(value, part, path, depth - 1);
        }
        for (keyword, fits) in [("anyOf", (|count| count > 0) as fn(usize) -> bool), ("oneOf", |count| count == 1)] {
            if let Some(branches) = schema.get(keyword).and_then(Value::as_list).filter(|branches| !branches.is_empty())
                && !fits(branches.iter().filter(|branch| self.is_valid(value, branch, depth - 1)).count())
            {
                self.report(path, keyword);
            }
        }
    }

    fn is_valid(&self, value: &Value, schema: &'v Value, depth: usize) -> bool {
        let mut found = Vec::new();
        Validator { root: self.root, found: &mut found, left: self.left }.check(value, schema, "", depth);
        found.is_empty()
    }

    fn check_object(&mut self, entries: &Object, schema: &'v Object, path: &str, depth: usize) {
        for key in schema.get("required").and_then(Value::as_list).into_iter().flatten().filter_map(Value::as_str) {
            if !entries.contains_key(key) {
                self.report(&below(path, key), "required");
            }
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        for (key, value) in entries {
            let path = below(path, key);
            match (properties.and_then(|known| known.get(key)), schema.get("additionalProperties")) {
                (Some(known), _) => self.check(value, known, &path, depth - 1),
                // A pattern may allow unlisted keys.
                (None, Some(Value::Bool(false))) if !schema.contains_key("patternProperties") => {
                    self.report(&path, "additionalProperties");
                }
                (None, Some(others)) => self.check(value, others, &path, depth - 1),
                (None, None) => {}
            }
        }
    }

    fn check_number(&mut self, number: &Number, schema: &Object, path: &str) {
        let value = number.as_f64();
        let limit = |keyword| schema.get(keyword).and_then(Value::as_f64);
        let is_exclusive = |keyword| schema.get(keyword).and_then(Value::as_bool) == Some(true);
        // In old drafts an exclusive bound is a flag next to the bound.
        let checks = [
            ("minimum", limit("minimum").is_some_and(|least| value < least)),
            ("maximum", limit("maximum").is_some_and(|most| value > most)),
            (
                "exclusiveMinimum",
                limit("exclusiveMinimum").is_some_and(|least| value <= least)
                    || is_exclusive("exclusiveMinimum") && limit("minimum") == Some(value),
            ),
            (
                "exclusiveMaximum",
                limit("exclusiveMaximum").is_some_and(|most| value >= most)
                    || is_exclusive("exclusiveMaximum") && limit("maximum") == Some(value),
            ),
        ];
        self.report_wrong(path, checks);
    }

    /// The schema that a reference within the document names.
    fn local(&self, reference: &str) -> Option<&'v Value> {
        let steps = reference.strip_prefix('#')?.split('/').filter(|step| !step.is_empty());
        steps.into_iter().try_fold(self.root, |schema, step| {
            let step = step.replace("~1", "/").replace("~0", "~");
            match schema {
                Value::List(items) => items.get(step.parse::<usize>().ok()?),
                schema => schema.get(&step),
            }
        })
    }
}

/// The keyword that rejects the type of a value.
fn wrong_kind(value: &Value, schema: &Object) -> Option<&'static str> {
    let is_nullable = value.is_null() && schema.get("nullable").is_some_and(Value::is_truthy);
    let types = match schema.get("type") {
        Some(Value::String(name)) => vec![name.as_str()],
        Some(Value::List(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !is_nullable && !types.is_empty() && !types.iter().any(|name| is_of_type(value, name)) {
        return Some("type");
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_list)
        && !is_nullable
        && !values.iter().any(|other| is_same(other, value))
    {
        return Some("enum");
    }
    schema.get("const").filter(|wanted| !is_same(wanted, value)).map(|_| "const")
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "string" => matches!(value, Value::String(_)),
        "integer" => matches!(value, Value::Number(number) if number.is_integer() || number.as_f64().fract() == 0.0),
        "number" => matches!(value, Value::Number(_)),
        "boolean" => matches!(value, Value::Bool(_)),
        "null" => value.is_null(),
        "object" => matches!(value, Value::Object(_)),
        "array" => matches!(value, Value::List(_)),
        _ => true,
    }
}

/// Whether two values are the same in JSON Schema, where 1 and 1.0 are.
fn is_same(one: &Value, other: &Value) -> bool {
    equal_by(one, other, &|one, other| match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (one, other) => one == other,
    })
}

fn bounds(length: usize, schema: &Object, [least, most]: [&'static str; 2]) -> [(&'static str, bool); 2] {
    let length = length as f64;
    let limit = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
    [(least, limit(least).is_some_and(|limit| length < limit)), (most, limit(most).is_some_and(|limit| length > limit))]
}

/// The JSON pointer of a key below another.
pub(super) fn below(path: &str, key: &str) -> String {
    format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::json;

    fn reported(schema: &str, value: &str) -> String {
        let (schema, value) = (json::read(schema).unwrap(), json::read(value).unwrap());
        let found = violations(&value, &schema);
        found.iter().map(|(path, keyword)| format!("{path}:{keyword}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_violated_leaf_is_reported() {
        for (schema, value, wanted) in [
            (r#"{"type": "object", "required": ["a/b"]}"#, "{}", "/a~1b:required"),
            (r#"{"properties": {"a": {"type": "integer", "minimum": 1, "maximum": 3}}}"#, r#"{"a": 5}"#, "/a:maximum"),
            (r#"{"properties": {"a": {"type": ["string", "null"]}}}"#, r#"{"a": 5}"#, "/a:type"),
            (r#"{"properties": {"a": {"type": "string", "nullable": true, "enum": ["x"]}}}"#, r#"{"a": null}"#, ""),
            (r#"{"properties": {"a": {"enum": ["x", 1]}}}"#, r#"{"a": 1.0, "b": 0}"#, ""),
            (r#"{"properties": {"a": {"const": "x"}}}"#, r#"{"a": "y"}"#, "/a:const"),
            (r#"{"additionalProperties": false}"#, r#"{"a": 1}"#, "/a:additionalProperties"),
            (r#"{"additionalProperties": {"type": "string"}}"#, r#"{"a": 1}"#, "/a:type"),
            (
                r#"{"properties": {"a": {"items": {"minLength": 2}, "maxItems": 1}}}"#,
                r#"{"a": ["x", "yy"]}"#,
                "/a:maxItems /a/0:minLength",
            ),
            (
                r##"{"properties": {"a": {"$ref": "#/$defs/d"}}, "$defs": {"d": {"exclusiveMinimum": 0}}}"##,
                r#"{"a": 0}"#,
                "/a:exclusiveMinimum",
            ),
            (r##"{"$ref": "#"}"##, "{}", ""),
            (r#"{"anyOf": [{"type": "string"}, {"type": "null"}]}"#, "1", ":anyOf"),
            (r#"{"oneOf": [{"type": "integer"}, {"minimum": 0}]}"#, "1", ":oneOf"),
            (r#"{"allOf": [{"type": "integer"}, {"minimum": 5}]}"#, "1", ":minimum"),
            // Unknown keywords pass.
            (r#"{"type": "date", "format": "email", "pattern": "^x$", "not": {}}"#, "1", ""),
            (r#"{"type": "integer"}"#, "2.0", ""),
        ] {
            assert_eq!(reported(schema, value), wanted, "{schema} {value}");
        }
    }
}
