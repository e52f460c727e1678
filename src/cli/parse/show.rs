//! What a person sees: the message set in and coloured, the events as a table.

use std::fmt::Write;

use super::answer::Recording;
use super::row::RowError;
use crate::diagnostic::{self, Diagnostic, Place, escape};
use crate::json::{Object, Value};
use crate::parser::{Event, Mode, Span};

const RESET: &str = "\x1b[0m";
const KEY: &str = "\x1b[36m";
const STRING: &str = "\x1b[32m";
const NUMBER: &str = "\x1b[33m";
const WORD: &str = "\x1b[35m";
const QUIET: &str = "\x1b[2m";
const STEP: &str = "\x1b[1m";
const BAD: &str = "\x1b[31m";

/// The message as JSON over several lines, safe to print.
pub fn message(message: &Object, colour: bool) -> String {
    let mut out = String::new();
    let mut pen = Pen { out: &mut out, colour };
    pen.object(message, 0);
    out
}

struct Pen<'o> {
    out: &'o mut String,
    colour: bool,
}

impl Pen<'_> {
    fn painted(&mut self, colour: &str, text: &str) {
        if self.colour && !colour.is_empty() && !text.is_empty() {
            self.out.extend([colour, text, RESET]);
        } else {
            self.out.push_str(text);
        }
    }

    fn value(&mut self, value: &Value, depth: usize) {
        match value {
            Value::Object(entries) => self.object(entries, depth),
            Value::List(items) if items.is_empty() => self.out.push_str("[]"),
            Value::List(items) => {
                self.out.push('[');
                for (index, item) in items.iter().enumerate() {
                    self.next_line(index > 0, depth + 1);
                    self.value(item, depth + 1);
                }
                self.next_line(false, depth);
                self.out.push(']');
            }
            Value::String(text) => self.painted(STRING, &quoted(text)),
            Value::Number(_) => self.painted(NUMBER, &value.to_string()),
            Value::Null | Value::Bool(_) => self.painted(WORD, &value.to_string()),
        }
    }

    fn object(&mut self, entries: &Object, depth: usize) {
        if entries.is_empty() {
            return self.out.push_str("{}");
        }
        self.out.push('{');
        for (index, (key, value)) in entries.iter().enumerate() {
            self.next_line(index > 0, depth + 1);
            self.painted(KEY, &quoted(key));
            self.out.push_str(": ");
            self.value(value, depth + 1);
        }
        self.next_line(false, depth);
        self.out.push('}');
    }

    fn next_line(&mut self, comma: bool, depth: usize) {
        self.out.push_str(if comma { ",\n" } else { "\n" });
        self.out.extend(std::iter::repeat_n("  ", depth));
    }
}

/// A string of JSON in which nothing is left that a terminal would obey.
fn quoted(text: &str) -> String {
    let json = Value::from(text).to_string();
    if escape(&json) == json {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if escape(c.encode_utf8(&mut [0; 4])).len() == c.len_utf8() {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}

/// The longest text that a line of the table shows.
const WIDTH: usize = 60;

/// The events as a table: each feed, what it brought, and what is held back after it.
pub fn events(recording: &Recording, prefix: &str, feeds: &[&str], spans: bool, colour: bool) -> String {
    let mut out = String::new();
    let mut table = Table { pen: Pen { out: &mut out, colour }, field_width: field_width(recording), spans };
    table.heading();
    if !prefix.is_empty() {
        table.step("prompt", &tail(prefix));
        table.events(&recording.initial);
    }
    let mut come = prefix.get(prefix.len() - recording.prefix_length..).unwrap_or("").to_owned();
    for (number, feed) in feeds.iter().enumerate() {
        let Some(events) = recording.feeds.get(number) else { break };
        come.push_str(feed);
        table.step(&format!("feed {}", number + 1), &excerpt(feed));
        table.events(events);
        let held = recording.held.get(number).and_then(|held| Some((held, come.get(held.start..)?)));
        if let Some((held, text)) = held.filter(|(_, text)| !text.is_empty()) {
            table.line("held", &held.field, &format!("{}  {}", excerpt(text), held.why), QUIET);
        }
    }
    if let Some(last) = &recording.last {
        table.step("end", "");
        table.events(last);
    }
    out
}

fn field_width(recording: &Recording) -> usize {
    let all = recording.feeds.iter().flatten().chain(&recording.initial).chain(recording.last.iter().flatten());
    let held = recording.held.iter().map(|held| held.field.chars().count());
    all.map(|event| event.field().chars().count()).chain(held).chain(["FIELD".len()]).max().unwrap_or(0)
}

struct Table<'o> {
    pen: Pen<'o>,
    field_width: usize,
    /// Whether each event shows where it is.
    spans: bool,
}

impl Table<'_> {
    fn heading(&mut self) {
        let width = self.field_width;
        self.pen.painted(QUIET, &format!("{:<10}{:<10}{:<width$}  TEXT", "STEP", "EVENT", "FIELD"));
        self.pen.out.push('\n');
    }

    fn step(&mut self, name: &str, text: &str) {
        let line = format!("{name:<10}{text}");
        self.pen.painted(STEP, line.trim_end());
        self.pen.out.push('\n');
    }

    fn line(&mut self, what: &str, field: &str, text: &str, colour: &str) {
        let line = format!("{:10}{what:<10}{:<width$}  {text}", "", escape(field), width = self.field_width);
        self.pen.painted(colour, line.trim_end());
        self.pen.out.push('\n');
    }

    /// A text, and before it where it is, if that is asked for.
    fn at(&self, span: &Span, text: &str) -> String {
        if self.spans { format!("{}..{}  {text}", span.start, span.end) } else { text.to_owned() }
    }

    fn events(&mut self, events: &[Event]) {
        for event in events {
            match event {
                Event::Open { field, span, captures } => {
                    let captures = captures.iter().filter(|_| self.spans);
                    let captures =
                        captures.map(|capture| format!("{}={}", escape(&capture.name), excerpt(&capture.text)));
                    let captures: Vec<String> = captures.collect();
                    self.line("open", field, &self.at(span, &captures.join(" ")), KEY);
                }
                Event::Chunk { field, text, dirty, span } => {
                    self.line(if *dirty { "raw" } else { "chunk" }, field, &self.at(span, &excerpt(text)), "");
                }
                Event::Close { field, value, span, .. } => {
                    self.line("close", field, &self.at(span, &shortened(&value.to_string())), STRING);
                }
                Event::Malformed { field, reason, span, .. } => {
                    self.line("malformed", field, &self.at(span, &escape(reason)), BAD);
                }
                // The command does not ask for growing calls.
                Event::CallStart { .. } | Event::CallArguments { .. } => {}
            }
        }
    }
}

/// The text between quotes, safe to print, cut where it is long.
fn excerpt(text: &str) -> String {
    let end = text.char_indices().nth(WIDTH).map_or(text.len(), |(at, _)| at);
    let shown = quoted(text.get(..end).unwrap_or(text));
    if end < text.len() { format!("{shown} … {} characters", text.chars().count()) } else { shown }
}

/// The end of a long text between quotes, safe to print.
fn tail(text: &str) -> String {
    match text.char_indices().nth_back(WIDTH) {
        Some((at, c)) => format!("… {}", quoted(text.get(at + c.len_utf8()..).unwrap_or(text))),
        None => quoted(text),
    }
}

fn shortened(json: &str) -> String {
    diagnostic::shortened(&escape(json), WIDTH).into_owned()
}

/// What is to be said of the regions that gave no value. `text` is the output, from the file of that name.
pub fn malformed(recording: &Recording, text: &str, file: &str) -> Vec<Diagnostic> {
    let all = recording.initial.iter().chain(recording.feeds.iter().flatten()).chain(recording.last.iter().flatten());
    let told = all.filter_map(|event| match event {
        Event::Malformed { field, text: raw, reason, body, .. } => Some(
            Diagnostic::warning("malformed-region", format!("a region of `{field}` gives no value: {reason}"))
                .at(place(body, recording.prefix_length, text).in_file(file))
                .help(format!("its text, {}, is not in the message", excerpt(raw))),
        ),
        _ => None,
    });
    told.collect()
}

/// Where a stretch stands in the output; nowhere where it begins in the prompt.
fn place(stretch: &Span, prefix_length: usize, text: &str) -> Place {
    match (stretch.start.checked_sub(prefix_length), stretch.end.checked_sub(prefix_length)) {
        (Some(start), Some(end)) => Place::span(text, start..end),
        _ => Place::default(),
    }
}

/// What is to be said of a parse that failed.
pub fn failed(error: &RowError, mode: Mode, file: &str) -> Diagnostic {
    let told =
        Diagnostic::error("parse-failed", format!("at {}: {}", error.stage, error.message)).at(Place::file(file));
    match mode {
        Mode::Reference => {
            told.help("transformers raises here; in stable mode parsing goes on, and what is wrong is told")
        }
        Mode::Stable => told,
    }
}

/// What is to be said of a note of the parser's.
pub fn doubtful(note: &str, file: &str) -> Diagnostic {
    Diagnostic::warning("doubtful-answer", escape(note).into_owned()).at(Place::file(file))
}

/// What is to be said of a required field that is not there.
pub fn missing(field: &str, file: &str) -> Diagnostic {
    Diagnostic::warning("missing-field", format!("the required field `{field}` is missing from the output"))
        .at(Place::file(file))
        .help("compare the output with what opens the field; a field that may be absent is `\"optional\": true`")
}

#[cfg(test)]
mod tests {
    use super::super::answer::{self, Asked};
    use super::*;
    use crate::json;

    #[test]
    fn a_message_is_set_in_and_safe_to_print() {
        let value = json::read(r#"{"content": "a\u001b[31m\u202e", "n": [1.50, null], "e": {}, "l": []}"#).unwrap();
        let shown = message(value.as_object().unwrap(), false);
        insta::assert_snapshot!(shown, @r#"
        {
          "content": "a\u001b[31m\u202e",
          "n": [
            1.50,
            null
          ],
          "e": {},
          "l": []
        }
        "#);
        assert_eq!(json::read(&shown).unwrap(), value, "it is still the same JSON");
        let coloured = message(value.as_object().unwrap(), true);
        assert!(coloured.contains("\x1b[36m\"content\"\x1b[0m: \x1b[32m\"a\\u001b[31m\\u202e\"\x1b[0m"));
    }

    #[test]
    fn the_table_shows_what_each_feed_brought_and_what_is_held() {
        let template =
            r#"{"start_anchor": "<bot>", "fields": {"thought": {"open": "<t>", "close": "</t>"}, "content": {}}}"#;
        let template = crate::template::Template::load(template).unwrap().template;
        let feeds = ["a\u{1b}b", "</", "t>Hello <", "b>"];
        let mut recording = Recording::default();
        let prefix = "<user>Hi<bot><t>";
        answer::parse(&template, prefix, feeds.into_iter(), &Asked::default(), None, Some(&mut recording)).unwrap();
        insta::assert_snapshot!(events(&recording, prefix, &feeds, false, false), @r#"
        STEP      EVENT     FIELD    TEXT
        prompt    "<user>Hi<bot><t>"
                  open      thought
        feed 1    "a\u001bb"
                  chunk     thought  "a\u001bb"
        feed 2    "</"
                  held      thought  "</"  may close it
        feed 3    "t>Hello <"
                  close     thought  "a\u001bb"
                  open      content
                  chunk     content  "Hello "
                  held      thought  "<"  may open it
        feed 4    "b>"
                  chunk     content  "<b>"
        end
                  close     content  "Hello <b>"
        "#);
    }
}
