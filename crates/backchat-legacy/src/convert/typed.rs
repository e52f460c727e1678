//! What a schema does to parsed JSON besides handing it on, and for each construct a value that shows it.

use super::Loss;
use crate::schema::{Additional, Node, Parser};
use backchat_core::json::{Object, Value};

/// A change to a JSON value after which the schema may give another value than JSON alone.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// The keys down to the value; none if the whole value changes.
    pub path: Vec<String>,
    /// The new value; `None` if the key is left out.
    pub value: Option<Value>,
    /// The loss if the template reads the changed value differently.
    pub loss: Loss,
}

impl Change {
    /// Makes the change. A new value gets the objects above it, too; a key is left out if it is there.
    pub fn make(&self, mut root: Value) -> Value {
        let Some((last, above)) = self.path.split_last() else { return self.value.clone().unwrap_or(root) };
        let parent = above.iter().try_fold(&mut root, |value, key| match value {
            Value::Object(entries) => match self.value {
                Some(_) => Some(entries.entry(key.as_str()).or_insert_with(|| Object::new().into())),
                None => entries.get_mut(key),
            },
            _ => None,
        });
        if let Some(Value::Object(entries)) = parent {
            match &self.value {
                Some(value) => drop(entries.insert(last, value.clone())),
                None => drop(entries.shift_remove(last)),
            }
        }
        root
    }
}

/// The key that no schema knows.
const UNKNOWN: &str = "unknown_key";

/// The changes for a node whose content is JSON. `source` gives the keys in the JSON for keys in the result.
pub(super) fn changes(node: &Node, source: &dyn Fn(&[String]) -> Option<Vec<String>>) -> Vec<Change> {
    let mut found = Vec::new();
    collect(node, &[], &mut found);
    let located = found.into_iter().filter_map(|change| Some(Change { path: source(&change.path)?, ..change }));
    located.collect()
}

fn collect(node: &Node, path: &[String], found: &mut Vec<Change>) {
    match node.type_name() {
        Some("object") => collect_keys(node, path, found),
        Some("array") => collect_items(node, path, found),
        Some("integer" | "number" | "boolean") => {
            let loss = Loss::new(node, "type", "the template does not convert texts to this type");
            found.push(Change { path: path.to_vec(), value: Some(convertible(node)), loss });
        }
        _ => {}
    }
}

fn collect_keys(node: &Node, path: &[String], found: &mut Vec<Change>) {
    let below = |key: &str| [path, &[key.to_owned()]].concat();
    let (message, value) = match &node.additional {
        Additional::No => ("the template keeps keys that the schema leaves out", 1_i64.into()),
        Additional::AsTheyAre => ("the template leaves out keys that the schema keeps", 1_i64.into()),
        Additional::Parsed(node) => ("the values of other keys are read differently", convertible(node)),
    };
    let loss = Loss::new(node, "additionalProperties", message);
    found.push(Change { path: below(UNKNOWN), value: Some(value), loss });
    for (key, property) in node.properties.iter().flatten().filter(|(_, property)| property.constant.is_none()) {
        let mut push = |value, message| {
            found.push(Change { path: below(key), value, loss: Loss::new(property, "default", message) });
        };
        if property.default.is_some() {
            push(None, "the template does not fill in the missing key");
            push(Some(convertible(property)), "the template does not read the key");
        }
        if !property.has_regex && property.parser.is_none() {
            collect(property, &below(key), found);
        }
    }
}

/// The changes to the items of a list: each is a list with one item changed.
fn collect_items(node: &Node, path: &[String], found: &mut Vec<Change>) {
    let Value::List(list) = example(node) else { return };
    let nodes = node.items.as_deref().map_or_else(|| node.prefix_items.iter().flatten().collect(), |item| vec![item]);
    for (at, item) in nodes.into_iter().enumerate().filter(|(_, item)| !item.has_regex && item.parser.is_none()) {
        let mut inside = Vec::new();
        collect(item, &[], &mut inside);
        found.extend(inside.into_iter().map(|change| {
            let mut list = list.clone();
            list.iter_mut().skip(at).take(1).for_each(|value| *value = change.make(std::mem::take(value)));
            Change { path: path.to_vec(), value: Some(Value::List(list)), loss: change.loss }
        }));
    }
}

/// A text that the node converts to its type, or a plain value if it does not convert.
fn convertible(node: &Node) -> Value {
    match node.type_name() {
        Some("integer") => "5".into(),
        Some("number") => "2.5".into(),
        Some("boolean") => "true".into(),
        _ => example(node),
    }
}

/// A value of the type that the node wants.
pub(super) fn example(node: &Node) -> Value {
    match node.type_name() {
        Some("object") => {
            let read = node.properties.iter().flatten().filter(|(_, property)| property.constant.is_none());
            Value::Object(read.map(|(key, property)| (key.clone(), example(property))).collect())
        }
        Some("array") => match (&node.items, &node.prefix_items) {
            (Some(item), _) => Value::List(vec![example(item)]),
            (None, items) => Value::List(items.iter().flatten().map(example).collect()),
        },
        Some("string") => "x".into(),
        Some("number") => 2.5.into(),
        Some("boolean") => true.into(),
        _ => 7_i64.into(),
    }
}

/// What a call read by patterns loses: properties missing from its shape, and defaults. `names` are the values that the
/// node gets by name.
pub(super) fn losses_of_shape(node: &Node, shape: &Value, names: &[&str]) -> Vec<Loss> {
    let own = node.value_names();
    let names = if names.is_empty() { &own } else { names };
    let mut losses = unnamed(node, names);
    for (key, property) in node.properties.iter().flatten().filter(|(_, property)| property.constant.is_none()) {
        match shape.get(key) {
            None => losses.push(Loss::new(property, "property of a call", "the property is dropped")),
            Some(_) if !names.is_empty() && property.default.is_some() => {
                losses.push(Loss::new(property, "default", "the template does not fill in the missing key"));
            }
            Some(shape @ Value::Object(_)) => losses.extend(losses_of_shape(property, shape, &[])),
            Some(_) => {}
        }
    }
    losses
}

/// The losses of groups that have no property, which the schema keeps as they are.
pub(super) fn unnamed(node: &Node, names: &[&str]) -> Vec<Loss> {
    let kept = names.iter().filter(|name| node.property(name).is_none() && !matches!(node.additional, Additional::No));
    kept.map(|name| Loss::new(node, &format!("group `{name}` without a property"), "the group is dropped")).collect()
}

/// The changes for a call that is one JSON object, with the shape of its result.
pub(super) fn changes_of_call(node: &Node, parser: &Parser, shape: Option<&Value>, each: bool) -> Vec<Change> {
    // Without a transform, the JSON has the keys of the result.
    let is_identity = shape.is_none() || (parser.transform.is_none() && node.substitutions.is_empty());
    let source = |path: &[String]| match shape.filter(|_| !is_identity) {
        Some(shape) => super::shape::source(shape, path, each),
        None => Some(path.to_vec()),
    };
    let item = node.items.as_deref().unwrap_or(node);
    let mut changes = changes(item, &source);
    // A shape fails without its keys; the schema sets them to null or to another value, or leaves them out.
    let needed = shape.map(|shape| super::shape::sources(shape, each)).unwrap_or_default();
    changes.extend(needed.into_iter().map(|path| {
        let key = path.join(".");
        let message = format!("the template drops a call without `{key}`, and the schema reads it");
        Change { path, value: None, loss: Loss::new(node, &format!("optional key `{key}`"), &message) }
    }));
    changes
}
