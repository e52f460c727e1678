//! The events of one output as JSON, each feed written as soon as it is read; only problems are kept.

use std::io::{self, Write};

use super::answer::{ParseOptions, Recording, complete};
use super::output::Piece;
use super::row_error::RowError;
use backchat_core::json::{Object, Value};
use backchat_parser::parser::{Chunks, Event, Finished, IdSpans, Parser};

/// Parses a text feed by feed and writes one object: events first, then the result.
pub fn parse<'p>(
    parser: Result<Parser, RowError>,
    feeds: impl Iterator<Item = Piece<'p>>,
    options: &ParseOptions,
    recording: &mut Recording,
    out: &mut impl Write,
) -> io::Result<Result<Finished, RowError>> {
    let (mut last, mut text) = (None, Some(String::new()));
    // The text of ids is not available, so problems have no span.
    let feeds = feeds.inspect(|piece| match piece {
        Piece::Text(piece) => text.as_mut().into_iter().for_each(|text| text.push_str(piece)),
        Piece::Ids(_) => text = None,
    });
    let done = match parser {
        Ok(parser) => {
            recording.prefix_length = parser.prefix_length();
            let mut initial = String::new();
            parser.initial_events().iter().for_each(|event| add(&mut initial, event, recording, parser.id_spans()));
            out.write_all(b"{")?;
            if recording.spans {
                write!(out, "\"prefix_length\": {}, ", recording.prefix_length)?;
            }
            out.write_all(b"\"initial_events\": [")?;
            out.write_all(initial.as_bytes())?;
            out.write_all(b"], \"feeds\": [")?;
            // Arriving pieces are flushed for live readers; artificial chunks need not be.
            let done = read(parser, feeds, recording, options.chunks == Chunks::Whole, out)?;
            out.write_all(b"]")?;
            done.map(|(finished, events)| {
                last = Some(events);
                finished
            })
        }
        Err(error) => {
            out.write_all(b"{\"initial_events\": [], \"feeds\": []")?;
            Err(error)
        }
    };
    if let Some(last) = last {
        out.write_all(b", \"final_events\": [")?;
        out.write_all(last.as_bytes())?;
        out.write_all(b"]")?;
    }
    let mut answer = Object::new();
    complete(&mut answer, done.clone(), text.as_deref(), None);
    for (key, value) in answer {
        write!(out, ", {}: {value}", Value::from(key))?;
    }
    out.write_all(b"}\n")?;
    Ok(done)
}

/// Parses the text; returns the result, with the last events. A feed that fails is not written.
fn read<'p>(
    mut parser: Parser,
    feeds: impl Iterator<Item = Piece<'p>>,
    recording: &mut Recording,
    is_live: bool,
    out: &mut impl Write,
) -> io::Result<Result<(Finished, String), RowError>> {
    let mut events = String::new();
    for (number, feed) in feeds.enumerate() {
        events.clear();
        let mut found = Vec::new();
        if let Err(error) = feed.feed(&mut parser, &mut |event| found.push(event.to_owned())) {
            return Ok(Err(RowError::new("feed", error)));
        }
        found.iter().for_each(|event| add(&mut events, event, recording, parser.id_spans()));
        out.write_all(if number > 0 { b", [" } else { b"[" })?;
        out.write_all(events.as_bytes())?;
        out.write_all(b"]")?;
        if is_live {
            out.flush()?;
        }
    }
    events.clear();
    if recording.spans && parser.id_spans().is_some() {
        match parser.end_tokens() {
            Ok(found) => found.iter().for_each(|event| add(&mut events, event, recording, parser.id_spans())),
            Err(error) => return Ok(Err(RowError::new("finalize", error))),
        }
    }
    let ids = parser.id_spans().cloned();
    Ok(match parser.finish_into(&mut |event| add(&mut events, &event.to_owned(), recording, ids.as_ref())) {
        Ok(finished) => Ok((finished, events)),
        Err(error) => Err(RowError::new("finalize", error)),
    })
}

/// Adds an event to a list.
fn add(list: &mut String, event: &Event, recording: &mut Recording, ids: Option<&IdSpans>) {
    // The lists have the reference's events only: problems have their own key.
    if !matches!(event, Event::Problem(_)) {
        if !list.is_empty() {
            list.push_str(", ");
        }
        let value = if recording.spans { event.to_value_with_spans(ids) } else { event.to_value() };
        value.write_to(list);
    }
    recording.keep(event.borrowed());
}
