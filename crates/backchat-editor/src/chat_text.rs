//! The chat templates of a document: a Jinja file holds one, JSON may hold one or several in strings.

use std::ops::Range;
use std::sync::Arc;

use backchat_chat::{ChatTemplate, Reading, reading};
use backchat_core::json::{self, Path, Value};
use backchat_core::text::slice;

use crate::document::{Document, Kind};

/// A chat template as its document writes it.
#[derive(Clone, Debug)]
pub struct ChatText {
    /// The normalized source, which all places of the library are about.
    pub source: Arc<str>,
    pub reading: Arc<Reading>,
    /// Its name, if the file holds several.
    pub name: Option<String>,
    /// Where the two texts run on differently: a byte of the source, and its byte in the document.
    map: Vec<(usize, usize)>,
    /// The bytes of the document that hold it.
    pub extent: Range<usize>,
}

impl ChatText {
    /// The chat templates of a document.
    pub fn all(document: &Document) -> Vec<Self> {
        match document.kind() {
            Kind::Chat => vec![Self::new(&document.text, 0..document.text.len(), false, None)],
            Kind::Json => of_json(&document.text),
            _ => Vec::new(),
        }
    }

    /// The one that transformers takes for a conversation with tools; `None` if there are several, and none is the default.
    pub fn for_tools(texts: &[Self]) -> Option<&Self> {
        let named = |wanted| texts.iter().find(|text| text.name.as_deref() == Some(wanted));
        let only = || if let [only] = texts { Some(only) } else { None };
        named("tool_use").or_else(|| named("default")).or_else(only)
    }

    fn new(text: &str, extent: Range<usize>, is_json: bool, name: Option<String>) -> Self {
        let mut decoded = String::new();
        let mut places = Vec::new();
        let inner = if is_json { extent.start + 1..extent.end.saturating_sub(1) } else { extent.clone() };
        let written = slice(text, inner.clone());
        let mut at = 0;
        while let Some(rest) = written.get(at..).filter(|rest| !rest.is_empty()) {
            let (piece, length) = if is_json { json_piece(rest) } else { plain_piece(rest) };
            places.push((decoded.len(), inner.start + at));
            decoded.push_str(&piece);
            at += length;
        }
        places.push((decoded.len(), inner.end));
        let (source, map) = normalized(&decoded, &places);
        let reading = Arc::new(reading(&source));
        Self { source: source.into(), reading, name, map, extent }
    }

    /// Whether the same source has the same places in its document.
    pub fn is_placed_like(&self, other: &Self) -> bool {
        self.extent == other.extent && self.map == other.map
    }

    /// The byte of the document for one of the source.
    pub fn to_document(&self, byte: usize) -> usize {
        let at = self.map.partition_point(|(source, _)| *source <= byte).saturating_sub(1);
        let (source, document) = self.map.get(at).copied().unwrap_or_default();
        let end = self.map.get(at + 1).map_or(usize::MAX, |(_, next)| *next);
        (document + byte.saturating_sub(source)).min(end).min(self.extent.end)
    }

    /// The bytes of the document for some of the source.
    pub fn span(&self, span: &Range<usize>) -> Range<usize> {
        let start = self.to_document(span.start);
        start..self.to_document(span.end).max(start)
    }

    /// The byte of the source for one of the document, if it is in the template.
    pub fn to_source(&self, byte: usize) -> Option<usize> {
        if !(self.extent.start..=self.extent.end).contains(&byte) {
            return None;
        }
        let at = self.map.partition_point(|(_, document)| *document <= byte).saturating_sub(1);
        let (source, document) = self.map.get(at).copied()?;
        let end = self.map.get(at + 1).map_or(self.source.len(), |(next, _)| *next);
        Some((source + byte.saturating_sub(document)).min(end).min(self.source.len()))
    }

    /// Replaces text of the source, as the document has to write it.
    pub fn written(&self, text: &str) -> String {
        let is_json = self.map.first().is_some_and(|(_, document)| *document > self.extent.start);
        if !is_json {
            return text.to_owned();
        }
        let quoted = Value::from(text).to_string();
        quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
    }
}

/// The source as Jinja2 sees it, and the places where it departs from the document.
fn normalized(decoded: &str, places: &[(usize, usize)]) -> (String, Vec<(usize, usize)>) {
    let mut source = String::with_capacity(decoded.len());
    let mut map: Vec<(usize, usize)> = Vec::new();
    let mut note = |source: usize, document: usize| {
        let expected = map.last().map(|(from, to)| to + (source - from));
        if expected != Some(document) {
            map.push((source, document));
        }
    };
    for ((at, document), (end, _)) in places.iter().zip(places.iter().skip(1)) {
        let piece = slice(decoded, *at..*end);
        if piece == "\n" && source.ends_with('\r') {
            source.pop();
            source.push('\n');
            continue;
        }
        if source.ends_with('\r') {
            source.pop();
            source.push('\n');
        }
        note(source.len(), *document);
        source.push_str(piece);
    }
    if let Some((_, document)) = places.last() {
        note(source.len(), *document);
    }
    let source = ChatTemplate::normalize(&source);
    (source, map)
}

/// A character of a plain text. A carriage return is a piece of its own.
fn plain_piece(rest: &str) -> (String, usize) {
    let end = rest.char_indices().find(|(at, c)| *at > 0 && matches!(c, '\r' | '\n')).map_or(rest.len(), |(at, _)| at);
    let end = if rest.starts_with(['\r', '\n']) { 1 } else { end };
    (slice(rest, ..end).to_owned(), end)
}

/// A run of characters of a JSON string, or one escape.
fn json_piece(rest: &str) -> (String, usize) {
    if !rest.starts_with('\\') {
        let end = rest.find('\\').unwrap_or(rest.len());
        return (slice(rest, ..end).to_owned(), end);
    }
    let quoted = |length: usize| {
        let text = rest.get(..length)?;
        json::read(&format!("\"{text}\"")).ok()?.as_str().map(|text| (text.to_owned(), length))
    };
    let pair =
        if rest.get(6..8) == Some("\\u") { quoted(12).filter(|(text, _)| text.chars().count() == 1) } else { None };
    let one = if rest.get(1..2) == Some("u") { quoted(6) } else { quoted(2) };
    pair.or(one).unwrap_or_else(|| ("\u{FFFD}".to_owned(), rest.chars().next().map_or(1, char::len_utf8)))
}

fn of_json(text: &str) -> Vec<ChatText> {
    let Ok((value, places)) = json::read_with_places(text) else { return Vec::new() };
    let place = |path: &Path| places.at(path).map(|place| place.value.clone());
    let key = Path::root().key("chat_template");
    match value.get("chat_template") {
        Some(Value::String(_)) => {
            place(&key).map(|extent| ChatText::new(text, extent, true, None)).into_iter().collect()
        }
        Some(Value::List(items)) => {
            let named = |(at, item): (usize, &Value)| {
                let name = item.get("name")?.as_str()?.to_owned();
                item.get("template")?.as_str()?;
                Some(ChatText::new(text, place(&key.index(at).key("template"))?, true, Some(name)))
            };
            items.iter().enumerate().filter_map(named).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(name: &str, text: &str) -> ChatText {
        let document = Document::new(name.into(), "", 1, text, true);
        ChatText::all(&document).remove(0)
    }

    #[test]
    fn places_survive_line_ends_and_escapes() {
        for (name, text, part) in [
            ("a.jinja", "{{ a }}\r\n{{ b }}\r{{ ccc }}\r\n", "ccc"),
            ("tokenizer_config.json", r#"{"chat_template": "{{ 'a\n\u00fc\"' }}\n{{ ccc }}"}"#, "ccc"),
            ("tokenizer_config.json", r#"{"chat_template": "\ud83d\ude86{{ ccc }}"}"#, "ccc"),
        ] {
            let found = only(name, text);
            let at = found.source.find(part).unwrap();
            let span = found.span(&(at..at + part.len()));
            assert_eq!(&text[span.clone()], part, "{text}");
            assert_eq!(found.to_source(span.start), Some(at), "{text}");
        }
    }
}
