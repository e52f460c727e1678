//! The shape of a call, found by asking the schema: calls with known values are parsed, and the values are looked for
//! in what comes out.

use crate::json::{Object, Value};
use crate::pattern::Part;
use crate::schema::{Node, Parser, Substitution, parse_node};

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

/// Asks a node that parses JSON what it makes of a call, of JSON between these marks.
pub(super) fn probe(node: &Node, parser: &Parser, is_list: bool, [before, after]: [&str; 2]) -> Option<Shape> {
    // Keys that a substitution renames come first; those it writes are not in the text.
    let renames = || node.substitutions.iter().filter(|substitution| is_rename(substitution));
    let mut keys: Vec<String> = renames().flat_map(renamed_keys).collect();
    let of_transform = parser.transform.iter().filter_map(|(_, read)| read.as_ref().ok()).flat_map(|e| e.names());
    keys.extend(of_transform);
    // An object that holds the name is a part of the message, and not of the JSON.
    let is_wrapper = |node: &Node| node.property("name").is_some();
    node.walk(&mut |node| {
        let own = node.properties.iter().flatten().filter(|(_, node)| !is_wrapper(node));
        keys.extend(own.map(|(name, _)| name.clone()));
    });
    keys.extend(["name".to_owned(), "arguments".to_owned()]);
    let written: Vec<String> = renames().flat_map(written_keys).collect();
    keys.retain(|key| !written.contains(key));
    let mut seen = std::collections::HashSet::new();
    keys.retain(|key| seen.insert(key.clone()));
    // Models write the name first.
    keys.sort_by_key(|key| key != "name");
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

/// Whether a substitution writes one text for another, whatever is around it.
fn is_rename(substitution: &Substitution) -> bool {
    substitution.regex.pattern.as_ref().is_ok_and(|pattern| pattern.group_count() == 0)
}

/// The words of a substitution's pattern.
fn renamed_keys(substitution: &Substitution) -> Vec<String> {
    let outline = substitution.regex.pattern.as_ref().map(|pattern| pattern.outline()).unwrap_or_default();
    let texts = outline.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.flat_map(words).collect()
}

/// The words that a substitution writes.
fn written_keys(substitution: &Substitution) -> Vec<String> {
    let written = substitution.replacement.as_ref().map(|replacement| replacement.filled(&|_| String::new()));
    words(&written.unwrap_or_default())
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
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
