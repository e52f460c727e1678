//! Infers the shape of a call: the schema parses calls with known values, and the values are located in the result.

use crate::schema::{Node, Parser, Substitution, parse_node};
use backchat_core::json::{Object, Value};
use backchat_parser::pattern::PatternPart;

/// The inferred shape.
pub(super) struct Shape {
    /// The shape as a response template writes it; `None` if the JSON is the call.
    pub shape: Option<Value>,
    /// The keys of the name and the arguments in the JSON.
    pub name: String,
    pub arguments: String,
    /// Whether the JSON is a list of calls.
    pub each: bool,
}

/// The most keys that are tried as strings and as objects.
const MOST_KEYS: usize = 6;

/// Runs a node that parses JSON on a call written as JSON between these texts.
pub(super) fn probe(node: &Node, parser: &Parser, is_list: bool, around: [&str; 2]) -> Option<Shape> {
    // Keys that a substitution renames come first; keys that it writes are not in the text.
    let renames = || node.substitutions.iter().filter(|substitution| is_rename(substitution));
    let mut needed: Vec<String> = renames().flat_map(renamed_keys).collect();
    let of_transform = parser.transform.iter().filter_map(|(_, read)| read.as_ref().ok()).flat_map(|e| e.names());
    needed.extend(of_transform);
    let ends = || ["name".to_owned(), "arguments".to_owned()];
    // An object that holds the name is a part of the message, and not of the JSON.
    let is_wrapper = |node: &Node| node.property("name").is_some();
    let mut others = Vec::new();
    // Keys that the schema sets itself are not the call's.
    let mut constants = Vec::new();
    node.walk(&mut |node| {
        let own = node.properties.iter().flatten().filter(|(_, node)| !is_wrapper(node));
        others.extend(own.map(|(name, _)| name.clone()));
        let set = node.properties.iter().flatten().filter(|(_, node)| node.constant.is_some());
        constants.extend(set.map(|(name, _)| name.clone()));
    });
    let written: Vec<String> = renames().flat_map(written_keys).collect();
    // A key that the schema only mentions may be absent: a shape that requires it would fail.
    [[needed.clone(), ends().into()].concat(), [needed, others, ends().into()].concat()].into_iter().find_map(
        |mut keys| {
            keys.retain(|key| !written.contains(key) && !constants.contains(key));
            let mut seen = std::collections::HashSet::new();
            keys.retain(|key| seen.insert(key.clone()));
            // Models write the name first.
            keys.sort_by_key(|key| key != "name");
            keys.truncate(MOST_KEYS);
            probe_with(&keys, node, is_list, around)
        },
    )
}

fn probe_with(keys: &[String], node: &Node, is_list: bool, [before, after]: [&str; 2]) -> Option<Shape> {
    // A single call is tried first, because a transform may also accept a list of calls. A call may be inside an
    // object.
    let lists: &[bool] = if is_list { &[false, true] } else { &[false] };
    for (each, wrapper) in lists.iter().flat_map(|each| {
        let wrappers = keys.iter().filter(|key| *key != "name").map(Some);
        std::iter::once(None).chain(wrappers).map(move |wrapper| (*each, wrapper))
    }) {
        let own: Vec<&String> = keys.iter().filter(|key| Some(*key) != wrapper).collect();
        for kinds in 0..1_u32 << own.len() {
            let entries = own.iter().enumerate();
            let entries = entries.map(|(index, key)| ((*key).clone(), value(key, kinds >> index & 1 == 1)));
            let call = Value::Object(entries.collect());
            let call = match wrapper {
                Some(wrapper) => Value::from([(wrapper.as_str(), call)]),
                None => call,
            };
            let text = if each { Value::List(vec![call.clone()]) } else { call.clone() }.to_string();
            let Ok(parsed) = parse_node(node, &format!("{before}{text}{after}")) else { continue };
            let parsed = match (is_list, &parsed) {
                (true, Value::List(items)) if items.len() == 1 => items.first()?.clone(),
                (true, _) => continue,
                (false, parsed) => parsed.clone(),
            };
            let shape = shaped(&parsed, &call, each);
            // The name is a text and the arguments are an object, unless the schema lets either be anything.
            let Some((name, arguments)) = found(&shape, &call, each) else { continue };
            let is_text = |path: &str| at(&call, path).is_some_and(|value| value.as_str().is_some());
            if !is_text(&name) || is_text(&arguments) {
                continue;
            }
            let shape = Some(shape).filter(|shape| shape.as_str() != Some("{content}") && parsed != call);
            return Some(Shape { shape, name, arguments, each });
        }
    }
    None
}

/// The value at a path of keys.
fn at<'v>(call: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').filter(|key| !key.is_empty()).try_fold(call, |value, key| value.get(key))
}

/// Whether a substitution replaces one text by another in any context.
fn is_rename(substitution: &Substitution) -> bool {
    substitution.regex.pattern.as_ref().is_ok_and(|pattern| pattern.group_count() == 0)
}

/// The words of a substitution's pattern.
fn renamed_keys(substitution: &Substitution) -> Vec<String> {
    let outline = substitution.regex.pattern.as_ref().map(|pattern| pattern.outline()).unwrap_or_default();
    let texts = outline.iter().filter_map(|part| match part {
        PatternPart::Text(text) => Some(text.as_str()),
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
    if let Some(path) = path_of(call, parsed) {
        return if each { format!("{{{path}}}") } else { format!("{{content.{path}}}") }.into();
    }
    match parsed {
        Value::Object(entries) => {
            // Keys that the shape does not know pass through if the whole call does.
            Value::Object(entries.iter().map(|(key, value)| (key, shaped(value, call, each))).collect())
        }
        Value::List(items) => Value::List(items.iter().map(|item| shaped(item, call, each)).collect()),
        scalar => scalar.clone(),
    }
}

/// The path of keys to a value in a call, or in the object that holds it.
fn path_of(call: &Value, wanted: &Value) -> Option<String> {
    let is_plain = |key: &str| key.chars().all(|c| c.is_alphanumeric() || c == '_');
    let entries: Vec<(&str, &Value)> = call.as_object()?.iter().filter(|(key, _)| is_plain(key)).collect();
    entries.iter().find(|(_, value)| *value == wanted).map(|(key, _)| (*key).to_owned()).or_else(|| {
        let inside = |(key, value): &(&str, &Value)| Some(format!("{key}.{}", path_of(value, wanted)?));
        entries.iter().find_map(inside)
    })
}

/// Which values of the JSON became the name and the arguments, as paths.
fn found(shape: &Value, call: &Value, each: bool) -> Option<(String, String)> {
    let (mut name, mut arguments) = (None, None);
    let mut stack = vec![("", shape)];
    while let Some((key, value)) = stack.pop() {
        match value {
            Value::Object(entries) => stack.extend(entries),
            Value::String(text) => {
                let path = placeholder(text, each);
                let Some(value) = path.and_then(|path| Some((path, at(call, path)?))) else { continue };
                match (key, value) {
                    ("name", (path, _)) => name = Some(path.to_owned()),
                    ("arguments", (path, _)) => arguments = Some(path.to_owned()),
                    (_, (path, value)) if value.get("name").is_some() && value.get("arguments").is_some() => {
                        let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
                        name = Some(below("name"));
                        arguments = Some(below("arguments"));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    name.zip(arguments)
}

/// The path of keys that a text of a shape is the placeholder of.
fn placeholder(text: &str, each: bool) -> Option<&str> {
    let path = text.strip_prefix('{')?.strip_suffix('}')?;
    match path {
        "content" if !each => Some(""),
        path if !each => path.strip_prefix("content."),
        path => Some(path),
    }
}

fn keys(path: &str) -> impl Iterator<Item = String> {
    path.split('.').filter(|key| !key.is_empty()).map(str::to_owned)
}

/// The keys in the JSON that give the value under these keys of the result.
pub(super) fn source(shape: &Value, path: &[String], each: bool) -> Option<Vec<String>> {
    match (shape, path) {
        (Value::String(text), path) => Some(keys(placeholder(text, each)?).chain(path.iter().cloned()).collect()),
        (shape, [key, path @ ..]) => source(shape.get(key)?, path, each),
        _ => None,
    }
}

/// The keys in the JSON that a call is made of, except its name.
pub(super) fn sources(shape: &Value, each: bool) -> Vec<Vec<String>> {
    match shape {
        Value::String(text) => placeholder(text, each)
            .map(|path| keys(path).collect())
            .filter(|keys: &Vec<_>| !keys.is_empty())
            .into_iter()
            .collect(),
        Value::Object(entries) => {
            let values = entries.iter().filter(|(key, _)| *key != "name");
            values.flat_map(|(_, value)| sources(value, each)).collect()
        }
        _ => Vec::new(),
    }
}

/// The shape with the values of `{content}` and `{content.key}` filled in.
pub(super) fn spelled(shape: &Value, content: &Value) -> Value {
    match shape {
        Value::String(text) if text == "{content}" => content.clone(),
        Value::String(text) => {
            let key = text.strip_prefix("{content.").and_then(|rest| rest.strip_suffix('}'));
            key.and_then(|key| content.get(key)).unwrap_or(shape).clone()
        }
        Value::Object(entries) => {
            Value::Object(entries.iter().map(|(key, value)| (key, spelled(value, content))).collect())
        }
        other => other.clone(),
    }
}

/// The shape of an item whose properties are parsed one by one; `captures` are the named groups of its opening.
pub(super) fn written(item: &Node, function: &Node, captures: &[String]) -> Value {
    let mut shape = Object::new();
    for (name, node) in item.properties.iter().flatten() {
        let value = match (name.as_str(), &node.constant) {
            (_, Some(constant)) => constant.clone(),
            _ if std::ptr::eq(node, function) => written(function, function, captures),
            ("name", _) => "{name}".into(),
            ("arguments", _) => "{content}".into(),
            (name, _) if captures.iter().any(|capture| capture == name) => format!("{{{name}}}").into(),
            _ => continue,
        };
        shape.insert(name.clone(), value);
    }
    Value::Object(shape)
}
