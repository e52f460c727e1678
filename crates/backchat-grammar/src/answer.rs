//! Parses `response_format` and turns it into the rules of the content.

use std::borrow::Cow;

use super::marks::FreeTexts;
use super::native;
use super::notes::Note;
use super::rules::{Node, Rules};
use super::schema::{Schema, SchemaReader};
use super::style::Style;
use super::tools::is_loose;
use backchat_core::diagnostic::Diagnostic;
use backchat_core::json::Value;
use backchat_derive::wire::structure::WireFormat;
use backchat_derive::wire::written::{JSON_ANSWER, Written};

/// The schema of JSON content.
#[derive(Clone, Debug)]
pub(crate) struct AnswerFormat<'r> {
    schema: Cow<'r, Value>,
    /// Whether an absent `additionalProperties` allows any member.
    is_open: bool,
    /// The JSON pointer of the schema in the request.
    place: String,
}

fn wrong(place: &str, message: &str) -> Diagnostic {
    Diagnostic::error("grammar-format", format!("`{place}` {message}"))
}

impl<'r> AnswerFormat<'r> {
    /// Reads `response_format`, or `text.format` of the Responses API; `None` if the answer is free.
    pub fn read(format: &'r Value, place: &str) -> Result<Option<Self>, Diagnostic> {
        if format.is_null() {
            return Ok(None);
        }
        if format.as_object().is_none() {
            return Err(wrong(place, &format!("must be an object, not {}", format.kind())));
        }
        let kind = match format.get("type") {
            Some(Value::String(kind)) => kind.as_str(),
            Some(other) => {
                return Err(wrong(&format!("{place}/type"), &format!("must be a string, not {}", other.kind())));
            }
            None => return Err(wrong(place, "has no `type`")),
        };
        // The schema is below `json_schema`, or directly in the format.
        let (own, place) = match format.get("json_schema") {
            Some(own) if kind == "json_schema" => (own, format!("{place}/json_schema")),
            _ => (format, place.to_owned()),
        };
        let schema = own.get("schema").filter(|schema| !schema.is_null());
        let schema = match (kind, schema) {
            ("text", _) => return Ok(None),
            ("json_object" | "json_schema", Some(schema)) => {
                let is_schema = schema.as_object().is_some() || schema.as_bool().is_some();
                if !is_schema {
                    let message = format!("must be a JSON Schema, not {}", schema.kind());
                    return Err(wrong(&format!("{place}/schema"), &message));
                }
                Cow::Borrowed(schema)
            }
            ("json_object", None) => Cow::Owned(Value::from([("type", "object".into())])),
            ("json_schema", None) => return Err(wrong(&place, "has no `schema`")),
            (other, _) => {
                let message = format!("is `{other}`, which is not supported");
                return Err(wrong(&format!("{place}/type"), &message).help("`text`, `json_object` or `json_schema`"));
            }
        };
        let is_open = is_loose(own).map_err(|why| wrong(&format!("{place}/strict"), &why))?;
        Ok(Some(Self { schema, is_open, place: format!("{place}/schema") }))
    }

    /// Why this wire cannot carry a JSON answer; `None` if it can.
    pub fn refused(wire: &WireFormat, written: &Written, free_texts: &FreeTexts) -> Option<Diagnostic> {
        if let Some(turn) = &written.changed_json {
            let message =
                format!("the chat template changes an answer that is JSON: it writes {JSON_ANSWER:?} as {turn:?}");
            let help = "remove the filter from the assistant's content in the chat template";
            return Some(Diagnostic::error("grammar-format", message).help(help));
        }
        let is_whole = wire.content.is_json || free_texts.content.accepts(JSON_ANSWER);
        (!is_whole).then(|| {
            let message = format!("the response template does not read all of {JSON_ANSWER:?} as `content`");
            let help = "a delimiter of the template matches inside JSON, or at its beginning";
            Diagnostic::error("grammar-format", message).help(help)
        })
    }

    /// The rules of the content: one JSON value whose strings contain no marker.
    pub fn node(
        &self,
        rules: &mut Rules,
        free_texts: &FreeTexts,
        is_json: bool,
        open: bool,
        strict_space: bool,
        notes: &mut Vec<Note>,
    ) -> Result<Node, Diagnostic> {
        let open = open || self.is_open;
        let mut reader = SchemaReader::new(rules, &self.schema, "answer", &free_texts.answer, open);
        let style = Style { inside: is_json, ..Style::json() }.with_space(strict_space);
        let node = reader.value(&Schema::new(&self.schema, String::new()), &style, "answer");
        let own = std::mem::take(&mut reader.notes);
        let native = native::json_schema(&self.schema, &style, open, rules, &free_texts.answer);
        let failed = |path: &str, message: &str| {
            wrong(&format!("{}{path}", self.place), &format!("cannot be written: {message}"))
        };
        let node = node.map_err(|problem| failed(&problem.path, &problem.message))?;
        if node.is_never() {
            return Err(failed("", "nothing satisfies this schema"));
        }
        notes.extend(own.into_iter().map(|note| {
            let path = note.path.map(|path| format!("{}{path}", self.place));
            Note { tool: None, path, ..note }
        }));
        Ok(rules.add_native("answer", node, native))
    }
}
