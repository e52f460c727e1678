//! The content of a turn whose request asks for a format.

use crate::markers::Model;
use crate::notes::{Effect, Note};
use crate::request::{AnswerFormat, Request, Wants, wrong_format};
use crate::rules::{Node, Rules};
use crate::schema::{Schema, SchemaReader};
use crate::value::{Style, native};
use backchat_core::diagnostic::Diagnostic;
use backchat_derive::wire::written::JSON_ANSWER;

/// The rules of the content, if the request asks for a format; `None` if it is free.
///
/// # Errors
///
/// This wire cannot carry such an answer, or its schema cannot be written.
pub(crate) fn answer(
    rules: &mut Rules,
    model: &Model,
    request: &Request<'_>,
    wants: Wants,
    notes: &mut Vec<Note>,
) -> Result<Option<Node>, Vec<Diagnostic>> {
    let Some(format) = &request.format else { return Ok(None) };
    if wants.is_forced() {
        let message = "a call is required: the form of the answer has no effect";
        notes.push(Note::new(Effect::Assumed, message));
        return Ok(None);
    }
    if let Some(problem) = refused(model) {
        return Err(vec![problem]);
    }
    let writer = AnswerWriter {
        model,
        format,
        style: Style { inside: model.structure().content.is_json, ..Style::json() }.with_space(request.wire_space),
        is_open: request.open_properties || format.is_open,
    };
    Ok(Some(writer.node(rules, notes).map_err(|problem| vec![problem])?))
}

/// Why this wire cannot carry a JSON answer; `None` if it can.
fn refused(model: &Model) -> Option<Diagnostic> {
    if let Some(turn) = &model.written().changed_json {
        let message =
            format!("the chat template changes an answer that is JSON: it writes {JSON_ANSWER:?} as {turn:?}");
        let help = "remove the filter from the assistant's content in the chat template";
        return Some(Diagnostic::error("grammar-format", message).help(help));
    }
    let is_whole = model.structure().content.is_json || model.free_texts.content.accepts(JSON_ANSWER);
    (!is_whole).then(|| {
        let message = format!("the response template does not read all of {JSON_ANSWER:?} as `content`");
        let help = "a delimiter of the template matches inside JSON, or at its beginning";
        Diagnostic::error("grammar-format", message).help(help)
    })
}

/// Writes the answer of one request.
struct AnswerWriter<'r> {
    model: &'r Model,
    format: &'r AnswerFormat<'r>,
    style: Style,
    /// Whether an absent `additionalProperties` allows any member.
    is_open: bool,
}

impl AnswerWriter<'_> {
    /// One JSON value whose strings contain no marker.
    fn node(&self, rules: &mut Rules, notes: &mut Vec<Note>) -> Result<Node, Diagnostic> {
        let (schema, free_texts) = (&*self.format.schema, &self.model.free_texts.answer);
        let mut reader = SchemaReader::new(rules, schema, "answer", free_texts, self.is_open);
        let node = reader.value(&Schema::new(schema, String::new()), &self.style, "answer");
        let node = node.map(|node| reader.finite(node));
        let own = std::mem::take(&mut reader.notes);
        let native = native::json_schema(schema, &self.style, self.is_open, rules, free_texts);
        let place = |path: &str| format!("{}{path}", self.format.place);
        let failed = |path: &str, message: &str| wrong_format(&place(path), &format!("cannot be written: {message}"));
        let node = node.map_err(|problem| failed(&problem.path, &problem.message))?;
        if node.is_never() {
            return Err(failed("", "nothing satisfies this schema"));
        }
        notes.extend(own.into_iter().map(|note| Note { tool: None, path: note.path.as_deref().map(place), ..note }));
        Ok(rules.add_native("answer", node, native))
    }
}
