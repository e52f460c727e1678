//! The changes from one template towards another, the smallest first.

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
            (Some(known), _) => format!("change `{here}` from {} to {}", shown(known), shown(value)),
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

fn shown(value: &Value) -> String {
    backchat_core::diagnostic::shortened(&value.to_string(), EXCERPT).into_owned()
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
