//! Reads `response_format`, the format of the answer.

use std::borrow::Cow;

use super::tools::is_loose;
use backchat_core::diagnostic::Diagnostic;
use backchat_core::json::Value;

/// The schema of JSON content.
#[derive(Clone, Debug)]
pub(crate) struct AnswerFormat<'r> {
    pub schema: Cow<'r, Value>,
    /// Whether an absent `additionalProperties` allows any member.
    pub is_open: bool,
    /// The JSON pointer of the schema in the request.
    pub place: String,
}

/// A problem of the format at this place of the request.
pub(crate) fn wrong(place: &str, message: &str) -> Diagnostic {
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
        let is_open = is_loose(own).map_err(|why| wrong(&format!("{place}/strict"), &why.to_string()))?;
        Ok(Some(Self { schema, is_open, place: format!("{place}/schema") }))
    }
}
