//! The JSON Schemas for which xgrammar's own format is equivalent to our rules, apart from half a surrogate pair in a
//! string and large numbers in a value without a schema. It silently drops some keywords and interprets others
//! differently, so anything not known to be equivalent is left to rules.

use super::style::Style;
use crate::automaton::Automaton;
use crate::rules::{Rules, Strings};
use backchat_core::json::{Object, Value, texts};

/// The format for values of this schema, if it is exactly equivalent to the rules.
pub(crate) fn json_schema(
    schema: &Value,
    style: &Style,
    is_open: bool,
    rules: &Rules,
    free_texts: &Automaton,
) -> Option<Value> {
    if *style != Style::json() {
        return None;
    }
    formatted(normalized(schema, is_open, 0)?, rules, free_texts)
}

/// The format for any string or any value, if it is exactly equivalent to the rules.
pub(crate) fn free(is_string: bool, style: &Style, rules: &Rules, free_texts: &Automaton) -> Option<Value> {
    let schema = if is_string { Value::from([("type", "string".into())]) } else { Value::Bool(true) };
    // The white space around a string does not matter, because a string has none between tokens.
    let is_plain = *style == Style::json() || is_string && style.strings == Strings::Json && !style.inside;
    is_plain.then(|| formatted(schema, rules, free_texts)).flatten()
}

/// The format for a schema whose strings are limited to these texts.
fn formatted(schema: Value, rules: &Rules, free_texts: &Automaton) -> Option<Value> {
    Some(Value::from([
        ("type", "json_schema".into()),
        ("json_schema", schema),
        ("max_whitespace_cnt", rules.blanks().into()),
        ("excludes", texts(rules.excludes_in_json(free_texts)?)),
    ]))
}

/// Keywords that do not constrain values.
const SILENT: [&str; 8] =
    ["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"];

/// The types of which xgrammar takes the same values; it takes larger numbers, and refuses a tag with an unknown type.
const KINDS: [&str; 6] = ["null", "boolean", "integer", "string", "array", "object"];

/// How deeply schemas may nest.
const MOST_DEPTH: usize = 30;

fn normalized(schema: &Value, is_open: bool, depth: usize) -> Option<Value> {
    if depth > MOST_DEPTH {
        return None;
    }
    let Value::Object(given) = schema else { return None };
    let mut entries: Object = given.clone();
    entries.retain(|key, _| !SILENT.contains(&key));
    let inner = |value: &Value| normalized(value, is_open, depth + 1);
    if let Some(Value::Bool(nullable)) = entries.shift_remove("nullable")
        && nullable
    {
        let Some(Value::String(kind)) = entries.get("type").cloned() else { return None };
        if entries.contains_key("enum") || entries.contains_key("const") {
            return None;
        }
        entries.insert("type", Value::List(vec![kind.into(), "null".into()]));
    }
    if let Some(values) = entries.get("enum").or_else(|| entries.get("const")) {
        return listed(&entries, values);
    }
    if let Some(branches) = entries.get("anyOf") {
        let branches = branches.as_list()?.iter().map(inner).collect::<Option<Vec<_>>>()?;
        return (entries.len() == 1 && !branches.is_empty()).then(|| Value::from([("anyOf", Value::List(branches))]));
    }
    let kinds: Vec<String> = match entries.get("type") {
        Some(Value::String(kind)) => vec![kind.clone()],
        Some(Value::List(kinds)) => kinds.iter().map(|kind| kind.as_str().map(str::to_owned)).collect::<Option<_>>()?,
        _ => return None,
    };
    let has = |kind: &str| kinds.iter().any(|own| own == kind);
    if kinds.is_empty() || !kinds.iter().all(|kind| KINDS.contains(&kind.as_str())) {
        return None;
    }
    let mut out = Object::new();
    out.insert("type", entries.get("type")?.clone());
    let mut known: Vec<&str> = vec!["type"];
    if has("integer") && kinds.len() == 1 {
        known.extend(["minimum", "maximum"]);
        bounds(&entries, &mut out)?;
    }
    if has("array") {
        known.extend(["items", "minItems", "maxItems"]);
        items(&entries, &inner, &mut out)?;
    }
    if has("object") {
        known.extend(["properties", "required", "additionalProperties"]);
        members(&entries, is_open, &inner, &mut out)?;
    }
    entries.keys().all(|key| known.contains(&key)).then_some(Value::Object(out))
}

/// The values of `enum` or `const`, if they are words and nothing else constrains them.
fn listed(entries: &Object, values: &Value) -> Option<Value> {
    let values = if entries.contains_key("enum") { values.as_list()?.to_vec() } else { vec![values.clone()] };
    let is_only = entries.keys().all(|key| matches!(key, "enum" | "const" | "type")) && entries.len() <= 2;
    let kind = entries.get("type").map(Value::as_str);
    let is_string = kind.is_none_or(|kind| kind == Some("string"));
    let are_words = values.iter().all(|value| value.as_str().is_some_and(is_word));
    (is_only && is_string && are_words && !values.is_empty()).then(|| Value::from([("enum", Value::List(values))]))
}

/// The bounds of an integer. Neither side writes negative zero. An empty range is an error in xgrammar.
fn bounds(entries: &Object, out: &mut Object) -> Option<()> {
    for bound in ["minimum", "maximum"] {
        if let Some(value) = entries.get(bound) {
            value.as_i64().filter(|value| value.unsigned_abs() < 1_000_000_000)?;
            out.insert(bound, value.clone());
        }
    }
    let bound = |name: &str| out.get(name).and_then(Value::as_i64);
    let is_empty = bound("minimum").zip(bound("maximum")).is_some_and(|(low, high)| low > high);
    (!is_empty).then_some(())
}

/// The items of an array, and how many it may have.
fn items(entries: &Object, inner: &dyn Fn(&Value) -> Option<Value>, out: &mut Object) -> Option<()> {
    out.insert("items", inner(entries.get("items")?)?);
    for bound in ["minItems", "maxItems"] {
        if let Some(value) = entries.get(bound) {
            value.as_u64().filter(|value| *value <= 1000)?;
            out.insert(bound, value.clone());
        }
    }
    Some(())
}

/// The members of an object; only the rules can write members without a schema.
fn members(entries: &Object, is_open: bool, inner: &dyn Fn(&Value) -> Option<Value>, out: &mut Object) -> Option<()> {
    let properties = match entries.get("properties") {
        Some(Value::Object(properties)) => Some(properties),
        Some(_) => return None,
        None => None,
    };
    let additional = match entries.get("additionalProperties") {
        Some(Value::Bool(additional)) => *additional,
        Some(_) => return None,
        None => properties.is_none() || is_open,
    };
    // Undeclared members must not have declared names, but xgrammar would accept a declared name twice.
    if additional && properties.is_some_and(|properties| !properties.is_empty()) {
        return None;
    }
    let mut own = Object::new();
    for (name, schema) in properties.into_iter().flatten() {
        is_word(name).then_some(())?;
        own.insert(name, inner(schema)?);
    }
    let required = entries.get("required").map(|required| required.as_list()).unwrap_or(Some(&[]))?;
    let is_declared = |name: &Value| name.as_str().is_some_and(|name| own.contains_key(name));
    required.iter().all(is_declared).then_some(())?;
    if !required.is_empty() {
        out.insert("required", Value::List(required.to_vec()));
    }
    if !own.is_empty() {
        out.insert("properties", Value::Object(own));
    }
    out.insert("additionalProperties", additional.into());
    Some(())
}

/// Text that has one spelling in JSON, and no marker in it.
fn is_word(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ' '))
}
