//! Recorded outputs in place of an engine, for demonstrations and client tests: each request gets the next one, in its
//! recorded pieces and at its recorded times, in the protocol of a plain engine. After the last comes the first again.

use std::cell::Cell;
use std::collections::VecDeque;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::body::Bytes;
use tokio::time::Sleep;

use backchat_core::diagnostic::{Diagnostic, Place};
use backchat_core::json::{self, Value};
use backchat_workbench::check::fixture::ROWS_EXTENSION;
use backchat_workbench::input::{self, Problem};

/// The outputs of a file, which has at least one.
#[derive(Debug)]
pub struct Recorded {
    outputs: Vec<Output>,
    next: Cell<usize>,
}

/// An output.
#[derive(Debug, Default, PartialEq)]
struct Output {
    /// Its pieces, and when each arrived.
    pieces: Vec<(Duration, String)>,
    /// Whether the engine ended it at its limit.
    is_cut: bool,
    /// The tokens, if they were counted.
    usage: Option<Value>,
}

impl Recorded {
    /// Reads rows of a record, the pieces of one recorded output (`{"after_ms", "text"}`), or an output as plain text.
    pub fn read(path: &str) -> Result<Self, Problem> {
        let text = input::text(path)?;
        let is_rows = Path::new(path).extension().is_some_and(|extension| extension == ROWS_EXTENSION);
        let outputs = if is_rows {
            outputs(&text).map_err(|(line, message)| {
                let place = Place { line_column: Some((line, 1)), ..Place::file(path) };
                Diagnostic::error("bad-recording", message).at(place).help(
                    "a row is {\"text\": the output}, as `--record` writes it, or {\"after_ms\": milliseconds, \"text\": a piece}",
                )
            })?
        } else {
            vec![Output { pieces: vec![(Duration::ZERO, text)], ..Output::default() }]
        };
        if outputs.is_empty() {
            let problem = Diagnostic::error("bad-recording", "the file holds no output").at(Place::file(path));
            return Err(problem.help("record some answers first").into());
        }
        Ok(Self { outputs, next: Cell::new(0) })
    }

    pub fn count(&self) -> usize {
        self.outputs.len()
    }

    /// The answer to a request.
    pub fn answer(&self, path: &str, body: &str) -> Playing {
        if path != "/v1/completions" {
            return Playing::new([(Duration::ZERO, r#"{"data": [{"id": "recorded"}]}"#.to_owned())]);
        }
        let n = json::read(body).ok().and_then(|body| body.get("n")?.as_u64()).unwrap_or(1);
        let mut events = Vec::new();
        let mut usage = None;
        for choice in 0..n {
            let next = self.next.get();
            self.next.set((next + 1) % self.outputs.len().max(1));
            let Some(output) = self.outputs.get(next) else { break };
            usage = output.usage.as_ref().filter(|_| n == 1);
            events.extend(output.events(choice));
        }
        // Concurrent choices are interleaved by their times.
        events.sort_by_key(|(due, _)| *due);
        let end = events.last().map_or(Duration::ZERO, |(due, _)| *due);
        let usage = usage.map(|usage| Value::from([("choices", Value::List(Vec::new())), ("usage", usage.clone())]));
        events.extend(usage.map(|usage| (end, event(&usage))));
        events.push((end, "data: [DONE]\n\n".to_owned()));
        Playing::new(events)
    }
}

impl Output {
    fn events(&self, choice: u64) -> impl Iterator<Item = (Duration, String)> {
        let of = move |text: &str, reason: Value| {
            let choice = [("index", choice.into()), ("text", text.into()), ("finish_reason", reason)];
            event(&Value::from([("choices", Value::List(vec![Value::from(choice)]))]))
        };
        let end = self.pieces.last().map_or(Duration::ZERO, |(due, _)| *due);
        let reason = if self.is_cut { "length" } else { "stop" };
        let pieces = self.pieces.iter().map(move |(due, text)| (*due, of(text, Value::Null)));
        pieces.chain([(end, of("", reason.into()))])
    }
}

fn event(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// The outputs of rows, or the line (from 1) and the problem of the first invalid row.
fn outputs(rows: &str) -> Result<Vec<Output>, (usize, String)> {
    let mut outputs = Vec::new();
    // The pieces of one output, each with the time since the one before.
    let mut single = Output::default();
    let mut now = Duration::ZERO;
    for (number, line) in rows.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let row = json::read(line).map_err(|error| (number + 1, format!("not valid JSON: {}", error.message())))?;
        let Some(text) = row.get("text").and_then(Value::as_str) else {
            return Err((number + 1, "the row has no `text`".to_owned()));
        };
        match row.get("after_ms").and_then(Value::as_u64) {
            Some(after) => {
                now = now.saturating_add(Duration::from_millis(after));
                single.pieces.push((now, text.to_owned()));
            }
            None => outputs.push(Output {
                pieces: pieces(&row, text),
                is_cut: row.get("finish_reason").and_then(Value::as_str) == Some("length"),
                usage: row.get("usage").filter(|usage| !usage.is_null()).cloned(),
            }),
        }
    }
    outputs.extend((!single.pieces.is_empty()).then_some(single));
    Ok(outputs)
}

/// The pieces of a row's text; all at once if they were not recorded.
fn pieces(row: &Value, text: &str) -> Vec<(Duration, String)> {
    let numbers = |value: Option<&Value>| -> Option<Vec<u64>> { value?.as_list()?.iter().map(Value::as_u64).collect() };
    let lengths = numbers(row.get("chunks")).unwrap_or_default();
    let after = numbers(row.get("timing").and_then(|timing| timing.get("after_ms"))).unwrap_or_default();
    let mut characters = text.chars();
    let mut pieces: Vec<(Duration, String)> = Vec::new();
    for (index, length) in lengths.into_iter().enumerate() {
        let piece = characters.by_ref().take(usize::try_from(length).unwrap_or(usize::MAX)).collect();
        pieces.push((Duration::from_millis(after.get(index).copied().unwrap_or(0)), piece));
    }
    let rest = characters.as_str();
    if !rest.is_empty() {
        let last = pieces.last().map_or(Duration::ZERO, |(due, _)| *due);
        pieces.push((last, rest.to_owned()));
    }
    pieces
}

/// An answer being played.
#[derive(Debug)]
pub struct Playing {
    /// The remaining parts, and when each is due.
    events: VecDeque<(Duration, String)>,
    began: Instant,
    timer: Pin<Box<Sleep>>,
}

impl Playing {
    fn new(events: impl IntoIterator<Item = (Duration, String)>) -> Self {
        let timer = Box::pin(tokio::time::sleep(Duration::ZERO));
        Self { events: events.into_iter().collect(), began: Instant::now(), timer }
    }

    /// The next bytes, when they are due; `None` at the end.
    pub fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Some((due, _)) = self.events.front() else { return Poll::Ready(None) };
        if self.began.elapsed() < *due {
            self.timer.as_mut().reset((self.began + *due).into());
            if self.timer.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
        }
        Poll::Ready(self.events.pop_front().map(|(_, event)| event.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_their_pieces_and_times() {
        let at = Duration::from_millis;
        let rows = [
            r#"{"text": "Größe", "chunks": [2, 1], "timing": {"after_ms": [5, 9]}, "finish_reason": "length"}"#,
            "",
            r#"{"text": "Hi", "usage": {"prompt_tokens": 1, "completion_tokens": 2}}"#,
        ];
        let read = outputs(&rows.join("\n")).unwrap();
        let pieces = |output: &Output| output.pieces.clone();
        let expected = [(at(5), "Gr"), (at(9), "ö"), (at(9), "ße")].map(|(due, text)| (due, text.to_owned())).to_vec();
        assert_eq!((pieces(&read[0]), read[0].is_cut, read[0].usage.is_some()), (expected, true, false));
        assert_eq!((pieces(&read[1]), read[1].usage.is_some()), (vec![(at(0), "Hi".to_owned())], true));

        let one = outputs("{\"after_ms\": 3, \"text\": \"a\"}\n{\"after_ms\": 4, \"text\": \"b\"}").unwrap();
        assert_eq!(one.iter().map(pieces).collect::<Vec<_>>(), [[(at(3), "a".to_owned()), (at(7), "b".to_owned())]]);
        let forever = format!("{{\"after_ms\": {}, \"text\": \"a\"}}\n", u64::MAX).repeat(1025);
        assert_eq!(outputs(&forever).unwrap()[0].pieces.len(), 1025);
        assert_eq!(outputs("{}").unwrap_err(), (1, "the row has no `text`".to_owned()));
        assert_eq!(outputs("\n[").unwrap_err().0, 2);
    }
}
