//! Edits a `tokenizer_config.json` so that every other byte stays the same.

use backchat_core::diagnostic::{Diagnostic, Place, invalid_json};
use backchat_core::json::{self, Entry, Path, Value};
use backchat_core::text::slice;

/// The text of a file with another value for a key of its root object; a missing key is added.
pub(super) fn edit(text: &str, key: &str, value: &Value) -> Result<String, Diagnostic> {
    let (root, entries) = json::read_entries(text).map_err(|error| invalid_json(text, &error))?;
    let Some(entries) = entries else {
        let place = Place::span(text, root.start..root.start + 1).path(Path::root().to_string());
        let message = "a tokenizer config must be a JSON object";
        return Err(Diagnostic::error("wrong-type", message).at(place).help("pass a `tokenizer_config.json`"));
    };
    let layout = Layout::detect(text, root.start + 1, &entries);
    let written = layout.write(value);
    if let Some(old) = entries.iter().rfind(|entry| entry.name == key) {
        return Ok(splice(text, old.value.start, old.value.end, &written));
    }

    let entry = format!("\"{key}\"{}{written}", layout.colon);
    // Tools that save such a file sort its keys; a file that is sorted stays so.
    let is_sorted = entries.is_sorted_by(|one, other| one.name <= other.name);
    let position = if is_sorted { entries.partition_point(|entry| entry.name.as_str() < key) } else { entries.len() };
    let previous = position.checked_sub(1).and_then(|index| entries.get(index));
    let start = root.start + 1;
    Ok(match previous {
        Some(previous) => splice(text, previous.value.end, previous.value.end, &format!(",{}{entry}", layout.gap)),
        None if entries.is_empty() => {
            splice(text, start, root.end - 1, &format!("{}{entry}{}", layout.gap, layout.newline))
        }
        None => splice(text, start, start, &format!("{}{entry},", layout.opening)),
    })
}

/// The text of a file whose root object loses a key, however often it has it; every other byte is unchanged.
pub(super) fn remove(text: &str, key: &str) -> Result<String, Diagnostic> {
    let mut text = text.to_owned();
    loop {
        let (_, entries) = json::read_entries(&text).map_err(|error| invalid_json(&text, &error))?;
        match without_last(&text, &entries.unwrap_or_default(), key) {
            Some(shorter) => text = shorter,
            None => return Ok(text),
        }
    }
}

/// The text without the last entry of a key; `None` if it has none.
fn without_last(text: &str, entries: &[Entry], key: &str) -> Option<String> {
    let at = entries.iter().rposition(|entry| entry.name == key)?;
    let previous = at.checked_sub(1).and_then(|index| entries.get(index));
    Some(match (entries.get(at)?, entries.get(at + 1), previous) {
        (entry, Some(next), _) => splice(text, entry.key.start, next.key.start, ""),
        (entry, None, Some(previous)) => splice(text, previous.value.end, entry.value.end, ""),
        (entry, None, None) => splice(text, entry.key.start, entry.value.end, ""),
    })
}

/// The text with the bytes from `start` to `end` replaced.
fn splice(text: &str, start: usize, end: usize, new: &str) -> String {
    [slice(text, ..start), new, slice(text, end..)].concat()
}

/// How a file is laid out.
struct Layout {
    /// The text between the opening brace and the first key.
    opening: String,
    /// The text between two entries, without the comma.
    gap: String,
    /// The text between a key and its value.
    colon: String,
    /// One level of indentation; `None` if all is on one line.
    indent: Option<String>,
    newline: &'static str,
}

impl Layout {
    fn detect(text: &str, start: usize, entries: &[Entry]) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let between = |start: usize, end: usize| slice(text, start..end).to_owned();
        let Some(first) = entries.first() else {
            let gap = format!("{newline}  ");
            return Self { opening: gap.clone(), gap, colon: ": ".to_owned(), indent: Some("  ".to_owned()), newline };
        };
        let opening = between(start, first.key.start);
        let colon = between(first.key.end, first.value.start);
        let indent = opening.rsplit_once('\n').map(|(_, indent)| indent.to_owned());
        let gap = match entries.get(1) {
            Some(next) => between(first.value.end, next.key.start).replacen(',', "", 1),
            None if indent.is_some() => opening.clone(),
            None => " ".to_owned(),
        };
        Self { opening, gap, colon, indent, newline }
    }

    /// A value as it is written after a key of the root.
    fn write(&self, value: &Value) -> String {
        match &self.indent {
            None => value.to_string(),
            Some(indent) => value.to_pretty(indent).replace('\n', &format!("{}{indent}", self.newline)),
        }
    }
}
