//! `call-keys`: the two keys of a call under other names that models give them.

use super::call_form::CallPaths;
use crate::content::coerce::Tools;
use backchat_core::json::{Object, Value};

/// Alternative names.
const NAMES: [&str; 5] = ["name", "tool_name", "function_name", "tool", "function"];
const ARGUMENTS: [&str; 4] = ["arguments", "parameters", "args", "input"];

/// Renames the keys of every call in a region's value to those that the transform uses; true if anything changed.
pub(super) fn rename(value: &mut Value, paths: &CallPaths, tools: Option<&Tools>) -> bool {
    match (paths.each, value) {
        (true, Value::List(calls)) => {
            calls.iter_mut().map(|call| rename_in(call, paths, tools)).fold(false, |any, one| any | one)
        }
        (true, _) => false,
        (false, value) => rename_in(value, paths, tools),
    }
}

fn rename_in(call: &mut Value, paths: &CallPaths, tools: Option<&Tools>) -> bool {
    let Value::Object(entries) = call else { return false };
    let mut changed = unwrap_function(entries, paths);
    let mut name = None;
    if let Some([outer @ .., key]) = paths.name.as_deref()
        && let Some(entries) = descend(entries, outer)
    {
        changed |= move_to(entries, key, &NAMES);
        name = entries.get(key).and_then(Value::as_str).map(str::to_owned);
    }
    if let Some([outer @ .., key]) = paths.arguments.as_deref()
        && let Some(entries) = descend(entries, outer)
    {
        changed |= move_to(entries, key, &ARGUMENTS);
        let needs_none = || {
            name.as_deref()
                .zip(tools)
                .is_some_and(|(name, tools)| tools.requires(name).is_some_and(<[String]>::is_empty))
        };
        if !entries.contains_key(key) && needs_none() {
            entries.insert(key.clone(), Value::Object(Object::new()));
            changed = true;
        }
    }
    changed
}

/// Takes the call out of `{"type": "function", "function": {…}}`.
fn unwrap_function(entries: &mut Object, paths: &CallPaths) -> bool {
    let is_there = |path: &Option<Vec<String>>| {
        path.as_deref().and_then(<[String]>::first).is_some_and(|key| entries.contains_key(key))
    };
    if is_there(&paths.name) || is_there(&paths.arguments) {
        return false;
    }
    let Some(Value::Object(inside)) = entries.get("function") else { return false };
    let inside = inside.clone();
    entries.shift_remove("function");
    entries.extend(inside);
    true
}

fn descend<'v>(entries: &'v mut Object, keys: &[String]) -> Option<&'v mut Object> {
    keys.iter().try_fold(entries, |entries, key| match entries.get_mut(key) {
        Some(Value::Object(inside)) => Some(inside),
        _ => None,
    })
}

/// Puts the value of another name under the key, if the key is not there.
fn move_to(entries: &mut Object, key: &str, names: &[&str]) -> bool {
    if entries.contains_key(key) || !names.contains(&key) {
        return false;
    }
    let Some(other) = names.iter().find(|name| entries.contains_key(name)) else { return false };
    let Some(value) = entries.shift_remove(other) else { return false };
    entries.insert(key, value);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::json;

    fn renamed(call: &str, name: &[&str], arguments: &[&str], each: bool) -> String {
        let path = |keys: &[&str]| Some(keys.iter().map(|key| (*key).to_owned()).collect());
        let paths = CallPaths { name: path(name), arguments: path(arguments), each };
        let tools = r#"[{"name": "now", "parameters": {}}, {"name": "f", "parameters": {"required": ["a"]}}]"#;
        let tools = Tools::new(&json::read(tools).unwrap()).unwrap();
        let mut value = json::read(call).unwrap();
        let changed = rename(&mut value, &paths, Some(&tools));
        format!("{changed} {value}")
    }

    #[test]
    fn alternative_keys_are_renamed() {
        let usual = |call| renamed(call, &["name"], &["arguments"], false);
        for (call, wanted) in [
            (r#"{"name": "f", "arguments": {}}"#, r#"false {"name": "f", "arguments": {}}"#),
            (r#"{"name": "f", "parameters": {"a": 1}}"#, r#"true {"name": "f", "arguments": {"a": 1}}"#),
            (r#"{"tool": "f", "args": {}}"#, r#"true {"name": "f", "arguments": {}}"#),
            (
                r#"{"type": "function", "function": {"name": "f", "arguments": {}}}"#,
                r#"true {"type": "function", "name": "f", "arguments": {}}"#,
            ),
            (r#"{"function": "f", "arguments": {}}"#, r#"true {"arguments": {}, "name": "f"}"#),
            (r#"{"name": "now"}"#, r#"true {"name": "now", "arguments": {}}"#),
            (r#"{"name": "f"}"#, r#"false {"name": "f"}"#),
            (r#"{"name": "g"}"#, r#"false {"name": "g"}"#),
        ] {
            assert_eq!(usual(call), wanted, "{call}");
        }
        assert_eq!(
            renamed(r#"[{"name": "f", "arguments": {}}]"#, &["tool_name"], &["parameters"], true),
            r#"true [{"tool_name": "f", "parameters": {}}]"#
        );
    }
}
