//! An output parsed with a template: its segments, its message, and the markup for stepping through it.

use backchat::json::Value;
use backchat::parser::Mode;
use backchat::template::source::Opened;
use backchat_core::json;
use backchat_parser::parser::Chunks;
use backchat_parser::template::source;
use backchat_workbench::replay::Side;
use backchat_workbench::replay::{Kind, Outcome, Recording, Run, Segment};
use backchat_workbench::report::{Output, fragment};

use crate::inspection::FILE;
use crate::request::{count, tools};
use backchat_core::text::Utf16Offsets;

fn open(text: &str) -> Option<Opened> {
    source::from_text(FILE.to_owned(), text.to_owned()).ok()
}

pub fn read(template_text: &str, prefix: &str, output: &str, tools_text: Option<&str>) -> Value {
    let Some(opened) = open(template_text) else { return Value::Null };
    let template = &opened.loaded.template;
    let run = Run { template, prefix, mode: Mode::Stable, tools: tools(tools_text), recovery: Default::default() };
    let Ok(recording) = Recording::new(&run, [output]) else { return Value::Null };
    let start = recording.output_start();
    let end = recording.text().len();
    let mut offsets = Utf16Offsets::of(output);
    let mut runs = Vec::new();
    for (span, segment) in recording.segments(recording.end(), start..end) {
        runs.push(count(offsets.at(span.end.saturating_sub(start))));
        runs.push(count(code(segment)));
    }
    let fields = template.fields().iter().map(|field| field.name.as_str().into());
    Value::from([
        ("fields", Value::List(fields.collect())),
        ("places", Value::List(places(&opened, template_text))),
        ("runs", Value::List(runs)),
        ("message", Value::Object(recording.message(recording.end())).to_pretty("  ").into()),
        ("problems", Value::List(problems(&recording).into_iter().map(Value::from).collect())),
    ])
}

/// The line of each field in the text of its template, and the UTF-16 offsets of its name.
fn places(opened: &Opened, text: &str) -> Vec<Value> {
    let Ok((_, places)) = json::read_with_places(text) else { return Vec::new() };
    let fields = opened.path.key("fields");
    let place = |name: &str| {
        let key = places.at(&fields.key(name))?.key.clone()?;
        let line = 1 + text.get(..key.start)?.matches('\n').count();
        let mut offsets = Utf16Offsets::of(text);
        let span = vec![count(offsets.at(key.start)), count(offsets.at(key.end))];
        Some(Value::from([("line", count(line)), ("span", Value::List(span))]))
    };
    let fields = opened.loaded.template.fields().iter();
    fields.map(|field| place(&field.name).unwrap_or(Value::Null)).collect()
}

/// The kind of a segment as a number.
fn code(segment: Segment) -> usize {
    match segment {
        Segment::Prompt => 0,
        Segment::Body(field) => 2 + 2 * field,
        Segment::Delimiter(field) => 3 + 2 * field,
        _ => 1,
    }
}

/// The problems of an output as sentences.
fn problems(recording: &Recording) -> Vec<String> {
    let mut found = Vec::new();
    match recording.outcome() {
        Outcome::Failed(error) => found.push(error.to_string()),
        Outcome::Finished { missing } if !missing.is_empty() => {
            found.push(format!("required fields are absent: {}", missing.join(", ")));
        }
        _ => {}
    }
    for index in 0..recording.event_count() {
        if let Some(event) = recording.event(index)
            && event.kind == Kind::Malformed
            && let Some(Err(reason)) = event.value
        {
            found.push(format!("`{}` could not be parsed: {reason}", recording.field_name(event.field)));
        }
    }
    found.extend_from_slice(recording.doubts());
    found
}

pub fn steps(template_text: &str, prefix: &str, output: &str, tools_text: Option<&str>) -> Option<String> {
    let template = open(template_text)?.loaded.template;
    let tools = tools(tools_text);
    let run =
        Run { template: &template, prefix, mode: Mode::Stable, tools: tools.clone(), recovery: Default::default() };
    let recording = Recording::new(&run, Chunks::Every(1).split(output)).ok()?;
    Some(fragment(&Output { name: String::new(), sides: vec![Side::new("", recording)], expected: None, tools }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = r#"{"start_anchor": "<bot>", "fields": {
        "thought": {"open": "<t>", "close": "</t>"},
        "calls": {"open": "<call>", "close": "</call>", "content": "json"},
        "content": {}}}"#;

    #[test]
    fn segments_end_at_utf16_offsets() {
        let read = read(TEMPLATE, "<bot>", "<t>🚆</t>Yé", None);
        assert_eq!(read.get("runs").unwrap().to_string(), "[3, 3, 5, 2, 9, 3, 11, 6]");
        let message = read.get("message").and_then(Value::as_str).unwrap();
        assert!(message.contains("\"thought\": \"🚆\""), "{message}");
    }

    #[test]
    fn malformed_regions_and_lost_text_are_problems() {
        for (output, problem) in [
            ("<call>{</call>", "`calls` could not be parsed: "),
            (
                "<t>a</t><t>b</t>Yes",
                "`thought` occurred more than once: the last region replaced an earlier value, \"a\"",
            ),
        ] {
            let read = read(TEMPLATE, "<bot>", output, None);
            let problems = read.get("problems").and_then(Value::as_list).unwrap();
            assert!(problems[0].as_str().unwrap().starts_with(problem), "{problems:?}");
        }
    }

    #[test]
    fn steps_are_markup_with_escaped_text() {
        let html = steps(TEMPLATE, "<bot>", "<t><b>", None).unwrap();
        assert!(html.contains("data-step") && !html.contains("<b>"), "{html}");
        assert_eq!(steps("{", "", "", None), None);
    }
}
