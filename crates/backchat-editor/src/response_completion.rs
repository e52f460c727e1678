//! Completion in a response template, from its JSON Schema and from what its chat template prints.

use std::ops::Range;

use backchat_core::json::{self, Value};
use backchat_core::text::slice;
use backchat_parser::template::schema;

use crate::chat_completion::{Item, ItemKind};
use crate::chat_text::ChatText;

/// Where a byte is in JSON that may be broken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JsonPlace {
    /// The keys down to the object or value there.
    pub path: Vec<String>,
    /// Whether a key belongs there, and not a value.
    pub is_key: bool,
    /// The bytes of the string there, without its quotes.
    pub string: Option<Range<usize>>,
    /// The keys of the object there.
    pub siblings: Vec<String>,
}

#[derive(Clone, Debug, Default)]
struct Open {
    key: Option<String>,
    is_list: bool,
    wants_value: bool,
    keys: Vec<String>,
    holds_cursor: bool,
}

/// Finds out where a byte is, without a tree: the text is being typed.
pub fn place_at(text: &str, byte: usize) -> JsonPlace {
    let mut open: Vec<Open> = Vec::new();
    let mut found: Option<JsonPlace> = None;
    let mut depth_of_cursor = 0;
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(c) = bytes.get(at) {
        if at >= byte && found.is_none() {
            found = Some(here(&open, None));
            depth_of_cursor = open.len();
            open.last_mut().into_iter().for_each(|open| open.holds_cursor = true);
        }
        match c {
            b'"' => {
                let end = string_end(bytes, at);
                let inner = at + 1..end.min(text.len());
                let word =
                    slice(text, text.floor_char_boundary(inner.start)..text.floor_char_boundary(inner.end)).to_owned();
                if found.is_none() && inner.start <= byte && byte <= inner.end {
                    found = Some(here(&open, Some(inner.clone())));
                    depth_of_cursor = open.len();
                    open.last_mut().into_iter().for_each(|open| open.holds_cursor = true);
                } else if let Some(object) = open.last_mut().filter(|open| !open.is_list && !open.wants_value) {
                    object.keys.push(word.clone());
                }
                if let Some(object) = open.last_mut().filter(|open| !open.is_list && !open.wants_value) {
                    object.key = Some(word);
                }
                at = end;
            }
            b'{' | b'[' => open.push(Open { is_list: *c == b'[', ..Open::default() }),
            b'}' | b']' => {
                if let Some(closed) = open.pop()
                    && closed.holds_cursor
                    && let Some(found) = &mut found
                {
                    found.siblings = closed.keys;
                    return found.clone();
                }
            }
            b':' => open.last_mut().into_iter().for_each(|open| open.wants_value = true),
            b',' => open.last_mut().into_iter().for_each(|open| open.wants_value = false),
            _ => {}
        }
        at += 1;
    }
    let mut found = found.unwrap_or_else(|| here(&open, None));
    if let Some(object) = open.get(depth_of_cursor.saturating_sub(1)) {
        found.siblings.clone_from(&object.keys);
    }
    found
}

fn here(open: &[Open], string: Option<Range<usize>>) -> JsonPlace {
    let is_key = open.last().is_some_and(|open| !open.is_list && !open.wants_value);
    let count = open.len();
    let keys = open.iter().enumerate().filter(|(at, open)| at + 1 < count || (!is_key && !open.is_list));
    let path = keys.filter_map(|(_, open)| if open.is_list { None } else { open.key.clone() }).collect();
    JsonPlace { path, is_key, string, siblings: Vec::new() }
}

/// The offset of the quote that ends a string; strings end with their line if it is never closed.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(c) = bytes.get(at) {
        match c {
            b'\\' => at += 1,
            b'"' | b'\n' => return at,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// The schema of an object by its path in the template.
fn properties(path: &[&str], parser: Option<&str>) -> Option<Value> {
    let schema = schema();
    let definitions = schema.get("definitions")?;
    match path {
        [] => schema.get("properties").cloned(),
        ["fields", _] => definitions.get("field")?.get("properties").cloned(),
        ["fields", _, "content_args"] => {
            let parser = parser?;
            let plain = |name: &str| name.to_lowercase().replace(['-', '_'], "");
            let definitions = definitions.as_object()?;
            let found = definitions.iter().find(|(name, _)| plain(name).starts_with(&plain(parser)))?;
            found.1.get("properties").cloned()
        }
        _ => None,
    }
}

/// The path inside the template.
fn inside(path: &[String]) -> Vec<&str> {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match path.split_first() {
        Some((first, rest)) if *first == crate::response::KEY => rest.to_vec(),
        _ => path,
    }
}

/// The description of a key at a path.
pub fn description(path: &[String], key: &str) -> Option<String> {
    let property = properties(&inside(path), None)?.get(key)?.clone();
    property.get("description")?.as_str().map(str::to_owned)
}

fn item(label: &str, kind: ItemKind, detail: &str, documentation: &str, replaces: Range<usize>) -> Item {
    Item {
        label: label.to_owned(),
        kind,
        detail: detail.to_owned(),
        documentation: documentation.to_owned(),
        replaces,
        inserted: None,
    }
}

/// The completions at a byte of a response template.
pub fn complete(text: &str, byte: usize, chat: Option<&ChatText>) -> Vec<Item> {
    let place = place_at(text, byte);
    let path = inside(&place.path);
    let replaces = place.string.clone().unwrap_or(byte..byte);
    let quoted = |label: &str| place.string.is_none().then(|| Value::from(label).to_string());
    let mut items = if place.is_key {
        let parser = parser_of(text, &place);
        let known = properties(&path, parser.as_deref());
        let known = known.and_then(|known| known.as_object().cloned()).unwrap_or_default();
        let keys = known.iter().filter(|(key, _)| !place.siblings.iter().any(|used| used == key));
        keys.map(|(key, schema)| {
            let about = schema.get("description").and_then(Value::as_str).unwrap_or_default();
            item(key, ItemKind::Property, "key", about, replaces.clone())
        })
        .collect()
    } else {
        values(&path, text, chat, &replaces)
    };
    for item in &mut items {
        item.inserted = quoted(&item.label);
    }
    items
}

/// The content parser of the field that an object belongs to.
fn parser_of(text: &str, place: &JsonPlace) -> Option<String> {
    let value = json::read(text).ok()?;
    let root = if value.get("fields").is_none() { value.get(crate::response::KEY)?.clone() } else { value };
    let field = inside(&place.path).get(1).map(|name| (*name).to_owned())?;
    root.get("fields")?.get(&field)?.get("content")?.as_str().map(str::to_owned)
}

fn values(path: &[&str], text: &str, chat: Option<&ChatText>, replaces: &Range<usize>) -> Vec<Item> {
    let schema = schema();
    match path {
        ["fields", _, "content"] => {
            let field = schema
                .get("definitions")
                .and_then(|found| found.get("field")?.get("properties")?.get("content").cloned());
            let names = field.and_then(|field| find_names(&field)).unwrap_or_default();
            names.iter().map(|name| item(name, ItemKind::Value, "content parser", "", replaces.clone())).collect()
        }
        ["fields", _, "open" | "close"] | ["start_anchor"] => {
            let Some(chat) = chat else { return Vec::new() };
            markers(chat)
                .iter()
                .map(|marker| item(marker, ItemKind::Value, "printed by the chat template", "", replaces.clone()))
                .collect()
        }
        ["fields", field, "transform", ..] => placeholders(text, field)
            .iter()
            .map(|name| item(name, ItemKind::Value, "placeholder", "", replaces.clone()))
            .collect(),
        _ => Vec::new(),
    }
}

/// The names of an enumeration somewhere in a schema.
fn find_names(schema: &Value) -> Option<Vec<String>> {
    if let Some(names) = schema.get("enum").and_then(Value::as_list) {
        return Some(names.iter().filter_map(Value::as_str).map(str::to_owned).collect());
    }
    match schema {
        Value::Object(entries) => entries.values().find_map(find_names),
        Value::List(items) => items.iter().find_map(find_names),
        _ => None,
    }
}

/// The texts of a chat template that look like markers.
fn markers(chat: &ChatText) -> Vec<String> {
    let is_marker = |text: &str| text.len() > 2 && text.len() < 60 && text.starts_with(['<', '[', '{', '|', '#']);
    let texts = chat.reading.literals.iter().flat_map(|literal| {
        let trimmed = literal.text.trim().to_owned();
        let lines: Vec<String> = trimmed.lines().map(|line| line.trim().to_owned()).collect();
        lines
    });
    backchat_core::distinct(texts.filter(|text| is_marker(text)))
}

/// The placeholders that a field's captures give.
fn placeholders(text: &str, field: &str) -> Vec<String> {
    let mut found = vec!["{content}".to_owned(), "{content.name}".to_owned(), "{content.arguments}".to_owned()];
    let pattern = json::read(text).ok().and_then(|value| {
        let root = if value.get("fields").is_none() { value.get(crate::response::KEY)?.clone() } else { value };
        root.get("fields")?.get(field)?.get("open_pattern")?.as_str().map(str::to_owned)
    });
    for group in pattern.unwrap_or_default().split("(?P<").skip(1) {
        found.extend(group.split('>').next().map(|name| format!("{{{name}}}")));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_broken_json_has_its_path_and_the_keys_beside_it() {
        for (text, path, is_key, siblings) in [
            (r#"{"fields": {"content": {"close": "x", "|"}}}"#, vec!["fields", "content"], true, vec!["close"]),
            (r#"{"version": 1, "fields": {"a": {}}, "|"}"#, vec![], true, vec!["version", "fields"]),
            (r#"{"fields": {"a": {"content": "|"}}}"#, vec!["fields", "a", "content"], false, vec!["content"]),
            (r#"{"fields": {"a": {"open": ["|"#, vec!["fields", "a", "open"], false, vec![]),
        ] {
            let byte = text.find('|').unwrap();
            let place = place_at(&text.replace('|', ""), byte);
            assert_eq!(
                (place.path, place.is_key),
                (path.iter().map(|key| (*key).to_owned()).collect(), is_key),
                "{text}"
            );
            assert_eq!(place.siblings, siblings, "{text}");
        }
    }
}
