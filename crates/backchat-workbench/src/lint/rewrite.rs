//! The fix that rewrites a template within the limits of its targets: it replaces entries, and never adds or removes
//! one.

use super::rules::{target_construct, target_field, target_pattern};
use super::subject::Subject;
use backchat_core::diagnostic::{Diagnostic, Edit};
use backchat_core::json::{Object, Path, Value};

/// Attaches the fix to the first finding that it resolves, and removes the fixes of all others that it resolves.
pub fn offer_rewrite(subject: &Subject<'_>, found: &mut [Diagnostic], rewritten: &Value, message: &str) {
    let Some(edits) = edits(subject, rewritten) else { return };
    let resolved = [&target_field::CHECK, &target_construct::CHECK, &target_pattern::CHECK].map(|check| check.rule.id);
    let mut edits = Some(edits);
    for finding in found.iter_mut().filter(|finding| resolved.contains(&finding.id)) {
        finding.fix = None;
        if let Some(edits) = edits.take() {
            *finding = finding.clone().fix(message, edits);
        }
    }
}

/// The edits that turn one template into the other; `None` if an entry would have to be added or removed.
fn edits(subject: &Subject<'_>, rewritten: &Value) -> Option<Vec<Edit>> {
    let template = subject.template.to_value();
    let mut found = Vec::new();
    replace(subject, &Path::root(), template.as_object()?, rewritten.as_object()?, &mut found)?;
    Some(found)
}

fn replace(subject: &Subject<'_>, path: &Path, old: &Object, new: &Object, found: &mut Vec<Edit>) -> Option<()> {
    if old.len() != new.len() {
        return None;
    }
    for ((old_key, old_value), (new_key, new_value)) in old.iter().zip(new) {
        let place = path.key(old_key);
        let is_inner = ["fields", "defaults"].contains(&old_key) && *path == Path::root();
        match (old_value, new_value) {
            _ if (old_key, old_value) == (new_key, new_value) => {}
            (Value::Object(old), Value::Object(new)) if is_inner && old_key == new_key && old.len() == new.len() => {
                replace(subject, &place, old, new, found)?;
            }
            _ if old_key != new_key && old_value == new_value => found.extend(subject.rename_key(&place, new_key)?),
            _ => found.extend(subject.replace_entry(&place, new_key, new_value)?),
        }
    }
    Some(())
}
