//! The `json` format: one object with the version of its shape; absent parts of a diagnostic have no key.

use crate::diagnostic::{Diagnostic, Edit, Place};
use crate::json::{Object, Value};

/// One object: the version of this shape, and the diagnostics, one on each line.
pub(super) fn render(diagnostics: &[Diagnostic]) -> String {
    let lines: Vec<_> = diagnostics.iter().map(|diagnostic| format!("\n  {}", to_value(diagnostic))).collect();
    format!("{{\"schema\": 1, \"diagnostics\": [{}\n]}}\n", lines.join(","))
}

/// A diagnostic as JSON; absent parts have no key.
pub(in crate::diagnostic) fn to_value(diagnostic: &Diagnostic) -> Value {
    let mut out = Object::from([
        ("id", diagnostic.id.into()),
        ("severity", diagnostic.severity.name().into()),
        ("message", diagnostic.message.as_str().into()),
    ]);
    if let Some(place) = &diagnostic.place {
        add_place(&mut out, place);
    }
    if !diagnostic.labels.is_empty() {
        let labels = diagnostic.labels.iter().map(|label| {
            let mut out = Object::from([("message", label.message.as_str().into())]);
            add_place(&mut out, &label.place);
            Value::Object(out)
        });
        out.insert("labels", Value::List(labels.collect()));
    }
    out.extend(diagnostic.help.as_deref().map(|help| ("help", help.into())));
    if let Some(fix) = &diagnostic.fix {
        let edits = fix.edits.iter().map(|Edit { span, text }| {
            Value::from([("span", list([span.start, span.end])), ("text", text.as_str().into())])
        });
        let fix = [("message", fix.message.as_str().into()), ("edits", Value::List(edits.collect()))];
        out.insert("fix", Value::from(fix));
    }
    Value::Object(out)
}

fn add_place(out: &mut Object, place: &Place) {
    out.extend(place.file.as_deref().map(|file| ("file", file.into())));
    if let Some((line, column)) = place.line_column {
        out.extend([("line", line.into()), ("column", column.into())]);
    }
    out.extend(place.span.as_ref().map(|span| ("span", list([span.start, span.end]))));
    out.extend(place.path.as_deref().map(|path| ("path", path.into())));
}

fn list<const N: usize>(numbers: [usize; N]) -> Value {
    Value::List(numbers.map(Value::from).to_vec())
}
