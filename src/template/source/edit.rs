//! A `tokenizer_config.json` with another response template, every other byte as it was.

use crate::diagnostic::{Diagnostic, Place};
use crate::json::{self, Path, Places, Value};
use crate::template::load::invalid_json;

/// The text of a file whose root object gets another value for a key; where the key is missing it is added.
pub(super) fn edit(text: &str, key: &str, value: &Value) -> Result<String, Diagnostic> {
    let (root, places) = json::read_with_places(text).map_err(|error| invalid_json(text, &error))?;
    let Some(entries) = root.as_object() else {
        let place = Place::span(text, places.value.start..places.value.start + 1).path("$");
        let message = format!("a tokenizer config must be an object, not {}", root.kind());
        return Err(Diagnostic::error("wrong-type", message).at(place).help("name a `tokenizer_config.json`"));
    };
    let layout = Layout::of(text, &places);
    let written = layout.write(value);
    if let Some(old) = places.at(&Path::root().key(key)) {
        return Ok(splice(text, old.value.start, old.value.end, &written));
    }

    let entry = format!("\"{key}\"{}{written}", layout.colon);
    let names: Vec<_> = entries.keys().map(String::as_str).collect();
    // Tools that save such a file sort its keys; a file that is sorted stays so.
    let position = if names.is_sorted() { names.partition_point(|name| *name < key) } else { names.len() };
    let previous = position.checked_sub(1).and_then(|index| names.get(index));
    let previous = previous.and_then(|name| places.at(&Path::root().key(name)));
    let start = places.value.start + 1;
    Ok(match previous {
        Some(previous) => splice(text, previous.value.end, previous.value.end, &format!(",{}{entry}", layout.gap)),
        None if names.is_empty() => {
            let filled = format!("{}{entry}{}", layout.gap, layout.newline);
            splice(text, start, places.value.end - 1, &filled)
        }
        None => splice(text, start, start, &format!("{}{entry},", layout.opening)),
    })
}

/// The text with the bytes from `start` to `end` replaced.
fn splice(text: &str, start: usize, end: usize, new: &str) -> String {
    [text.get(..start).unwrap_or(""), new, text.get(end..).unwrap_or("")].concat()
}

/// How a file is laid out.
struct Layout {
    /// What stands between the opening brace and the first key.
    opening: String,
    /// What stands between two entries, beside the comma.
    gap: String,
    /// What stands between a key and its value.
    colon: String,
    /// One level of indentation; nothing where all is on one line.
    indent: Option<String>,
    newline: &'static str,
}

impl Layout {
    fn of(text: &str, places: &Places) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let between = |start: usize, end: usize| text.get(start..end).unwrap_or("").to_owned();
        let entries = places.below();
        let mut entries = entries.iter().filter_map(|(_, entry)| Some((entry.key.clone()?, entry.value.clone())));
        let Some((key, value)) = entries.next() else {
            let gap = format!("{newline}  ");
            return Self { opening: gap.clone(), gap, colon: ": ".to_owned(), indent: Some("  ".to_owned()), newline };
        };
        let opening = between(places.value.start + 1, key.start);
        let colon = between(key.end, value.start);
        let indent = opening.rsplit_once('\n').map(|(_, indent)| indent.to_owned());
        let gap = match entries.next() {
            Some((next, _)) => between(value.end, next.start).replacen(',', "", 1),
            None if indent.is_some() => opening.clone(),
            None => " ".to_owned(),
        };
        Self { opening, gap, colon, indent, newline }
    }

    /// A value as it stands behind a key of the root.
    fn write(&self, value: &Value) -> String {
        match &self.indent {
            None => value.to_string(),
            Some(indent) => value.to_pretty(indent).replace('\n', &format!("{}{indent}", self.newline)),
        }
    }
}
