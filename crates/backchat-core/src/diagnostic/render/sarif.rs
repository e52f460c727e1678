//! The `sarif` format: a SARIF 2.1.0 log with one run and one rule for each id that occurs.

use std::ops::Range;

use crate::diagnostic::{Diagnostic, Fix, Place, Sources, line_column};
use crate::json::{Object, Value};
use crate::text::uri_path;

/// A SARIF 2.1.0 log with one run.
pub(super) fn render(diagnostics: &[Diagnostic], sources: &Sources) -> String {
    let mut ids: Vec<_> = diagnostics.iter().map(|diagnostic| diagnostic.id).collect();
    ids.sort_unstable();
    ids.dedup();
    let rules = ids.iter().map(|id| Value::from([("id", (*id).into())])).collect();
    let driver = Value::from([
        ("name", "backchat".into()),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("rules", Value::List(rules)),
    ]);
    let results = diagnostics.iter().map(|diagnostic| result(diagnostic, sources)).collect();
    let run = Value::from([
        ("tool", Value::from([("driver", driver)])),
        ("columnKind", "unicodeCodePoints".into()),
        ("results", Value::List(results)),
    ]);
    let log = Value::from([
        ("$schema", "https://json.schemastore.org/sarif-2.1.0.json".into()),
        ("version", "2.1.0".into()),
        ("runs", Value::List(vec![run])),
    ]);
    log.to_pretty("  ") + "\n"
}

fn result(diagnostic: &Diagnostic, sources: &Sources) -> Value {
    let text = match &diagnostic.help {
        Some(help) => format!("{}. Help: {help}", diagnostic.message),
        None => diagnostic.message.clone(),
    };
    let mut out = Object::from([
        ("ruleId", diagnostic.id.into()),
        ("level", diagnostic.severity.name().into()),
        ("message", message(&text)),
    ]);
    if let Some(place) = &diagnostic.place {
        out.insert("locations", Value::List(vec![Value::Object(location(place, sources))]));
    }
    if !diagnostic.labels.is_empty() {
        let related = diagnostic.labels.iter().map(|label| {
            let mut location = location(&label.place, sources);
            location.insert("message", message(&label.message));
            Value::Object(location)
        });
        out.insert("relatedLocations", Value::List(related.collect()));
    }
    let fix = diagnostic.place.as_ref().zip(diagnostic.fix.as_ref());
    if let Some(fix) = fix.and_then(|(place, fix)| to_fix(fix, place, sources)) {
        out.insert("fixes", Value::List(vec![fix]));
    }
    Value::Object(out)
}

fn message(text: &str) -> Value {
    Value::from([("text", text.into())])
}

fn location(place: &Place, sources: &Sources) -> Object {
    let mut out = Object::new();
    if let Some(file) = &place.file {
        let mut physical = Object::from([("artifactLocation", artifact(file))]);
        let text = sources.text(place.file.as_deref());
        let region = match (text, &place.span, place.line_column) {
            (Some(text), Some(span), _) => Some(region(text, span)),
            (_, _, Some((line, column))) => {
                Some(Value::from([("startLine", line.into()), ("startColumn", column.into())]))
            }
            _ => None,
        };
        physical.extend(region.map(|region| ("region", region)));
        out.insert("physicalLocation", Value::Object(physical));
    }
    if let Some(path) = &place.path {
        let logical = Value::from([("fullyQualifiedName", path.as_str().into())]);
        out.insert("logicalLocations", Value::List(vec![logical]));
    }
    out
}

fn region(text: &str, span: &Range<usize>) -> Value {
    let (start_line, start_column) = line_column(text, span.start);
    let (end_line, end_column) = line_column(text, span.end);
    Value::from([
        ("startLine", start_line.into()),
        ("startColumn", start_column.into()),
        ("endLine", end_line.into()),
        ("endColumn", end_column.into()),
    ])
}

fn to_fix(fix: &Fix, place: &Place, sources: &Sources) -> Option<Value> {
    let file = place.file.as_deref()?;
    let text = sources.text(Some(file))?;
    let replacements = fix.edits.iter().map(|edit| {
        Value::from([("deletedRegion", region(text, &edit.span)), ("insertedContent", message(&edit.text))])
    });
    let change =
        Value::from([("artifactLocation", artifact(file)), ("replacements", Value::List(replacements.collect()))]);
    Some(Value::from([("description", message(&fix.message)), ("artifactChanges", Value::List(vec![change]))]))
}

/// A file name as a URI reference.
fn artifact(file: &str) -> Value {
    Value::from([("uri", uri_path(&file.replace('\\', "/")).into())])
}
