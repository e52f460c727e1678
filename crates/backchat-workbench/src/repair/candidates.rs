//! The changes from one template towards another, the smallest first.

use backchat_core::diagnostic::shortened;
use backchat_core::json::{Object, Path, Step, Value};

/// A template with one change.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// The value that changes: it gets another value, is added or is removed.
    pub place: Path,
    /// The change, in words.
    pub message: String,
    pub template: Value,
    /// The size of the change: 0 a value, 1 a field, 2 everything.
    pub size: u8,
}

impl Candidate {
    /// Whether it is the draft itself.
    pub fn is_whole(&self) -> bool {
        self.place.steps().is_empty()
    }

    /// Whether its place is that of another, or below it.
    pub fn lies_within(&self, other: &Candidate) -> bool {
        let (own, others) = (self.place.steps(), other.place.steps());
        own.starts_with(&others)
    }
}

/// Keys that exclude each other in a field.
const ALTERNATIVES: [[&str; 2]; 3] =
    [["open", "open_pattern"], ["close", "close_pattern"], ["start_anchor", "start_anchor_pattern"]];

/// The longest value in a message, in characters.
const EXCERPT: usize = 60;

/// How many changes inside a value are named.
const MOST_CHANGES: usize = 3;

/// The changes of `template` towards `draft`.
pub(super) fn candidates(template: &Value, draft: &Value) -> Vec<Candidate> {
    let (Some(old), Some(new)) = (template.as_object(), draft.as_object()) else { return Vec::new() };
    let mut found = Vec::new();
    let empty = Object::new();
    let fields = |of: &Object| of.get("fields").and_then(Value::as_object).cloned();
    let (old_fields, new_fields) = (fields(old).unwrap_or_default(), fields(new).unwrap_or_default());
    let put_fields = |fields: Object| Value::Object(with(old, "fields", Value::Object(fields)));
    let root = Path::root();
    let place = root.key("fields");

    for (place, message, changed) in values(&root, old, new, &["fields"]) {
        found.push(Candidate { place, message, template: Value::Object(changed), size: 0 });
    }
    for (name, field) in &new_fields {
        let place = place.key(name);
        match old_fields.get(name).and_then(Value::as_object) {
            Some(known) => {
                let wanted = field.as_object().unwrap_or(&empty);
                let changes = values(&place, known, wanted, &[]);
                let count = changes.len();
                for (place, message, changed) in changes {
                    let template = put_fields(with(&old_fields, name, Value::Object(changed)));
                    found.push(Candidate { place, message, template, size: 0 });
                }
                if count > 1 {
                    let message = format!("write the field `{name}` as derived");
                    let template = put_fields(with(&old_fields, name, field.clone()));
                    found.push(Candidate { place, message, template, size: 1 });
                }
            }
            None => {
                let message = format!("add the field `{name}`");
                let template = put_fields(with(&old_fields, name, field.clone()));
                found.push(Candidate { place, message, template, size: 1 });
            }
        }
    }
    for name in old_fields.keys().filter(|name| !new_fields.contains_key(name)) {
        let mut kept = old_fields.clone();
        kept.shift_remove(name);
        let template = put_fields(kept);
        let message = format!("remove the field `{name}`");
        found.push(Candidate { place: place.key(name), message, template, size: 1 });
    }
    if found.len() > 1 {
        let message = "take the derived template".to_owned();
        found.push(Candidate { place: root, message, template: draft.clone(), size: 2 });
    }
    found
}

/// The changes of one object's values towards another's, each with its place and the changed object.
fn values(place: &Path, old: &Object, new: &Object, but: &[&str]) -> Vec<(Path, String, Object)> {
    let mut found = Vec::new();
    for (key, value) in new.iter().filter(|(key, _)| !but.contains(key)) {
        let other = ALTERNATIVES.iter().find(|keys| keys.contains(&key)).into_iter().flatten();
        let other = other.copied().find(|other| *other != key && old.contains_key(other));
        let here = place.key(key);
        let message = match (old.get(key), other) {
            (Some(known), _) if known == value => continue,
            (Some(known), _) => change(&here, known, value),
            (None, Some(other)) => format!("write `{}` as `{key}`: {}", place.key(other), shown(value)),
            (None, None) => format!("add `{here}`: {}", shown(value)),
        };
        let mut changed = with(old, key, value.clone());
        if let Some(other) = other {
            changed.shift_remove(other);
        }
        found.push((here, message, changed));
    }
    for key in old.keys().filter(|key| !new.contains_key(key) && !but.contains(key)) {
        let is_replaced = ALTERNATIVES
            .iter()
            .any(|keys| keys.contains(&key) && keys.iter().any(|other| *other != key && new.contains_key(other)));
        if !is_replaced {
            let mut changed = old.clone();
            changed.shift_remove(key);
            found.push((place.key(key), format!("remove `{}`", place.key(key)), changed));
        }
    }
    found
}

/// A change in words; of a long object or list, only what differs in it.
fn change(here: &Path, old: &Value, new: &Value) -> String {
    let is_long = |value: &Value| value.to_string().chars().count() > EXCERPT;
    if !is_long(old) && !is_long(new) {
        return format!("change `{here}` from {} to {}", shown(old), shown(new));
    }
    let mut changes = Vec::new();
    list_changes(here, old, new, &mut changes);
    let more = changes.len().saturating_sub(MOST_CHANGES);
    changes.truncate(MOST_CHANGES);
    if more > 0 {
        changes.push(format!("{more} more"));
    }
    changes.join(", and ")
}

fn list_changes(here: &Path, old: &Value, new: &Value, changes: &mut Vec<String>) {
    match (old, new) {
        (old, new) if old == new => {}
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in new.iter() {
                match old.get(key) {
                    Some(known) => list_changes(&here.key(key), known, value, changes),
                    None => changes.push(format!("add `{}`: {}", here.key(key), shown(value))),
                }
            }
            let removed = old.keys().filter(|key| !new.contains_key(key));
            changes.extend(removed.map(|key| format!("remove `{}`", here.key(key))));
        }
        (Value::List(old), Value::List(new)) if old.len() == new.len() => {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                list_changes(&here.index(index), old, new, changes);
            }
        }
        _ => {
            let (old, new) = (old.to_string(), new.to_string());
            let from = first_shown(&old, &new);
            let shown = |text: &str| {
                let tail: String = text.chars().skip(from).collect();
                format!("{}{}", if from > 0 { "…" } else { "" }, shortened(&tail, EXCERPT))
            };
            changes.push(format!("change `{here}` from {} to {}", shown(&old), shown(&new)));
        }
    }
}

/// The character from which two texts are shown: their first one, unless their excerpts would be equal.
fn first_shown(old: &str, new: &str) -> usize {
    let same = old.chars().zip(new.chars()).take_while(|(a, b)| a == b).count();
    if same < EXCERPT { 0 } else { same - EXCERPT / 3 }
}

fn shown(value: &Value) -> String {
    shortened(&value.to_string(), EXCERPT).into_owned()
}

fn with(object: &Object, key: &str, value: Value) -> Object {
    let mut changed = object.clone();
    changed.insert(key, value);
    changed
}

pub(super) fn value_at<'v>(template: &'v Value, place: &Path) -> Option<&'v Value> {
    place.steps().into_iter().try_fold(template, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.as_list()?.get(*index),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::json;

    #[test]
    fn a_change_of_a_long_value_names_what_differs() {
        let call = |name: &str, more: &str| {
            format!(
                r#"{{"type": "function", "function": {{"name": "{name}", "arguments": "{{content.arguments}}"}}{more}}}"#
            )
        };
        let (long, longer) = ("x".repeat(70) + "</a>", "x".repeat(70) + "</b>");
        let tail = "x".repeat(17);
        for (old, new, said) in [
            (
                call("{content}", ""),
                call("{content.name}", ""),
                r#"change `t.function.name` from "{content}" to "{content.name}""#.to_owned(),
            ),
            (
                call("{content}", r#", "id": "{n}""#),
                call("{content.name}", r#", "kind": 1"#),
                r#"change `t.function.name` from "{content}" to "{content.name}", and add `t.kind`: 1, and remove `t.id`"#
                    .to_owned(),
            ),
            (
                format!("[\"{long}\", 1]"),
                format!("[\"{longer}\", 1]"),
                format!("change `t[0]` from …{tail}x</a>\" to …{tail}x</b>\""),
            ),
            (r#"{"a": 1}"#.to_owned(), r#"{"a": 2}"#.to_owned(), r#"change `t` from {"a": 1} to {"a": 2}"#.to_owned()),
        ] {
            let (old, new) = (json::read(&old).unwrap(), json::read(&new).unwrap());
            assert_eq!(change(&Path::root().key("t"), &old, &new), said);
        }
    }
}
