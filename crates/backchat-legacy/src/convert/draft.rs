//! Response templates for a plan: equivalent candidates in different styles.

use super::calls::Body;
use super::marks::Mark;
use super::plan::{CallField, Plan, TextField};
use backchat_core::json::{Object, Value};
use backchat_parser::template::TAGGED;

/// One way to write the template.
#[derive(Clone, Debug)]
pub(super) struct Style {
    /// Whether text without a marker counts only at the start, or after another field, where the schema expects it.
    pub positional: bool,
    /// Whether a field whose opener is optional begins without it.
    pub headless: bool,
    /// The end of the turn, in addition to the markers of the schema.
    pub stops: Vec<Mark>,
}

/// All styles, the simplest first.
pub(super) fn styles(plan: &Plan, stops: &[Mark]) -> Vec<Style> {
    let stop_sets = if stops.is_empty() { vec![Vec::new()] } else { vec![Vec::new(), stops.to_vec()] };
    let has_headless = plan.texts.iter().any(|field| field.context.open_optional && !field.is_implicit());
    let mut styles = Vec::new();
    for positional in [false, true] {
        for headless in [false, true] {
            if headless && !has_headless || positional && implicit(plan).is_none() {
                continue;
            }
            styles.extend(stop_sets.iter().map(|stops| Style { positional, headless, stops: stops.clone() }));
        }
    }
    styles
}

/// The field that takes the text outside all others: `content`, or else the first implicit one.
pub(super) fn implicit(plan: &Plan) -> Option<&TextField> {
    let mut fields = plan.texts.iter().filter(|field| field.is_implicit());
    fields.clone().find(|field| field.name == "content").or_else(|| fields.next())
}

pub(super) fn draft(plan: &Plan, anchor: &(&'static str, Value), style: &Style) -> Value {
    let implicit = implicit(plan).map(|field| field.name.as_str());
    let mut fields = Object::new();
    for field in plan.texts.iter().filter(|field| !field.is_implicit()) {
        fields.insert(field.name.clone(), explicit(field, style));
    }
    if let Some(field) = &plan.calls {
        fields.insert(field.name.clone(), calls(field));
    }
    for field in plan.texts.iter().filter(|field| implicit == Some(&field.name)) {
        fields.insert(field.name.clone(), outside(plan, field, style));
    }
    let mut template = Object::new();
    template.insert("version", 1_i64.into());
    if !plan.defaults.is_empty() {
        template.insert("defaults", plan.defaults.clone().into());
    }
    template.insert(anchor.0, anchor.1.clone());
    template.insert("fields", fields.into());
    Value::Object(template)
}

/// Writes markers as the value of `open` or `close`, or else as a pattern.
fn delimiter(entries: &mut Object, name: &str, marks: &[Mark]) {
    let literals: Option<Vec<Value>> = marks
        .iter()
        .map(|mark| match mark {
            Mark::Literal(text) => Some(text.as_str().into()),
            Mark::Pattern { .. } => None,
        })
        .collect();
    match literals {
        Some(literals) if literals.is_empty() => {}
        Some(literals) => {
            let value = <[Value; 1]>::try_from(literals).map_or_else(Value::List, |[literal]| literal);
            entries.insert(name, value);
        }
        None => {
            entries.insert(format!("{name}_pattern"), either(marks).into());
        }
    }
}

/// A pattern that matches any of the markers.
fn either(marks: &[Mark]) -> String {
    let sources: Vec<String> = marks.iter().map(Mark::source).collect();
    match sources.as_slice() {
        [one] => one.clone(),
        several => format!("(?:{})", several.join("|")),
    }
}

/// A pattern of the markers and the white space after them.
fn swallowing(marks: &[Mark]) -> String {
    either(marks) + r"\s*"
}

/// Writes whether a field is required, and how its content is read.
fn kind(entries: &mut Object, required: bool, parser: Option<&str>, args: Value) {
    if required {
        entries.insert("optional", false.into());
    }
    entries.extend(parser.map(|parser| ("content", parser.into())));
    if !args.is_null() {
        entries.insert("content_args", args);
    }
}

fn kind_of_text(entries: &mut Object, field: &TextField) {
    let (parser, args) = field.content.clone().unzip();
    kind(entries, field.required, parser, args.unwrap_or_default());
}

fn closes(field: &TextField, style: &Style) -> Vec<Mark> {
    let mut marks = field.closes();
    marks.extend(style.stops.iter().filter(|stop| !marks.contains(stop)).cloned().collect::<Vec<_>>());
    marks
}

fn explicit(field: &TextField, style: &Style) -> Value {
    let mut entries = Object::new();
    let marks = field.closes();
    if style.headless && field.context.open_optional && !marks.is_empty() {
        let (open, close) = (either(&field.opens()), either(&marks));
        entries.insert("open_pattern", format!(r"{open}|^(?=(?:(?!{open}).)*?{close})").into());
    } else {
        delimiter(&mut entries, "open", &field.opens());
    }
    let marks = if field.name == "content" { closes(field, style) } else { marks };
    delimiter(&mut entries, "close", &marks);
    kind_of_text(&mut entries, field);
    Value::Object(entries)
}

fn outside(plan: &Plan, field: &TextField, style: &Style) -> Value {
    let mut entries = Object::new();
    let marks = closes(field, style);
    if !style.positional {
        if !marks.is_empty() {
            entries.insert("close_pattern", swallowing(&marks).into());
        }
        kind_of_text(&mut entries, field);
        return Value::Object(entries);
    }
    let explicit = plan.texts.iter().filter(|other| !other.is_implicit());
    let (following, others): (Vec<&TextField>, Vec<&TextField>) = explicit.partition(|other| other.follows);
    let next: Vec<Mark> =
        following.iter().flat_map(|other| other.opens()).chain(plan.calls.iter().map(before_call)).collect();
    let mut not: Vec<Mark> = others.iter().flat_map(|other| other.opens()).collect();
    not.extend(next.iter().chain(&marks).cloned());
    if style.headless {
        let headless = others.iter().filter(|other| other.context.open_optional).flat_map(|other| other.closes());
        not.extend(headless.map(|close| Mark::unwritten(format!("(?:.*?{})", close.source()))));
    }
    let after: Vec<Mark> =
        others.iter().flat_map(|other| other.closes()).filter(|mark| matches!(mark, Mark::Literal(_))).collect();
    let start = match after.as_slice() {
        [] => "^".to_owned(),
        marks => {
            let behind: Vec<String> = marks.iter().map(|mark| format!("(?<={})", mark.source())).collect();
            format!("(?:^|{})", behind.join("|"))
        }
    };
    let not = if not.is_empty() { String::new() } else { format!("(?!{})", either(&not)) };
    entries.insert("open_pattern", format!(r"{start}\s*{not}(?=\S)").into());
    let mut ends: Vec<String> = Vec::new();
    if !marks.is_empty() {
        ends.push(swallowing(&marks));
    }
    ends.extend(next.iter().map(|mark| format!("(?={})", mark.source())));
    if !ends.is_empty() {
        entries.insert("close_pattern", ends.join("|").into());
    }
    kind_of_text(&mut entries, field);
    Value::Object(entries)
}

fn call_open(field: &CallField) -> String {
    let calls = &field.calls;
    let open = if calls.open.is_empty() { String::new() } else { either(&calls.open) };
    let open = match &calls.section {
        Some((section, _)) => format!(r"(?:{}\s*)?{open}", section.source()),
        None => open,
    };
    match &calls.header {
        // It skips the text before its first marker.
        Some(header) if open.is_empty() || header.starts_with(r"\s*") || header.starts_with("(?:(?!") => {
            format!("{open}{header}")
        }
        Some(header) => format!(r"{open}\s*{header}"),
        None => open,
    }
}

/// The marker that ends the text before a call: its literal markers, or else its whole opening without captures.
fn before_call(field: &CallField) -> Mark {
    Mark::unwritten(match field.calls.open.as_slice() {
        [] => uncaptured(&call_open(field)),
        marks => either(marks),
    })
}

/// A pattern without the names of its groups.
fn uncaptured(source: &str) -> String {
    let mut parts = source.split("(?P<");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |known, part| format!("{known}(?:{}", part.split_once('>').map_or(part, |(_, rest)| rest)))
}

fn calls(field: &CallField) -> Value {
    let calls = &field.calls;
    let mut entries = Object::new();
    match (&calls.header, &calls.section) {
        (None, None) => delimiter(&mut entries, "open", &calls.open),
        _ => {
            entries.insert("open_pattern", call_open(field).into());
        }
    }
    if !calls.close.is_empty() {
        let section = calls.section.as_ref().map(|(_, close)| format!(r"(?:{}\s*)?", close.source()));
        entries.insert("close_pattern", (swallowing(&calls.close) + &section.unwrap_or_default()).into());
    }
    if !calls.each {
        entries.insert("repeats", true.into());
    }
    let (parser, args) = match &calls.body {
        Body::Json(args) => (Some("json"), args.clone()),
        Body::Tags { pattern, value_parser } => {
            let mut args = Object::from([("tag_pattern", pattern.as_str().into())]);
            args.extend(value_parser.clone().map(|parser| ("value_parser", parser)));
            (Some(TAGGED), args.into())
        }
        Body::Text => (None, Value::from([("strip", false.into())])),
    };
    kind(&mut entries, field.required, parser, args);
    if let Some(shape) = &calls.shape {
        entries.insert("transform", shape.clone());
        if calls.each {
            entries.insert("transform_each", true.into());
        }
    }
    Value::Object(entries)
}
