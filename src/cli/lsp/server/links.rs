//! From a delimiter to the places of the chat template that print it, and back.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Known, Server};
use backchat_core::text::slice;
use backchat_editor::analysis::chat_text_of;
use backchat_editor::chat_facts::ChatFacts;
use backchat_editor::chat_text::ChatText;
use backchat_editor::response::{self, delimiters, delimiters_with};
use backchat_editor::{chat_names, fixtures, folder};

/// The chat template that belongs to a response template.
pub struct Beside {
    pub path: PathBuf,
    pub document: String,
    pub text: ChatText,
}

/// The chat template in the folder of a document.
pub fn chat_beside(known: &Known) -> Option<Beside> {
    let path = match known.texts.first() {
        Some(_) => known.document.path.clone(),
        None => PathBuf::from(folder::chat_template_beside(&known.document.path)?.file),
    };
    let document = folder::read(&path)?;
    Some(Beside { text: chat_text_of(&path)?, path, document })
}

/// The chat template of a document at a byte.
pub fn text_at(known: &Known, byte: usize) -> Option<&ChatText> {
    known.texts.iter().find(|text| text.to_source(byte).is_some())
}

/// What renders showed about a document's chat template.
pub fn facts_of(known: &Known) -> Option<&ChatFacts> {
    known.analysis.as_ref()?.1.chat.as_deref()
}

/// Where the name, delimiter or path at a byte leads.
pub fn definition(server: &Server, known: &Known, byte: usize) -> Value {
    if let Some(text) = text_at(known, byte) {
        let found = chat_names::definition(text, byte).and_then(|span| server.location(&known.document.path, &span));
        return found.map_or(json!([]), |found| json!([found]));
    }
    if let Some(path) = fixtures::path_at(&known.document, byte) {
        return server.location(&path, &(0..0)).map_or(json!([]), |found| json!([found]));
    }
    let delimiter =
        delimiters(&known.document.text).into_iter().find(|found| found.span.start <= byte && byte < found.span.end);
    let (Some(delimiter), Some(beside)) = (delimiter, chat_beside(known)) else { return json!([]) };
    let analysis = known.analysis.as_ref().map(|(_, analysis)| analysis);
    let facts =
        analysis.and_then(|analysis| Some((analysis.chat.as_deref()?, analysis.response.as_ref()?.printed.as_slice())));
    let places = response::printers(&beside.text, &delimiter, facts);
    places.iter().filter_map(|(span, _)| server.location(&beside.path, span)).collect()
}

/// The occurrences of what is at a byte.
pub fn references(server: &Server, known: &Known, byte: usize, with_declaration: bool) -> Value {
    let Some(text) = text_at(known, byte) else {
        let delimiter = delimiters(&known.document.text)
            .into_iter()
            .find(|found| found.span.start <= byte && byte < found.span.end);
        let own =
            delimiter.filter(|_| with_declaration).and_then(|found| server.location(&known.document.path, &found.span));
        let mut all = own.map_or_else(Vec::new, |own| vec![own]);
        if let Value::Array(places) = definition(server, known, byte) {
            all.extend(places);
        }
        return Value::Array(all);
    };
    let names = chat_names::references(text, byte).into_iter().filter(|(_, binds)| with_declaration || !binds);
    let mut found: Vec<Value> = names.filter_map(|(span, _)| server.location(&known.document.path, &span)).collect();
    if let Some(literal) = literal_at(text, byte) {
        found = of_literal(server, known, text, &literal);
    }
    Value::Array(found)
}

/// The text of the literal at a byte; of a text of several lines, the line.
pub fn literal_at(text: &ChatText, byte: usize) -> Option<String> {
    let at = text.to_source(byte)?;
    let literal = text.reading.literals.iter().find(|literal| literal.span.start <= at && at < literal.span.end)?;
    if literal.is_string {
        return Some(literal.text.trim().to_owned());
    }
    let start = slice(&text.source, literal.span.start..at)
        .rfind('\n')
        .map_or(literal.span.start, |found| literal.span.start + found + 1);
    let end = slice(&text.source, at..literal.span.end).find('\n').map_or(literal.span.end, |found| at + found);
    Some(slice(&text.source, start..end).trim().to_owned())
}

/// The same literal in the chat template, and the delimiters of response templates that it writes.
fn of_literal(server: &Server, known: &Known, text: &ChatText, literal: &str) -> Vec<Value> {
    if literal.is_empty() {
        return Vec::new();
    }
    let same = text.reading.literals.iter().filter(|other| other.text.contains(literal));
    let mut found: Vec<Value> =
        same.filter_map(|other| server.location(&known.document.path, &text.span(&other.span))).collect();
    for path in folder::responses_beside(&known.document.path) {
        let Some(response) = folder::read(&path) else { continue };
        let places = delimiters_with(&response, literal).into_iter();
        found.extend(places.filter_map(|(span, _)| server.location(&path, &span)));
    }
    found
}
