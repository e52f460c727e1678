//! The events of one output as a table, each line written as soon as it is known; only malformed regions are kept.

use std::io::{self, Write};

use super::answer::{ParseOptions, Recording};
use super::output::Piece;
use super::row_error::RowError;
use super::show::{BAD, KEY, Pen, QUIET, STEP, STRING, excerpt, shortened, tail};
use backchat_core::diagnostic::escape;
use backchat_parser::parser::{Capture, EventRef, Finished, Held, Parser, ProblemKind, Span};
use backchat_parser::template::Template;

pub struct Table<'o> {
    pen: Pen<'o>,
    field_width: usize,
    /// Whether each event shows its position.
    spans: bool,
}

impl<'o> Table<'o> {
    /// A table of the events of a template; its lines are collected in `lines` until they are written.
    pub fn new(template: &Template, options: &ParseOptions, color: bool, lines: &'o mut String) -> Self {
        let names = template.fields().iter().map(|field| field.name.chars().count());
        let field_width = names.chain(["FIELD".len()]).max().unwrap_or(0);
        Self { pen: Pen { out: lines, color }, field_width, spans: options.spans }
    }

    /// Parses a text feed by feed and writes each feed, its events, and the held text after it.
    pub fn parse<'p>(
        mut self,
        (parser, prefix): (Result<Parser, RowError>, &str),
        feeds: impl Iterator<Item = Piece<'p>>,
        recording: &mut Recording,
        out: &mut impl Write,
    ) -> io::Result<Result<Finished, RowError>> {
        self.heading();
        let mut parser = match parser {
            Ok(parser) => parser,
            Err(error) => return self.flush(out).map(|()| Err(error)),
        };
        recording.prefix_length = parser.prefix_length();
        if !prefix.is_empty() {
            self.step("prompt", &tail(prefix));
        }
        for event in parser.initial_events() {
            self.event(event.borrowed());
            recording.keep(event.borrowed());
        }
        for (number, feed) in feeds.enumerate() {
            self.step(&format!("feed {}", number + 1), &excerpt(&feed.shown()));
            let fed = feed.feed(&mut parser, &mut |event| {
                recording.keep(event);
                self.event(event);
            });
            if fed.is_ok() {
                self.held(&parser.held());
            }
            self.flush(out)?;
            if let Err(error) = fed {
                return Ok(Err(RowError::new("feed", error)));
            }
        }
        let finished = match parser.finish() {
            Ok(finished) => finished,
            Err(error) => return Ok(Err(RowError::new("finalize", error))),
        };
        self.step("end", "");
        for event in &finished.events {
            recording.keep(event.borrowed());
            self.event(event.borrowed());
        }
        self.flush(out)?;
        Ok(Ok(finished))
    }

    fn flush(&mut self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(self.pen.out.as_bytes())?;
        self.pen.out.clear();
        Ok(())
    }

    /// The held text, and the delimiters that it could become.
    fn held(&mut self, held: &Held<'_>) {
        if held.text.is_empty() {
            return;
        }
        let first = held.pending.iter().min_by_key(|pending| pending.start);
        let why = match first {
            Some(pending) if pending.closes => "may close it",
            Some(_) => "may open it",
            None => "",
        };
        let field = first.map_or("", |pending| pending.field);
        self.line("held", field, &format!("{}  {why}", excerpt(held.text)), QUIET);
    }

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

    fn line(&mut self, what: &str, field: &str, text: &str, color: &str) {
        let line = format!("{:10}{what:<10}{:<width$}  {text}", "", escape(field), width = self.field_width);
        self.pen.painted(color, line.trim_end());
        self.pen.out.push('\n');
    }

    /// A text, after its position if requested.
    fn at(&self, span: &Span, text: &str) -> String {
        if self.spans { format!("{}..{}  {text}", span.start, span.end) } else { text.to_owned() }
    }

    /// The captures of a delimiter, if requested.
    fn captures(&self, captures: &[Capture]) -> String {
        let captures = captures.iter().filter(|_| self.spans);
        let captures = captures.map(|capture| format!("{}={}", escape(&capture.name), excerpt(&capture.text)));
        captures.collect::<Vec<_>>().join(" ")
    }

    fn event(&mut self, event: EventRef<'_>) {
        match event {
            EventRef::Open { field, span, captures } => {
                self.line("open", field, &self.at(&span, &self.captures(captures)), KEY);
            }
            EventRef::Chunk { field, text, dirty, span } => {
                self.line(if dirty { "raw" } else { "chunk" }, field, &self.at(&span, &excerpt(text)), "");
            }
            EventRef::Close { field, value, captures, span, .. } => {
                let text = format!("{}  {}", shortened(&value.to_string()), self.captures(captures));
                self.line("close", field, &self.at(&span, &text), STRING);
            }
            EventRef::Malformed { field, reason, span, .. } => {
                self.line("malformed", field, &self.at(&span, &escape(reason)), BAD);
            }
            // The reason of a malformed region is on the line above.
            EventRef::Problem(problem) if problem.kind == ProblemKind::Malformed => {}
            EventRef::Problem(problem) => {
                let field = problem.field.as_deref().unwrap_or_default();
                self.line(problem.kind.as_str(), field, &self.at(&problem.span, ""), BAD);
            }
            EventRef::CallStart { field, name, .. } => self.line("call", field, &excerpt(name), KEY),
            EventRef::CallArguments { field, delta, .. } => self.line("arguments", field, &excerpt(delta), ""),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_shows_events_and_held_text_feed_by_feed() {
        let template =
            r#"{"start_anchor": "<bot>", "fields": {"thought": {"open": "<t>", "close": "</t>"}, "content": {}}}"#;
        let template = backchat_parser::template::Template::load(template).unwrap().template;
        let feeds = ["a\u{1b}b", "</", "t>Hello <", "b>"];
        let mut recording = Recording::default();
        let mut out = Vec::new();
        let (prefix, options) = ("<user>Hi<bot><t>", ParseOptions::default());
        let parser = Parser::new(&template, prefix, backchat_parser::parser::Options::default());
        let parser = parser.map_err(|error| RowError::new("prefix", error));
        let feeds = feeds.into_iter().map(|feed| Piece::Text(feed.into()));
        let mut lines = String::new();
        let table = Table::new(&template, &options, false, &mut lines);
        table.parse((parser, prefix), feeds, &mut recording, &mut out).unwrap().unwrap();
        assert!(recording.feeds.is_empty() && recording.initial.is_empty(), "nothing is kept");
        insta::assert_snapshot!(String::from_utf8(out).unwrap(), @r#"
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
