//! The events of a recording as a table of text.

use std::fmt::Write;

use crate::diagnostic::{self, escape};
use crate::json::{Object, Value};
use crate::replay::{Kind, Moment, Outcome, Recording};

/// The longest text that a row shows, in characters.
const WIDTH: usize = 60;

/// One row for each event, with adjacent chunks of a region as one; between them the held text, and why it is held.
pub fn table(recording: &Recording, expected: Option<&Object>) -> String {
    let fields = recording.template().fields();
    let name_width = fields.iter().map(|field| escape(&field.name).chars().count()).chain([5]).max().unwrap_or(5);
    let is_finished = matches!(recording.outcome(), Outcome::Finished { .. });
    let is_met = |expected: &Object| is_finished && recording.message(recording.end()) == *expected;
    let wrong = expected.filter(|expected| !is_met(expected)).map(|expected| recording.wrong_events(expected));
    let wrong = wrong.unwrap_or_default();
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(out, "{:>6}  {:<10} {:<name_width$}  TEXT", "CHAR", "EVENT", "FIELD");
    let mut feed = 0;
    let mut offsets = Offsets { recording, known: (0, recording.offset_of(0)) };
    for row in 0..recording.row_count() {
        let events = recording.row(row);
        let Some(event) = recording.event(events.start) else { continue };
        let moment = recording.moment_of_event(events.start);
        held(recording, feed..moment.feed, name_width, &mut offsets, &mut out);
        feed = recording.moment_of_event(events.end.saturating_sub(1)).feed;
        let text = match (event.kind, event.value) {
            (Kind::Chunk, _) => excerpt(recording.slice(recording.row_span(row))),
            (_, Some(Ok(value))) => shortened(&value.json()),
            (_, Some(Err(reason))) => shortened(reason),
            (_, None) => excerpt(recording.slice(event.span.clone())),
        };
        let at = offsets.of(event.span.start);
        let name = escape(recording.field_name(event.field));
        let mark = if events.clone().any(|event| wrong.binary_search(&event).is_ok()) { "✗" } else { " " };
        let line = format!("{at:>6}{mark} {:<10} {name:<name_width$}  {text}", event.kind.short());
        let _ = writeln!(out, "{}", line.trim_end());
    }
    held(recording, feed..recording.before_end().feed + 1, name_width, &mut offsets, &mut out);
    let _ = writeln!(out, "{:>6}  {}", "end", escape(&ending(recording)));
    let _ = match expected {
        None => writeln!(out, "{:>6}  {}", "", shortened(&message(recording))),
        Some(expected) if is_met(expected) => {
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
    out
}

/// The longest text that was held in some feeds, and why.
fn held(
    recording: &Recording,
    feeds: std::ops::Range<usize>,
    name_width: usize,
    offsets: &mut Offsets<'_>,
    out: &mut String,
) {
    let moments = feeds.map(|feed| recording.moment_of_feed(feed)).filter(|moment| recording.held(*moment).is_some());
    let Some(moment) = moments.max_by_key(|moment: &Moment| recording.held_text(*moment).len()) else { return };
    let at = recording.held(moment).map_or(0, |held| offsets.of(held.span.start));
    let why = recording.why(moment);
    let why = why.strip_prefix("holding ").unwrap_or(&why);
    let _ = writeln!(out, "{at:>6}  {:<10} {:<name_width$}  {why}", "held", "");
}

/// The characters of the output at bytes of the text, asked for from front to back: each costs the distance to the one
/// before, where one alone costs the distance to the output's beginning.
struct Offsets<'r> {
    recording: &'r Recording,
    /// The byte asked for last, and its character.
    known: (usize, isize),
}

impl Offsets<'_> {
    fn of(&mut self, byte: usize) -> isize {
        let (before, offset) = self.known;
        let offset = match byte >= before {
            true => offset.saturating_add_unsigned(self.recording.slice(before..byte).chars().count()),
            false => self.recording.offset_of(byte),
        };
        self.known = (byte, offset);
        offset
    }
}

fn ending(recording: &Recording) -> String {
    let end = recording.end();
    match recording.outcome() {
        Outcome::Failed(_) => recording.happened(end),
        Outcome::Finished { .. } | Outcome::Open => recording.why(end),
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
    use crate::replay::Run;
    use crate::template::Template;

    #[test]
    fn what_is_not_as_expected_is_shown_whole() {
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
    fn the_events_and_what_was_held() {
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
    }
}
