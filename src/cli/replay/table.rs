//! The events of a recording, complete or arriving, as a text table.

use std::fmt::Write;

use backchat_core::diagnostic::{self, escape};
use backchat_core::json::{Object, Value};
use backchat_parser::parser::ProblemKind;
use backchat_workbench::replay::{
    Outcome, Recording, gives, longest_held, problem_in_words, shown, unread_marker, why_unclosed,
};

/// The longest text that a row shows, in characters.
const WIDTH: usize = 60;

/// One row for each event, with adjacent chunks of a region as one; between them the held text, and why it is held.
pub fn table(recording: &Recording, expected: Option<&Object>) -> String {
    let wrong =
        expected.filter(|expected| !gives(recording, expected)).map(|expected| recording.wrong_events(expected));
    let mut out = String::new();
    let mut table = Table::begin(recording, &mut out);
    table.wrong = wrong.unwrap_or_default();
    table.rows(recording, &mut out);
    table.end(recording, expected, &mut out);
    out
}

/// A table that is written incrementally. Each call continues where the previous one ended.
pub struct Table {
    name_width: usize,
    /// The events that are not as expected.
    wrong: Vec<usize>,
    /// The first event that is not in the table.
    event: usize,
    /// The first feed whose held text is not in it.
    feed: usize,
    offsets: Offsets,
}

impl Table {
    pub fn begin(recording: &Recording, out: &mut String) -> Self {
        let fields = recording.template().fields();
        let name_width = fields.iter().map(|field| escape(&field.name).chars().count()).chain([5]).max().unwrap_or(5);
        // Writing to a string does not fail.
        let _ = writeln!(out, "{:>6}  {:<10} {:<name_width$}  TEXT", "CHAR", "EVENT", "FIELD");
        Self { name_width, wrong: Vec::new(), event: 0, feed: 0, offsets: Offsets(0, recording.offset_of(0)) }
    }

    pub fn rows(&mut self, recording: &Recording, out: &mut String) {
        while let Some(event) = recording.event(self.event) {
            let events = self.event..recording.row(recording.row_of(self.event)).end;
            let last = events.end.saturating_sub(1);
            self.held(recording, recording.moment_of_event(events.start).feed, out);
            self.feed = recording.moment_of_event(last).feed;
            let text = shown(recording, events.clone());
            let text = if event.value.is_some() { shortened(&text) } else { excerpt(&text) };
            let at = self.offsets.next(recording, event.span.start);
            let (name, name_width) = (escape(recording.field_name(event.field)), self.name_width);
            let mark = if events.clone().any(|event| self.wrong.binary_search(&event).is_ok()) { "✗" } else { " " };
            let line = format!("{at:>6}{mark} {:<10} {name:<name_width$}  {text}", event.kind.short());
            let _ = writeln!(out, "{}", line.trim_end());
            self.event = events.end;
        }
    }

    /// Writes the longest text that was held in the feeds before this one, and why.
    pub fn held(&mut self, recording: &Recording, before: usize, out: &mut String) {
        let feeds = self.feed..before;
        self.feed = self.feed.max(before);
        let Some((moment, start)) = longest_held(recording, feeds) else { return };
        let at = self.offsets.next(recording, start);
        let why = recording.why(moment);
        let why = why.strip_prefix("holding ").unwrap_or(&why);
        let _ = writeln!(out, "{at:>6}  {:<10} {:<name_width$}  {why}", "held", "", name_width = self.name_width);
    }

    /// Writes what `parse` warns of.
    fn problems(&mut self, recording: &Recording, out: &mut String) {
        for problem in recording.problems() {
            let span = recording.problem_span(problem);
            let at = self.offsets.next(recording, span.start);
            let mut words = problem_in_words(problem);
            if let (ProblemKind::Unclosed, Some(field)) = (problem.kind, &problem.field) {
                let why = why_unclosed(recording.template(), field, recording.slice(span), problem.at_end);
                words.push_str(&format!(": {why}"));
            }
            let _ = writeln!(out, "{at:>6}  {:<10} {}", "problem", escape(&words));
        }
        if let Some(unread) = unread_marker(recording.template(), &recording.message(recording.end())) {
            let _ = writeln!(out, "{:>6}  {:<10} {}", "", "problem", escape(&unread.describe()));
        }
    }

    /// Writes how it ended, and the message.
    pub fn end(mut self, recording: &Recording, expected: Option<&Object>, out: &mut String) {
        self.held(recording, recording.before_end().feed + 1, out);
        self.problems(recording, out);
        let _ = writeln!(out, "{:>6}  {}", "end", escape(&ending(recording)));
        let _ = match expected {
            None => writeln!(out, "{:>6}  {}", "", shortened(&message(recording))),
            Some(expected) if gives(recording, expected) => {
                writeln!(out, "{:>6}  {}\n{:>6}  as expected", "", shortened(&message(recording)), "")
            }
            // Complete, as the difference may be anywhere.
            Some(expected) => {
                let expected = Value::Object(expected.clone()).to_string();
                writeln!(
                    out,
                    "{:>6}  gives:    {}\n{:>6}✗ expected: {}",
                    "",
                    escape(&message(recording)),
                    "",
                    escape(&expected)
                )
            }
        };
    }
}

/// The last byte that was looked up, and its character of the output. In ascending order, each lookup costs the
/// distance to the previous one, instead of to the beginning of the output.
struct Offsets(usize, isize);

impl Offsets {
    fn next(&mut self, recording: &Recording, byte: usize) -> isize {
        let Self(before, offset) = *self;
        let offset = match byte >= before {
            true => offset.saturating_add_unsigned(recording.slice(before..byte).chars().count()),
            false => recording.offset_of(byte),
        };
        *self = Self(byte, offset);
        offset
    }
}

fn ending(recording: &Recording) -> String {
    let end = recording.end();
    match recording.outcome() {
        Outcome::Failed(_) => recording.happened(end),
        _ => recording.why(end),
    }
}

fn message(recording: &Recording) -> String {
    Value::Object(recording.message(recording.end())).to_string()
}

fn excerpt(text: &str) -> String {
    if text.is_empty() { String::new() } else { shortened(&Value::from(text).to_string()) }
}

fn shortened(text: &str) -> String {
    diagnostic::shortened(&escape(text), WIDTH).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_parser::template::Template;
    use backchat_workbench::replay::{Growing, Run};

    #[test]
    fn an_unexpected_message_is_shown_in_full() {
        let template = r#"{"start_anchor": "<bot>", "fields": {"n": {"open": "<n>", "close": "</n>", "content": "int"},
            "content": {}}}"#;
        let template = Template::load(template).unwrap().template;
        let run = Run {
            template: &template,
            prefix: "<bot>",
            mode: Default::default(),
            tools: None,
            recovery: Default::default(),
        };
        let recording = Recording::new(&run, ["<n>3</n>ok"]).unwrap();
        let expected = [("n".to_owned(), "3".into()), ("content".to_owned(), "ok".into())].into_iter().collect();
        insta::assert_snapshot!(table(&recording, Some(&expected)), @r#"
          CHAR  EVENT      FIELD    TEXT
             0  open       n        "<n>"
             3  chunk      n        "3"
             4✗ close      n        3
             8  open       content
             8  chunk      content  "ok"
            10  close      content  "ok"
           end  the message is complete
                gives:    {"n": 3, "content": "ok"}
              ✗ expected: {"n": "3", "content": "ok"}
        "#);
    }

    #[test]
    fn the_table_shows_events_and_held_text() {
        let template =
            r#"{"start_anchor": "<bot>", "fields": {"thought": {"open": "<t>", "close": "</t>"}, "content": {}}}"#;
        let template = Template::load(template).unwrap().template;
        let run = Run {
            template: &template,
            prefix: "<bot><t>",
            mode: Default::default(),
            tools: None,
            recovery: Default::default(),
        };
        let recording = Recording::new(&run, ["h", "m\u{1b}", "<", "/t", ">Hel", "lo <", "b>"]).unwrap();
        insta::assert_snapshot!(table(&recording, None), @r#"
          CHAR  EVENT      FIELD    TEXT
            -3  open       thought  "<t>"
             0  chunk      thought  "hm\u001b"
             3  held                `</t`: could become the close of `thought` (`>` to go)
             3  close      thought  "hm\u001b"
             7  open       content
             7  chunk      content  "Hello <b>"
            16  close      content  "Hello <b>"
           end  the message is complete
                {"thought": "hm\u001b", "content": "Hello <b>"}
        "#);
        let mut growing = Growing::new(&run).unwrap();
        let mut out = String::new();
        let mut table = Table::begin(growing.recording(), &mut out);
        for piece in ["h", "m\u{1b}", "<", "/t", ">Hel", "lo <", "b>"] {
            growing.feed(piece).unwrap();
            table.rows(growing.recording(), &mut out);
            table.held(growing.recording(), growing.recording().feed_count(), &mut out);
        }
        let recording = growing.finish();
        table.rows(&recording, &mut out);
        table.end(&recording, None, &mut out);
        // While arriving, each piece has its own row, and held text is reported with it.
        insta::assert_snapshot!(out, @r#"
          CHAR  EVENT      FIELD    TEXT
            -3  open       thought  "<t>"
             0  chunk      thought  "h"
             1  chunk      thought  "m\u001b"
             3  held                `<`: could become the close of `thought` (`/t>` to go)
             3  held                `</t`: could become the close of `thought` (`>` to go)
             3  close      thought  "hm\u001b"
             7  open       content
             7  chunk      content  "Hel"
            10  chunk      content  "lo "
            13  held                `<`: could become the opening of `thought` (`t>` to go)
            13  chunk      content  "<b>"
            16  close      content  "Hello <b>"
           end  the message is complete
                {"thought": "hm\u001b", "content": "Hello <b>"}
        "#);
    }
}
