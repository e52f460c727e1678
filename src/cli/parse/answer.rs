//! Answering one row.

use std::sync::Arc;

use indexmap::IndexMap;

use super::row::{Row, RowError};
use crate::cli::rows::{Line, Outcome};
use crate::content::Mode;
use crate::content::coerce::Tools;
use crate::json::{Object, Value};
use crate::parser::{Chunks, Event, Finished, Held, Options, Parser, cut};
use crate::template::Template;

/// What the command line says of every row.
pub struct Asked {
    pub mode: Mode,
    pub events: bool,
    /// How a row is cut that does not say.
    pub chunks: Chunks,
    /// The template of a row that has none.
    pub template: Option<Template>,
    /// The prompt of a row that has none.
    pub prefix: Option<String>,
    /// The tools of a row that has none.
    pub tools: Option<Value>,
}

/// The events of a parse, feed by feed.
#[derive(Debug, Default)]
pub struct Recording {
    /// How many bytes of the prompt count before the text.
    pub prefix_length: usize,
    pub initial: Vec<Event>,
    pub feeds: Vec<Vec<Event>>,
    /// What was held back after each feed.
    pub held: Vec<HeldBack>,
    pub last: Option<Vec<Event>>,
}

/// Text that is held back: where it begins, not what it says, as it may be long and is held for many feeds.
#[derive(Debug)]
pub struct HeldBack {
    /// Counted from the part of the prompt that belongs to the message.
    pub start: usize,
    /// The field whose delimiter it could become.
    pub field: String,
    /// What that delimiter would do.
    pub why: &'static str,
}

impl HeldBack {
    fn of(held: &Held<'_>) -> Self {
        let first = held.pending.iter().min_by_key(|pending| pending.start);
        Self {
            start: held.start,
            field: first.map(|pending| pending.field.to_owned()).unwrap_or_default(),
            why: match first {
                Some(pending) if pending.closes => "may close it",
                Some(_) => "may open it",
                None => "",
            },
        }
    }
}

/// Answers rows, and remembers the templates they carry.
pub struct Answerer<'a> {
    asked: &'a Asked,
    /// Templates by their text, the oldest first.
    templates: IndexMap<String, Result<Template, RowError>>,
}

/// How many templates are remembered.
const REMEMBERED: usize = 64;

impl<'a> Answerer<'a> {
    pub fn new(asked: &'a Asked) -> Self {
        Self { asked, templates: IndexMap::new() }
    }

    /// Appends the answer to a row, one line of JSON.
    pub fn answer(&mut self, line: Line, out: &mut Vec<u8>) -> Outcome {
        let (id, row) = Row::read(line.number, line.bytes);
        let mut answer = Object::new();
        answer.insert("id".to_owned(), id);
        let mut recording = self.asked.events.then(Recording::default);
        let done = row.and_then(|row| self.run(row, recording.as_mut()));
        let outcome = if done.is_ok() { Outcome::Answered } else { Outcome::Failed };
        complete(&mut answer, done, recording);
        out.extend_from_slice(Value::Object(answer).to_string().as_bytes());
        out.push(b'\n');
        outcome
    }

    fn run(&mut self, row: Row, recording: Option<&mut Recording>) -> Result<Finished, RowError> {
        let template = self.template(row.template)?;
        let prefix = row.prefix?;
        let tools = row.tools.as_ref().or(self.asked.tools.as_ref());
        let prefix = prefix.as_deref().or(self.asked.prefix.as_deref()).unwrap_or("");
        let feeds: Box<dyn Iterator<Item = &str>> = match row.chunks {
            Some(lengths) => Box::new(cut(&row.text, lengths)),
            None => self.asked.chunks.of(&row.text),
        };
        parse(&template, prefix, feeds, self.asked.mode, tools, recording)
    }

    /// The template that a row carries, or else the one of the command line.
    fn template(&mut self, carried: Option<Value>) -> Result<Template, RowError> {
        let Some(carried) = carried else {
            return self.asked.template.clone().ok_or_else(|| {
                RowError::load("the row has no `template`; put one into the row, or name one on the command line")
            });
        };
        let text = carried.to_string();
        if let Some(known) = self.templates.get(&text) {
            return known.clone();
        }
        let loaded = match Template::from_value(&carried) {
            Ok(loaded) => Ok(loaded.template),
            Err(error) => Err(RowError::load(error.to_string())),
        };
        if self.templates.len() >= REMEMBERED {
            self.templates.shift_remove_index(0);
        }
        self.templates.insert(text, loaded.clone());
        loaded
    }
}

/// Parses a text feed by feed.
pub fn parse<'t>(
    template: &Template,
    prefix: &str,
    feeds: impl Iterator<Item = &'t str>,
    mode: Mode,
    tools: Option<&Value>,
    mut recording: Option<&mut Recording>,
) -> Result<Finished, RowError> {
    let at =
        |stage: &'static str| move |error: crate::parser::ParseError| RowError { stage, message: error.to_string() };
    let tools = match tools {
        Some(tools) => Some(Arc::new(Tools::new(tools).map_err(|reason| RowError::load(reason.to_string()))?)),
        None => None,
    };
    let options = Options { mode, tools };
    let mut parser = Parser::new(template, prefix, options).map_err(at("prefix"))?;
    if let Some(recording) = recording.as_deref_mut() {
        recording.prefix_length = parser.prefix_length();
        recording.initial = parser.initial_events().to_vec();
    }
    for feed in feeds {
        match recording.as_deref_mut() {
            Some(recording) => {
                recording.feeds.push(parser.feed(feed).map_err(at("feed"))?);
                recording.held.push(HeldBack::of(&parser.held()));
            }
            None => parser.feed_into(feed, &mut |_| {}).map_err(at("feed"))?,
        }
    }
    let mut finished = parser.finish().map_err(at("finalize"))?;
    if let Some(recording) = recording {
        recording.last = Some(std::mem::take(&mut finished.events));
    }
    Ok(finished)
}

/// Adds to an answer what came of the parse.
pub fn complete(answer: &mut Object, done: Result<Finished, RowError>, recording: Option<Recording>) {
    match done {
        Ok(finished) => {
            answer.insert("message".to_owned(), Value::Object(finished.message));
            if !finished.missing.is_empty() {
                let missing = finished.missing.into_iter().map(Value::String).collect();
                answer.insert("missing".to_owned(), Value::List(missing));
            }
        }
        Err(error) => {
            answer.insert("error".to_owned(), error.to_value());
        }
    }
    if let Some(recording) = recording {
        let list = |events: Vec<Event>| Value::List(events.iter().map(Event::to_value).collect());
        answer.insert("initial_events".to_owned(), list(recording.initial));
        answer.insert("feeds".to_owned(), Value::List(recording.feeds.into_iter().map(list).collect()));
        if let Some(last) = recording.last {
            answer.insert("final_events".to_owned(), list(last));
        }
    }
}
