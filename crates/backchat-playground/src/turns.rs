//! The turns that a chat template writes, and which of its lines print their delimiters.

use std::collections::BTreeSet;

use backchat::Template;
use backchat::chat::{ChatTemplate, Origin};
use backchat::json::Value;
use backchat::parser::Mode;
use backchat_derive::derive::{self, ReadableTurn};
use backchat_parser::template::source;
use backchat_workbench::replay::{Recording, Run, Segment};

use crate::inspection::FILE;
use crate::request::{count, maybe, options};

pub fn turns(chat_template: &str, template_text: &str, variables: Option<&str>) -> Value {
    let Ok(opened) = source::from_text(FILE.to_owned(), template_text.to_owned()) else { return Value::Null };
    let template = &opened.loaded.template;
    let Ok(turns) = derive::readable_turns(chat_template, template, &options(variables)) else { return Value::Null };
    let shown = turns.turns.iter().map(|turn| {
        let prefix = turn.prefix.as_str().into();
        Value::from([("name", turn.name.into()), ("prefix", prefix), ("output", output(turn).into())])
    });
    Value::from([
        ("tools", maybe(turns.tools.as_ref().map(|tools| tools.to_pretty("  ")).as_deref())),
        ("turns", Value::List(shown.collect())),
        ("writers", writers(chat_template, template, &turns.turns)),
    ])
}

/// The model's text of a turn, with its stop token.
fn output(turn: &ReadableTurn) -> String {
    format!("{}{}", turn.output, turn.stop.as_deref().unwrap_or(""))
}

/// A text that opens or closes a field in turns of the chat template, and the lines that print it.
struct Writer<'t> {
    field: &'t str,
    closes: bool,
    text: String,
    lines: BTreeSet<usize>,
}

/// The delimiters that a response template finds in turns, each text once, with the lines of the chat template that print
/// it.
fn writers(chat_template: &str, template: &Template, turns: &[ReadableTurn]) -> Value {
    let source = ChatTemplate::normalize(chat_template);
    let mut writers: Vec<Writer<'_>> = Vec::new();
    for turn in turns {
        let output = output(turn);
        for (field, closes, start, end) in delimiters(template, &turn.prefix, &output) {
            let Some(name) = template.fields().get(field).map(|field| field.name.as_str()) else { continue };
            let text = output.get(start..end).unwrap_or_default().trim();
            let said = |origin: &&Origin| {
                let inside = origin.text.start.max(start)..origin.text.end.min(end);
                output.get(inside).is_some_and(|text| !text.trim().is_empty())
            };
            let lines = turn.origins.iter().filter(said).map(|origin| line(&source, origin.source.start));
            let known =
                |writer: &&mut Writer<'_>| writer.field == name && writer.closes == closes && writer.text == text;
            match writers.iter_mut().find(known) {
                Some(writer) => writer.lines.extend(lines),
                None => {
                    writers.push(Writer { field: name, closes, text: text.to_owned(), lines: lines.collect() });
                }
            }
        }
    }
    writers.retain(|writer| !writer.text.is_empty() && !writer.lines.is_empty());
    let shown = writers.into_iter().map(|Writer { field, closes, text, lines }| {
        Value::from([
            ("field", field.into()),
            ("closes", closes.into()),
            ("text", text.into()),
            ("lines", Value::List(lines.into_iter().map(count).collect())),
        ])
    });
    Value::List(shown.collect())
}

/// The delimiters in an output: the field of each, whether it follows text of that field, and its bytes.
fn delimiters(template: &Template, prefix: &str, output: &str) -> Vec<(usize, bool, usize, usize)> {
    let run = Run { template, prefix, mode: Mode::Stable, tools: None, recovery: Default::default() };
    let Ok(recording) = Recording::new(&run, [output]) else { return Vec::new() };
    let origin = recording.output_start();
    let mut before = None;
    let mut found = Vec::new();
    for (span, segment) in recording.segments(recording.end(), origin..recording.text().len()) {
        if let Segment::Delimiter(field) = segment {
            found.push((field, before == Some(Segment::Body(field)), span.start - origin, span.end - origin));
        }
        before = Some(segment);
    }
    found
}

/// The line of a byte, counted from 1.
fn line(source: &str, byte: usize) -> usize {
    1 + source.get(..byte).unwrap_or(source).matches('\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_have_the_lines_that_print_them() {
        let source = "{% for m in messages %}\n<{{ m.role }}>\n{% if m.thinking %}\n{{ '<t>' + m.thinking }}\n</t>\n\
                      {% endif %}{{ m.content }}<end>\n{% endfor %}\n{% if add_generation_prompt %}<assistant>\n{% endif %}";
        let derived = crate::derivation::derive(source, None);
        let draft = derived.get("template").and_then(Value::as_str).unwrap();
        let turns = turns(source, draft, None);
        assert!(turns.get("turns").and_then(Value::as_list).is_some_and(|turns| turns.len() > 2));
        let writers = turns.get("writers").and_then(Value::as_list).unwrap();
        let line = |text: &str| {
            let writer = writers.iter().find(|writer| writer.get("text").and_then(Value::as_str) == Some(text));
            writer.and_then(|writer| writer.get("lines")).map(Value::to_string)
        };
        assert_eq!(line("<t>").as_deref(), Some("[4]"), "{turns}");
        assert_eq!(line("</t>").as_deref(), Some("[5]"), "{turns}");
        assert_eq!(line("<end>").as_deref(), Some("[6]"), "{turns}");
    }

    #[test]
    fn without_a_template_that_loads_there_are_no_turns() {
        assert_eq!(turns("{{ messages }}", "{", None), Value::Null);
        assert_eq!(turns("{% if", r#"{"fields": {"content": {}}}"#, None), Value::Null);
    }
}
