//! The shape of a call, found by asking the schema: calls with known values are parsed, and the values are looked for
//! in what comes out.

use crate::json::{Object, Value};
use crate::schema::{Node, Parser, parse_node};

/// The findings.
pub(super) struct Shape {
    /// The shape as a response template writes it; none if the JSON is the call.
    pub shape: Option<Value>,
    /// The keys of the name and the arguments in the JSON.
    pub name: String,
    pub arguments: String,
    /// Whether the JSON is a list of calls.
    pub each: bool,
}

/// The most keys that are tried as texts and as objects.
const MOST_KEYS: usize = 6;

/// Asks a node that parses JSON what it makes of a call,
/// of JSON between these marks.
pub(super) fn probe(node: &Node, parser: &Parser, is_list: bool, [before, after]: [&str; 2]) -> Option<Shape> {
    let mut keys: Vec<String> =
        parser.transform.iter().filter_map(|(_, read)| read.as_ref().ok()).flat_map(|e| e.names()).collect();
    node.walk(&mut |node| keys.extend(node.properties.iter().flatten().map(|(name, _)| name.clone())));
    keys.extend(["name".to_owned(), "arguments".to_owned()]);
    let mut seen = std::collections::HashSet::new();
    keys.retain(|key| seen.insert(key.clone()));
    // Keys that the schema sets itself are not the call's.
    let mut constants = Vec::new();
    node.walk(&mut |node| {
        let set = node.properties.iter().flatten().filter(|(_, node)| node.constant.is_some());
        constants.extend(set.map(|(name, _)| name.clone()));
    });
    keys.retain(|key| !constants.contains(key));
    keys.truncate(MOST_KEYS);
    // A single call is tried first, because a transform may also accept a list of calls.
    let lists: &[bool] = if is_list { &[false, true] } else { &[false] };
    for &each in lists {
        for kinds in 0..1_u32 << keys.len() {
            let call: Object = keys
                .iter()
                .enumerate()
                .map(|(index, key)| (key.clone(), value(key, kinds >> index & 1 == 1)))
                .collect();
            let call = Value::Object(call);
            let text = if each { Value::List(vec![call.clone()]) } else { call.clone() }.to_string();
            let Ok(parsed) = parse_node(node, &format!("{before}{text}{after}")) else { continue };
            let parsed = match (is_list, &parsed) {
                (true, Value::List(items)) if items.len() == 1 => items.first()?.clone(),
                (true, _) => continue,
                (false, parsed) => parsed.clone(),
            };
            let shape = shaped(&parsed, &call, each);
            let found = found(&shape, &keys, each);
            // The name is a text and the arguments are an object, unless the schema lets either be anything.
            let (name, arguments) = found;
            let is_text = |key: &str| call.get(key).is_some_and(|value| value.as_str().is_some());
            if !is_text(&name) || is_text(&arguments) {
                continue;
            }
            let shape = Some(shape).filter(|shape| shape.as_str() != Some("{content}") && parsed != call);
            return Some(Shape { shape, name, arguments, each });
        }
    }
    None
}

fn value(key: &str, is_object: bool) -> Value {
    let needle = format!("needle {key}");
    if is_object { Value::from([(needle.as_str(), 1_i64.into())]) } else { needle.into() }
}

/// The result, with placeholders for the input values.
fn shaped(parsed: &Value, call: &Value, each: bool) -> Value {
    if parsed == call && !each {
        return "{content}".into();
    }
    if let Some((key, _)) = call.as_object().and_then(|entries| entries.iter().find(|(_, value)| *value == parsed)) {
        let plain = key.chars().all(|c| c.is_alphanumeric() || c == '_');
        if plain {
            return if each { format!("{{{key}}}") } else { format!("{{content.{key}}}") }.into();
        }
    }
    match parsed {
        Value::Object(entries) => {
            // Keys that the shape does not know pass through if the whole call does.
            Value::Object(entries.iter().map(|(key, value)| (key.clone(), shaped(value, call, each))).collect())
        }
        Value::List(items) => Value::List(items.iter().map(|item| shaped(item, call, each)).collect()),
        scalar => scalar.clone(),
    }
}

/// Which keys of the JSON became the name and the arguments.
fn found(shape: &Value, keys: &[String], each: bool) -> (String, String) {
    let mut found = ("name".to_owned(), "arguments".to_owned());
    let mut stack = vec![shape];
    while let Some(Value::Object(entries)) = stack.pop() {
        for (key, value) in entries.iter() {
            let place = match key.as_str() {
                "name" => Some(&mut found.0),
                "arguments" => Some(&mut found.1),
                _ => None,
            };
            let written = |known: &&String| {
                let placeholder = if each { format!("{{{known}}}") } else { format!("{{content.{known}}}") };
                value.as_str() == Some(placeholder.as_str())
            };
            if let (Some(place), Some(key)) = (place, keys.iter().find(written)) {
                *place = key.clone();
            }
            stack.push(value);
        }
        stack.retain(|value| value.as_object().is_some());
    }
    found
}

/// The shape with what `{content}` and `{content.key}` are written out.
pub(super) fn spelled(shape: &Value, content: &Value) -> Value {
    match shape {
        Value::String(text) if text == "{content}" => content.clone(),
        Value::String(text) => {
            let key = text.strip_prefix("{content.").and_then(|rest| rest.strip_suffix('}'));
            key.and_then(|key| content.get(key)).unwrap_or(shape).clone()
        }
        Value::Object(entries) => {
            Value::Object(entries.iter().map(|(key, value)| (key.clone(), spelled(value, content))).collect())
        }
        other => other.clone(),
    }
}

/// The shape of an item whose properties are parsed one by one.
pub(super) fn written(item: &Node, function: &Node) -> Value {
    let mut shape = Object::new();
    for (name, node) in item.properties.iter().flatten() {
        let value = match (name.as_str(), &node.constant) {
            (_, Some(constant)) => constant.clone(),
            _ if std::ptr::eq(node, function) => written(function, function),
            ("name", _) => "{name}".into(),
            ("arguments", _) => "{content}".into(),
            _ => continue,
        };
        shape.insert(name.clone(), value);
    }
    Value::Object(shape)
}
