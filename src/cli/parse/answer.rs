//! Answers one row.

use std::borrow::Cow;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use indexmap::IndexMap;

use super::ids::Ids;
use super::logged::{self, TextKey};
use super::output::{Beginning, Piece};
use super::row::{Row, RowOptions};
use super::row_error::RowError;
use crate::cli::cache::Tokenizers;
use crate::cli::input;
use crate::cli::rows::{Line, RowState};
use backchat_core::diagnostic::{Diagnostic, Severity};
use backchat_core::json::{Object, Value};
use backchat_legacy::schema::source::TemplateOrSchema;
use backchat_parser::content::Mode;
use backchat_parser::content::coerce::Tools;
use backchat_parser::parser::{
    Chunks, ClosersInStrings, Event, EventRef, Finished, IdSpans, Malformed, Options, ParseError, Parser, Policy,
    Problem, ProblemKind, TokenTemplate, cut, cut_ids,
};
use backchat_parser::template::Template;
use backchat_parser::tokens::Tokens;
use backchat_workbench::replay::{UnreadMarker, ends_with_closer, unread_marker};

/// The options that hold for every row.
#[derive(Default)]
pub struct ParseOptions {
    pub mode: Mode,
    pub closers: ClosersInStrings,
    pub events: bool,
    /// Whether events have their position.
    pub spans: bool,
    /// Whether events show calls as they grow.
    pub grows_calls: bool,
    pub chunks: Chunks,
    /// The keys that lead to the output of a row; `text` if absent.
    pub text_key: Option<TextKey>,
    pub template: Option<TemplateOrSchema>,
    pub prefix: Option<String>,
    pub tools: Option<Value>,
    /// The default for reasoning, calls and recovery.
    pub row_options: RowOptions,
    /// The default for token ids.
    pub ids: IdOptions,
}

/// How ids are read.
#[derive(Default)]
pub struct IdOptions {
    pub tokenizer: Option<String>,
    pub policy: Policy,
    pub stop_ids: Vec<u32>,
    /// The loaded tokenizers.
    pub tokenizers: Tokenizers<Tokens>,
}

/// The result of a row.
enum RowResult {
    /// With the text, unless the output is ids, and the template.
    Finished(Finished, Option<String>, Template),
    /// The message of a response schema, which may be any JSON.
    Message(Value),
}

/// The events of a parse, feed by feed.
#[derive(Debug, Default)]
pub struct Recording {
    /// Whether events have their position.
    pub spans: bool,
    /// Whether only problem events are kept: without `--events`, the others are not needed.
    pub problems_only: bool,
    /// How many bytes of the prompt precede the text in spans.
    pub prefix_length: usize,
    pub initial: Vec<Event>,
    pub feeds: Vec<Vec<Event>>,
    pub last: Option<Vec<Event>>,
    /// The ids that events came from, if positions are requested.
    pub ids: Option<IdSpans>,
}

impl Recording {
    /// Keeps an event that reports a problem.
    pub fn keep(&mut self, event: EventRef<'_>) {
        if matches!(event, EventRef::Malformed { .. } | EventRef::Problem(_)) {
            self.initial.push(event.to_owned());
        }
    }

    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.initial.iter().chain(self.feeds.iter().flatten()).chain(self.last.iter().flatten())
    }

    /// Starts with the events of the prefix.
    fn begin(&mut self, parser: &Parser) {
        self.prefix_length = parser.prefix_length();
        let is_problem = |event: &Event| matches!(event, Event::Malformed { .. } | Event::Problem(_));
        let keeps = |event: &&Event| !self.problems_only || is_problem(event);
        self.initial = parser.initial_events().iter().filter(keeps).cloned().collect();
    }
}

/// The description of rows with each kind of doubtful answer.
const DOUBTS: [&str; 5] =
    ["have malformed regions", "have unclosed regions", "lack required fields", "have other problems", "have notes"];

/// Counts of rows with doubtful answers, by kind.
#[derive(Debug, Default)]
pub struct Doubts([AtomicU64; DOUBTS.len()]);

impl Doubts {
    fn count(&self, finished: &Finished) {
        let counted_elsewhere = [
            ProblemKind::Malformed,
            ProblemKind::Unclosed,
            ProblemKind::MissingField,
            ProblemKind::NoAnchor,
            ProblemKind::TextOutside,
            ProblemKind::ValueReplaced,
        ];
        let is_other = |problem: &Problem| problem.is_recovered || !counted_elsewhere.contains(&problem.kind);
        let kinds = [
            !finished.malformed.is_empty(),
            finished.problems.iter().any(|problem| problem.kind == ProblemKind::Unclosed),
            !finished.missing.is_empty(),
            finished.problems.iter().any(is_other),
            !finished.notes.is_empty(),
        ];
        for (counter, _) in self.0.iter().zip(kinds).filter(|(_, is_there)| *is_there) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The counts as a sentence; `None` if all are zero.
    pub fn counts(&self) -> Option<String> {
        let counts = self.0.iter().map(|counter| counter.load(Ordering::Relaxed)).zip(DOUBTS);
        let counts = counts.filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        let counts: Vec<String> = counts.collect();
        (!counts.is_empty()).then(|| counts.join(", "))
    }
}

/// An output of a log that was read.
pub struct Read {
    pub finished: Finished,
    /// The text; empty if it came as ids.
    pub text: String,
    /// The other keys of its row.
    pub others: Object,
    /// What looks like a marker in it, if that is not a consequence of its problems.
    pub unread: Option<UnreadMarker>,
    /// Whether it ends with a marker, so that nothing cut it off. Only looked up if a region reached its end.
    pub is_complete: bool,
}

/// Answers rows, and caches the templates they carry.
pub struct Answerer<'a> {
    options: &'a ParseOptions,
    doubts: &'a Doubts,
    template: Option<TemplateOrSchema>,
    /// Templates by their text, the oldest first.
    templates: IndexMap<String, Result<TemplateOrSchema, RowError>>,
    /// Templates for the ids of a tokenizer, by their text, the tokenizer and the policy, the oldest first.
    token_templates: IndexMap<(String, String, Policy), Result<TokenTemplate, RowError>>,
    /// The tools of the previous row: rows of one conversation, or of one job, share them.
    tools: Option<(Value, Arc<Tools>)>,
}

/// Why a response schema does not support events, chunks and modes.
pub const READS_WHOLE: &str = "a response schema reads the whole output; convert it to stream";

impl ParseOptions {
    /// Whether no option requires a response template.
    pub fn is_whole(&self) -> bool {
        !self.events && self.chunks == Chunks::default() && self.mode == Mode::default()
    }
}

/// How many templates are cached.
const REMEMBERED: usize = 64;

impl<'a> Answerer<'a> {
    pub fn new(options: &'a ParseOptions, doubts: &'a Doubts) -> Self {
        let template = options.template.as_ref().map(TemplateOrSchema::unshared);
        Self { options, doubts, template, templates: IndexMap::new(), token_templates: IndexMap::new(), tools: None }
    }

    /// Reads the output of a row.
    pub fn read(&mut self, line: Line<'_>) -> Result<Read, RowError> {
        let mut row = Row::read(line, self.options.row_options, self.options.text_key.as_ref()).1?;
        let others = std::mem::take(&mut row.others);
        match self.run(row, None)? {
            RowResult::Finished(finished, text, template) => {
                // What explains an output that has problems is one of them, unless a misspelt opener left a closer over.
                let is_left_over = |problem: &Problem| problem.kind == ProblemKind::StrayMarker;
                let is_searched = finished.problems.iter().all(is_left_over);
                let unread = if is_searched { unread_marker(&template, &finished.message) } else { None };
                let text = text.unwrap_or_default();
                let is_complete =
                    finished.problems.iter().any(|problem| problem.at_end) && ends_with_closer(&template, &text);
                Ok(Read { finished, text, others, unread, is_complete })
            }
            RowResult::Message(_) => {
                Err(RowError::load("a response schema reports no problems; give a response template"))
            }
        }
    }

    /// Appends the answer to a row, one line of JSON.
    pub fn answer(&mut self, line: Line<'_>, out: &mut String) -> RowState {
        let (id, mut row) = Row::read(line, self.options.row_options, self.options.text_key.as_ref());
        // The entries of the row have room for what the answer adds.
        let mut answer = row.as_mut().map(|row| std::mem::take(&mut row.others)).unwrap_or_default();
        answer.insert_at(0, "id", id);
        let mut recording =
            self.options.events.then(|| Recording { spans: self.options.spans, ..Recording::default() });
        let done = row.and_then(|row| self.run(row, recording.as_mut()));
        if let Ok(RowResult::Finished(finished, ..)) = &done {
            self.doubts.count(finished);
        }
        let outcome = if done.is_ok() { RowState::Answered } else { RowState::Failed };
        match done {
            Ok(RowResult::Finished(finished, text, _)) => {
                complete(&mut answer, Ok(finished), text.as_deref(), recording);
            }
            Ok(RowResult::Message(message)) => {
                answer.insert("message", message);
            }
            Err(error) => complete(&mut answer, Err(error), None, recording),
        }
        Value::Object(answer).write_to(out);
        out.push('\n');
        outcome
    }

    fn run(&mut self, row: Row, recording: Option<&mut Recording>) -> Result<RowResult, RowError> {
        let row_options = row.row_options;
        if self.options.mode == Mode::Reference && !row_options.recover.is_empty() {
            return Err(RowError::load("reference mode reads as transformers does: it takes no policies"));
        }
        let is_whole = self.options.is_whole() && row.chunks.is_none() && row_options == RowOptions::default();
        let carried = row.template.as_ref().map(Value::to_string).unwrap_or_default();
        let template = match self.template(row.template)? {
            TemplateOrSchema::Template(template) => template,
            TemplateOrSchema::Schema(_) if row.ids.is_some() => {
                return Err(RowError::load(
                    "a response schema reads text; give the row `text`, or a response template",
                ));
            }
            TemplateOrSchema::Schema(_) if !is_whole => {
                return Err(RowError::load(READS_WHOLE));
            }
            TemplateOrSchema::Schema(schema) => return Ok(RowResult::Message(schema.parse(&row.text)?)),
        };
        let prefix = row.prefix?;
        let tools = self.tools(row.tools)?;
        let prefix = prefix.as_deref().or(self.options.prefix.as_deref()).unwrap_or("");
        if let Some(ids) = &row.ids {
            let tokens = self.token_template(&template, carried, ids)?;
            let beginning = match &ids.prompt_ids {
                Some(prompt_ids) => Beginning::Ids { tokens: &tokens, prompt_ids },
                None => Beginning::IdsAfterText { tokens: &tokens, prefix },
            };
            let pieces: Box<dyn Iterator<Item = &[u32]>> = match row.chunks {
                Some(lengths) => Box::new(cut_ids(&ids.token_ids, lengths)),
                None => self.options.chunks.of_ids(&ids.token_ids),
            };
            let stop_ids = ids.stop_ids.as_ref().unwrap_or(&self.options.ids.stop_ids);
            let parser = begin(beginning, (self.options, row_options), tools, stop_ids)?;
            return parse(parser, pieces.map(Piece::Ids), recording)
                .map(|finished| RowResult::Finished(finished, None, template));
        }
        let parser = begin(Beginning::Text { template: &template, prefix }, (self.options, row_options), tools, &[])?;
        let piece = |feed| Piece::Text(Cow::Borrowed(feed));
        let finished = match (row.chunks, self.options.chunks) {
            (Some(lengths), _) => parse(parser, cut(&row.text, lengths).map(piece), recording)?,
            (None, Chunks::Whole) => parse(parser, std::iter::once(piece(&row.text)), recording)?,
            (None, chunks) => parse(parser, chunks.split(&row.text).map(piece), recording)?,
        };
        Ok(RowResult::Finished(finished, Some(row.text), template))
    }

    /// The tools of a row, or else those of the command line.
    fn tools(&mut self, own: Option<Value>) -> Result<Option<Arc<Tools>>, RowError> {
        let Some(given) = own.as_ref().or(self.options.tools.as_ref()) else { return Ok(None) };
        if let Some((known, tools)) = &self.tools
            && known == given
        {
            return Ok(Some(Arc::clone(tools)));
        }
        let made = tools(Some(given))?;
        let given = given.clone();
        self.tools = made.clone().map(|tools| (given, tools));
        Ok(made)
    }

    /// The template of a row for the ids of its tokenizer.
    fn token_template(&mut self, template: &Template, carried: String, ids: &Ids) -> Result<TokenTemplate, RowError> {
        let name = ids.tokenizer.as_ref().or(self.options.ids.tokenizer.as_ref());
        let name = name.ok_or_else(|| {
            RowError::load(
                "`token_ids` need a `tokenizer`; add one to the row, or pass --tokenizer on the command line",
            )
        })?;
        let policy = ids.policy.unwrap_or(self.options.ids.policy);
        let make = || {
            let tokens = self.options.ids.tokenizers.read(name, input::tokens);
            let tokens = tokens.map_err(|problem| RowError::load(format!("`tokenizer`: {problem}")))?;
            TokenTemplate::new(template, &tokens, policy).map_err(RowError::load)
        };
        remembered(&mut self.token_templates, (carried, name.clone(), policy), make)
    }

    /// The template of a row, or else that of the command line.
    fn template(&mut self, carried: Option<Value>) -> Result<TemplateOrSchema, RowError> {
        match carried {
            Some(carried) => remembered(&mut self.templates, carried.to_string(), || loaded(&carried)),
            None => self.template.clone().ok_or_else(|| {
                RowError::load("the row has no `template`; add one to the row, or pass one on the command line")
            }),
        }
    }
}

/// The cached value of a key, made if necessary. The oldest is evicted.
fn remembered<K: Eq + Hash, V: Clone>(known: &mut IndexMap<K, V>, key: K, make: impl FnOnce() -> V) -> V {
    if let Some(known) = known.get(&key) {
        return known.clone();
    }
    if known.len() >= REMEMBERED {
        known.shift_remove_index(0);
    }
    known.entry(key).or_insert_with(make).clone()
}

/// The template that a row carries, or names. `lint` reports its warnings.
fn loaded(carried: &Value) -> Result<TemplateOrSchema, RowError> {
    let described = |found: &Diagnostic| match found.place.as_ref().and_then(|place| place.path.as_deref()) {
        Some(path) => format!("{path}: {}", found.message),
        None => found.message.clone(),
    };
    let joined = |found: &[Diagnostic]| {
        let errors = found.iter().filter(|found| found.severity == Severity::Error);
        errors.map(described).collect::<Vec<_>>().join("; ")
    };
    match carried {
        Value::String(path) if path == "-" => {
            Err(RowError::load("`template` is `-`; a row cannot read a file from standard input"))
        }
        Value::String(text) => match logged::carried(text) {
            Some(carried) => loaded(&carried?),
            None => input::template_or_schema(text)
                .map(TemplateOrSchema::from)
                .map_err(|error| RowError::load(format!("{text}: {}", joined(&error.diagnostics)))),
        },
        carried => TemplateOrSchema::from_value(carried).map_err(|found| RowError::load(joined(&found))),
    }
}

/// The tools prepared for the parser.
pub fn tools(given: Option<&Value>) -> Result<Option<Arc<Tools>>, RowError> {
    given.map(Tools::new).transpose().map(|tools| tools.map(Arc::new)).map_err(|error| RowError::new("prefix", error))
}

/// A parser with the options of the command line.
pub fn begin(
    beginning: Beginning<'_>,
    (given, row_options): (&ParseOptions, RowOptions),
    tools: Option<Arc<Tools>>,
    stop_ids: &[u32],
) -> Result<Parser, RowError> {
    let RowOptions { reasoning, tools_off, recover, validate } = row_options;
    let options = Options::default().mode(given.mode).tools(tools).closers_in_strings(given.closers);
    let options = if stop_ids.is_empty() { options } else { options.stop_ids(stop_ids) };
    let options = options.reasoning(reasoning).tools_off(tools_off).recover(recover).validate(validate);
    let options = options.grow_calls(given.grows_calls).keep_text(given.spans);
    beginning.parser(options).map_err(|error| RowError::new("prefix", error))
}

/// Parses an output piece by piece.
pub fn parse<'p>(
    mut parser: Parser,
    pieces: impl Iterator<Item = Piece<'p>>,
    mut recording: Option<&mut Recording>,
) -> Result<Finished, RowError> {
    let at = |stage| move |error: ParseError| RowError::new(stage, error);
    if let Some(recording) = recording.as_deref_mut() {
        recording.begin(&parser);
    }
    for piece in pieces {
        match recording.as_deref_mut() {
            Some(recording) if recording.problems_only => {
                piece.feed(&mut parser, &mut |event| recording.keep(event)).map_err(at("feed"))?;
            }
            Some(recording) => {
                let mut events = Vec::new();
                piece.feed(&mut parser, &mut |event| events.push(event.to_owned())).map_err(at("feed"))?;
                recording.feeds.push(events);
            }
            None => piece.feed(&mut parser, &mut |_| {}).map_err(at("feed"))?,
        }
    }
    let Some(recording) = recording else { return parser.finish_into(&mut |_| {}).map_err(at("finalize")) };
    if recording.problems_only {
        return parser.finish_into(&mut |event| recording.keep(event)).map_err(at("finalize"));
    }
    let mut last = Vec::new();
    if recording.spans && parser.id_spans().is_some() {
        last = parser.end_tokens().map_err(at("finalize"))?.into();
        recording.ids = parser.id_spans().cloned();
    }
    let mut finished = parser.finish().map_err(at("finalize"))?;
    last.append(&mut finished.events);
    recording.last = Some(last);
    Ok(finished)
}

/// Adds the result of a parse to an answer. Without the text the positions of problems are unknown.
pub fn complete(
    answer: &mut Object,
    done: Result<Finished, RowError>,
    text: Option<&str>,
    recording: Option<Recording>,
) {
    match done {
        Ok(finished) => {
            answer.insert("message", Value::Object(finished.message));
            let problem = |problem: &Problem| match text {
                Some(text) => problem.to_value_in(text, finished.prefix_length),
                None => problem.to_value(),
            };
            let lists = [
                ("missing", finished.missing.into_iter().map(Value::String).collect()),
                ("malformed", finished.malformed.iter().map(Malformed::to_value).collect()),
                ("problems", finished.problems.iter().map(problem).collect::<Vec<_>>()),
                ("notes", finished.notes.into_iter().map(Value::String).collect()),
            ];
            for (key, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
                answer.insert(key, Value::List(list));
            }
        }
        Err(error) => {
            answer.insert("error", error.to_value());
        }
    }
    if let Some(recording) = recording {
        let ids = recording.ids.as_ref();
        let value = |event: &Event| if recording.spans { event.to_value_with_spans(ids) } else { event.to_value() };
        if recording.spans {
            answer.insert("prefix_length", recording.prefix_length.into());
        }
        // The lists have the reference's events only: problems have their own key.
        let is_listed = |event: &&Event| !matches!(event, Event::Problem(_));
        let list = |events: Vec<Event>| Value::List(events.iter().filter(is_listed).map(value).collect());
        answer.insert("initial_events", list(recording.initial));
        answer.insert("feeds", Value::List(recording.feeds.into_iter().map(list).collect()));
        if let Some(last) = recording.last {
            answer.insert("final_events", list(last));
        }
    }
}
