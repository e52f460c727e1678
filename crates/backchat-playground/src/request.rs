//! Conversions for callers: variables and tools from JSON, diagnostics to plain values.

use std::sync::Arc;

use backchat::derive::Options;
use backchat::diagnostic::Diagnostic;
use backchat::json::{self, Object, Value};
use backchat::parser::Tools;
use backchat_derive::derive::with_variable_fields;
use backchat_workbench::answers::NOW;

use backchat_core::text::Utf16Offsets;

/// The options of a derivation with these variables.
pub fn options(variables: Option<&str>) -> Options {
    let variables = match variables.map(json::read) {
        Some(Ok(Value::Object(variables))) => variables,
        _ => Object::new(),
    };
    with_variable_fields(Options::default().variables(variables).now(NOW.to_owned()))
}

/// The tools of a request; `None` if there are none, or if they are invalid.
pub fn tools(text: Option<&str>) -> Option<Arc<Tools>> {
    Tools::new(&json::read(text?).ok()?).ok().map(Arc::new)
}

/// A diagnostic, with its position if it is about a text.
pub fn note(diagnostic: &Diagnostic, text: Option<&str>) -> Value {
    let place = diagnostic.place.as_ref();
    let span = text.and_then(|text| {
        let span = place?.span.as_ref()?;
        let mut offsets = Utf16Offsets::of(text);
        Some(Value::List(vec![count(offsets.at(span.start)), count(offsets.at(span.end))]))
    });
    let fix =
        diagnostic.fix.as_ref().zip(text).map(|(fix, text)| {
            Value::from([("message", fix.message.as_str().into()), ("text", fix.apply(text).into())])
        });
    Value::from([
        ("severity", diagnostic.severity.name().into()),
        ("id", diagnostic.id.into()),
        ("message", diagnostic.message.as_str().into()),
        ("help", maybe(diagnostic.help.as_deref())),
        ("span", span.unwrap_or(Value::Null)),
        ("line", place.and_then(|place| place.line_column).map_or(Value::Null, |(line, _)| count(line))),
        ("fix", fix.unwrap_or(Value::Null)),
    ])
}

pub fn notes<'d>(diagnostics: impl IntoIterator<Item = &'d Diagnostic>, text: Option<&str>) -> Value {
    Value::List(diagnostics.into_iter().map(|diagnostic| note(diagnostic, text)).collect())
}

pub fn maybe(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::from)
}

pub fn count(number: usize) -> Value {
    Value::from(i64::try_from(number).unwrap_or(i64::MAX))
}
