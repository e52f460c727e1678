//! Changes to a conversation: another text, key, number of items, variable or clock.

use std::ops::Range;

use crate::kinds::{Conversation, object};
use backchat_core::json::{Object, Value};

/// A step into a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

pub(super) type Path = Vec<Step>;

/// Visits every value, the outer ones first.
pub(super) fn walk<'v>(value: &'v Value, path: &mut Path, visit: &mut dyn FnMut(&Path, &'v Value)) {
    visit(path, value);
    match value {
        Value::List(items) => {
            for (at, item) in items.iter().enumerate() {
                path.push(Step::Index(at));
                walk(item, path, visit);
                path.pop();
            }
        }
        Value::Object(entries) => {
            for (key, item) in entries {
                path.push(Step::Key(key.to_owned()));
                walk(item, path, visit);
                path.pop();
            }
        }
        _ => {}
    }
}

/// The value at a path.
pub(super) fn at_mut<'v>(value: &'v mut Value, path: &[Step]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |value, step| match (value, step) {
        (Value::Object(entries), Step::Key(key)) => entries.get_mut(key),
        (Value::List(items), Step::Index(at)) => items.get_mut(*at),
        _ => None,
    })
}

/// A conversation after an edit of its context.
pub(super) fn edited(base: &Conversation, edit: impl FnOnce(&mut Value) -> Option<()>) -> Option<Conversation> {
    let mut context = Value::Object(base.context.clone());
    edit(&mut context)?;
    match context {
        Value::Object(context) => Some(Conversation { context, now: base.now.clone() }),
        _ => None,
    }
}

/// With another value at a path.
pub(super) fn with_value(base: &Conversation, path: &[Step], value: Value) -> Option<Conversation> {
    edited(base, |context| {
        *at_mut(context, path)? = value;
        Some(())
    })
}

/// With a key of the object at a path, or without it.
pub(super) fn with_key(base: &Conversation, path: &[Step], key: &str, value: Option<Value>) -> Option<Conversation> {
    edited(base, |context| {
        let Value::Object(entries) = at_mut(context, path)? else { return None };
        match value {
            Some(value) => {
                entries.insert(key, value);
            }
            None => {
                entries.shift_remove(key)?;
            }
        }
        Some(())
    })
}

/// With another name for a key.
pub(super) fn with_renamed(base: &Conversation, path: &[Step], old: &str, new: &str) -> Option<Conversation> {
    edited(base, |context| {
        let Value::Object(entries) = at_mut(context, path)? else { return None };
        let renamed = entries.iter().map(|(key, value)| (if key == old { new } else { key }.to_owned(), value.clone()));
        *entries = renamed.collect::<Object>();
        Some(())
    })
}

pub(super) fn with_variable(base: &Conversation, name: &str, value: Value) -> Conversation {
    let mut made = base.clone();
    made.context.insert(name, value);
    made
}

pub(super) fn with_clock(base: &Conversation, now: String) -> Conversation {
    Conversation { context: base.context.clone(), now: Some(now) }
}

/// The paths of the objects that templates look into: messages, calls, functions, tools, parts, arguments.
pub(super) fn objects(base: &Conversation) -> Vec<Path> {
    let mut found: Vec<Path> = Vec::new();
    for name in ["messages", "tools", "documents"] {
        let Some(value) = base.context.get(name) else { continue };
        let mut path = vec![Step::Key(name.to_owned())];
        walk(value, &mut path, &mut |path, value| {
            if matches!(value, Value::Object(_)) && path.len() <= 7 {
                found.push(path.clone());
            }
        });
    }
    found
}

/// The paths of the texts of a conversation, with them.
pub(super) fn texts(base: &Conversation) -> Vec<(Path, String)> {
    let mut found = Vec::new();
    for name in ["messages", "tools"] {
        let Some(value) = base.context.get(name) else { continue };
        let mut path = vec![Step::Key(name.to_owned())];
        walk(value, &mut path, &mut |path, value| {
            let is_fixed = matches!(path.last(), Some(Step::Key(key)) if key == "role" || key == "type");
            if let (Value::String(text), false) = (value, is_fixed) {
                found.push((path.clone(), text.clone()));
            }
        });
    }
    found
}

/// With so many messages: turns of a user and an assistant at the end, and no more of them than needed.
pub(super) fn with_messages(base: &Conversation, count: usize) -> Option<Conversation> {
    edited(base, |context| {
        let Value::List(messages) = at_mut(context, &[Step::Key("messages".to_owned())])? else { return None };
        messages.truncate(count);
        let mut next = messages.len();
        while messages.len() < count {
            let last = messages.last().and_then(|message| message.get("role")).and_then(Value::as_str);
            let (role, word) = if last == Some("user") { ("assistant", "zqa") } else { ("user", "zqu") };
            messages.push(object([("role", role.into()), ("content", format!("{word}{next}").into())]));
            next += 1;
        }
        Some(())
    })
}

/// With some of its messages only.
pub(super) fn with_range(base: &Conversation, range: Range<usize>) -> Option<Conversation> {
    edited(base, |context| {
        let Value::List(messages) = at_mut(context, &[Step::Key("messages".to_owned())])? else { return None };
        *messages = messages.get(range)?.to_vec();
        Some(())
    })
}

/// With so many items in the list at a path, copies of its last one.
pub(super) fn with_items(base: &Conversation, path: &[Step], count: usize) -> Option<Conversation> {
    edited(base, |context| {
        let Value::List(items) = at_mut(context, path)? else { return None };
        let last = items.last()?.clone();
        items.truncate(count);
        while items.len() < count {
            items.push(last.clone());
        }
        Some(())
    })
}

/// With so many entries in the object at a path.
pub(super) fn with_entries(base: &Conversation, path: &[Step], count: usize) -> Option<Conversation> {
    edited(base, |context| {
        let Value::Object(entries) = at_mut(context, path)? else { return None };
        let mut next = 0;
        while entries.len() < count {
            entries.insert(format!("zqk{next}"), "zqc".into());
            next += 1;
        }
        let keys: Vec<String> = entries.keys().skip(count).map(str::to_owned).collect();
        for key in keys {
            entries.shift_remove(&key);
        }
        Some(())
    })
}

/// The paths of the lists of a conversation, messages aside.
pub(super) fn lists(base: &Conversation) -> Vec<(Path, usize)> {
    let mut found = Vec::new();
    for name in ["messages", "tools", "documents"] {
        let Some(value) = base.context.get(name) else { continue };
        let mut path = vec![Step::Key(name.to_owned())];
        walk(value, &mut path, &mut |path, value| {
            if let (Value::List(items), false) = (value, path.len() == 1 && name == "messages") {
                found.push((path.clone(), items.len()));
            }
        });
    }
    found
}

/// The paths of the types of parts, calls and tools, with them.
pub(super) fn types(base: &Conversation) -> Vec<(Path, String)> {
    let mut found = Vec::new();
    for name in ["messages", "tools"] {
        let Some(value) = base.context.get(name) else { continue };
        let mut path = vec![Step::Key(name.to_owned())];
        walk(value, &mut path, &mut |path, value| {
            if let (Some(Step::Key(key)), Value::String(text)) = (path.last(), value)
                && key == "type"
            {
                found.push((path.clone(), text.clone()));
            }
        });
    }
    found
}
