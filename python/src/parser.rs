//! The streaming parser: text in, events out as dicts with the keys and in the order of transformers.

use std::sync::Arc;

use backchat::Parser;
use backchat::json::Object;
use backchat::parser::{
    Capture, ClosersInStrings, Event, EventRef, Events, Finished, Mode, Options, Problem, Reasoning, Span, Tools,
};
use backchat_parser::content::coerce::cast_calls;
use backchat_parser::parser::IdSpans;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyList, PyString, PyType};

use crate::errors::not_read;
use crate::names::one_of;
use crate::recovery::Recovery;
use crate::template;
use crate::text_or_ids::{TextOrIds, ready_for_ids};
use crate::value::{from_python, object, to_python, tools as read_tools};

/// Texts longer than this, in bytes, are parsed without the GIL.
const LONG: usize = 4096;

/// A stateful parser of one generation.
#[pyclass(name = "ResponseParser", module = "backchat", subclass)]
pub struct ResponseParser {
    /// `None` once it is finalized.
    parser: Option<Parser>,
    /// The events of the prefix.
    #[pyo3(get)]
    initial_events: Py<PyList>,
    /// Whether it has a tokenizer, and so reads ids.
    takes_ids: bool,
    raises: bool,
    tools: Option<Arc<Tools>>,
    mode: Mode,
    writer: EventWriter,
    /// The message once it is finalized.
    finished: Option<Py<PyDict>>,
}

/// Turns events into dicts.
struct EventWriter {
    /// The names of fields as Python strings, looked up by the address of the library's own.
    names: Vec<(Arc<str>, Py<PyString>)>,
    /// The chunk of each field without its text: copying it takes half the time of building a new one.
    chunks: Vec<(Arc<str>, Py<PyDict>)>,
    /// The text so far, if spans are requested.
    text: Option<Text>,
    /// The length of the prompt's part of it.
    prompt: usize,
    /// What was fed since the open region began.
    written: Written,
    implicit: Option<String>,
    /// The problems so far.
    problems: Vec<Py<PyDict>>,
    /// Whether problems are also events. The parser of transformers raises, and has no such event.
    reports_problems: bool,
}

/// The parser's input, with one position that is known in bytes and in characters.
#[derive(Default)]
struct Text {
    all: String,
    /// The position of each id's text, if the input is ids.
    ids: Option<IdSpans>,
    bytes: usize,
    characters: usize,
}

impl Text {
    /// Adds the text that a parser of ids has decoded.
    fn take(&mut self, parser: &Parser) {
        if let Some(kept) = parser.kept_text() {
            self.all.push_str(kept.get(self.all.len()..).unwrap_or(""));
        }
        if let (Some(known), Some(ids)) = (&mut self.ids, parser.id_spans()) {
            known.follow(ids);
        }
    }

    /// Adds the range of ids that the text of a span came from.
    fn put_ids(&self, py: Python<'_>, dict: &Bound<'_, PyDict>, span: Span) -> PyResult<()> {
        let Some(ids) = self.ids.as_ref().map(|ids| ids.ids_of(span)) else { return Ok(()) };
        dict.set_item(intern!(py, "ids"), (ids.start, ids.end))
    }

    /// A position in characters. Queries are mostly in ascending order.
    fn characters(&mut self, bytes: usize) -> usize {
        let between = |from: usize, to: usize| self.all.get(from..to).map_or(0, |text| text.chars().count());
        let characters = match bytes >= self.bytes {
            true => self.characters + between(self.bytes, bytes),
            false => self.characters.saturating_sub(between(bytes, self.bytes)),
        };
        (self.bytes, self.characters) = (bytes, characters);
        characters
    }
}

/// The text of a region as the model wrote it, delimiters included, which takes the place of a call that cannot be read.
#[derive(Default)]
struct Written {
    text: String,
    /// Where it begins.
    start: usize,
}

impl Written {
    /// Forgets what comes before a region. Of one that the prompt opened, only the model's part is known.
    fn begin(&mut self, place: usize) {
        let length = place.saturating_sub(self.start).min(self.text.len());
        self.text.drain(..length);
        self.start += length;
    }

    /// Adds what a parser of ids has decoded.
    fn follow(&mut self, all: &str) {
        self.text.push_str(all.get(self.start + self.text.len()..).unwrap_or(""));
    }

    fn up_to(&self, end: usize) -> &str {
        self.text.get(..end.saturating_sub(self.start)).unwrap_or(&self.text)
    }
}

impl EventWriter {
    fn name(&mut self, py: Python<'_>, field: &Arc<str>) -> Py<PyString> {
        if let Some((_, known)) = self.names.iter().find(|(known, _)| Arc::ptr_eq(known, field)) {
            return known.clone_ref(py);
        }
        let name = PyString::intern(py, field).unbind();
        self.names.push((field.clone(), name.clone_ref(py)));
        name
    }

    /// The span of a delimiter in characters, if requested.
    fn place(&mut self, py: Python<'_>, dict: &Bound<'_, PyDict>, span: Span) -> PyResult<()> {
        let Some(text) = &mut self.text else { return Ok(()) };
        text.put_ids(py, dict, span)?;
        dict.set_item(intern!(py, "start"), text.characters(span.start))?;
        dict.set_item(intern!(py, "end"), text.characters(span.end))
    }

    /// A piece of text as a dict; `None` if all of it belongs to the prompt.
    fn piece<'py>(
        &mut self,
        py: Python<'py>,
        field: &Arc<str>,
        text: &str,
        dirty: bool,
        span: Span,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        // Servers send chunks to their clients, and must never send a piece of the prompt.
        let own = match self.text {
            Some(_) => text.get(self.prompt.saturating_sub(span.start)..).unwrap_or(""),
            None => text,
        };
        if own.is_empty() {
            return Ok(None);
        }
        let chunk = match self.chunks.iter().find(|(known, _)| Arc::ptr_eq(known, field)) {
            Some((_, chunk)) => chunk.bind(py).copy()?,
            None => {
                let chunk = PyDict::new(py);
                chunk.set_item(intern!(py, "type"), intern!(py, "region_chunk"))?;
                chunk.set_item(intern!(py, "field"), self.name(py, field))?;
                chunk.set_item(intern!(py, "text"), "")?;
                chunk.set_item(intern!(py, "dirty"), PyBool::new(py, dirty))?;
                self.chunks.push((field.clone(), chunk.copy()?.unbind()));
                chunk
            }
        };
        chunk.set_item(intern!(py, "text"), own)?;
        if let Some(known) = &self.text {
            known.put_ids(py, &chunk, span)?;
        }
        Ok(Some(chunk))
    }

    /// A problem as a dict, with its position if requested.
    fn problem<'py>(&mut self, py: Python<'py>, problem: &Problem) -> PyResult<Bound<'py, PyDict>> {
        let dict = to_python(py, &problem.to_value())?.cast_into::<PyDict>()?;
        self.place(py, &dict, problem.span)?;
        Ok(dict)
    }

    /// Adds the captures of a delimiter, if positions are requested.
    fn captures<'py>(&self, py: Python<'py>, dict: &Bound<'py, PyDict>, captures: &[Capture]) -> PyResult<()> {
        if self.text.is_none() {
            return Ok(());
        }
        let named = PyDict::new(py);
        for capture in captures {
            named.set_item(&*capture.name, &capture.text)?;
        }
        dict.set_item(intern!(py, "captures"), named)
    }

    /// An event as a dict; `None` if all of its text belongs to the prompt.
    fn event<'py>(&mut self, py: Python<'py>, event: EventRef<'_>) -> PyResult<Option<Bound<'py, PyDict>>> {
        if let EventRef::Chunk { field, text, dirty, span } = event {
            return self.piece(py, field, text, dirty, span);
        }
        let dict = PyDict::new(py);
        let begin = |kind: &Bound<'py, PyString>, name: Py<PyString>| -> PyResult<()> {
            dict.set_item(intern!(py, "type"), kind)?;
            dict.set_item(intern!(py, "field"), name)
        };
        match event {
            EventRef::Open { field, captures, span } => {
                self.written.begin(span.start);
                begin(intern!(py, "region_open"), self.name(py, field))?;
                self.place(py, &dict, span)?;
                if self.implicit.as_deref() != Some(field) {
                    self.captures(py, &dict, captures)?;
                }
            }
            EventRef::Close { field, value, captures, span, .. } => {
                begin(intern!(py, "region_close"), self.name(py, field))?;
                dict.set_item(intern!(py, "value"), to_python(py, value)?)?;
                self.place(py, &dict, span)?;
                self.captures(py, &dict, captures)?;
            }
            EventRef::Malformed { field, text, reason, span, .. } => {
                begin(intern!(py, "region_malformed"), self.name(py, field))?;
                dict.set_item(intern!(py, "text"), text)?;
                // The text of ids is known only if it is kept.
                let raw = Some(self.written.up_to(span.end)).filter(|raw| !raw.is_empty()).unwrap_or(text);
                dict.set_item(intern!(py, "raw"), raw)?;
                dict.set_item(intern!(py, "reason"), reason)?;
                self.place(py, &dict, span)?;
            }
            EventRef::CallStart { field, index, name, id } => {
                begin(intern!(py, "call_start"), self.name(py, field))?;
                dict.set_item(intern!(py, "index"), index)?;
                dict.set_item(intern!(py, "name"), name)?;
                if let Some(id) = id {
                    dict.set_item(intern!(py, "id"), id)?;
                }
            }
            EventRef::CallArguments { field, index, delta } => {
                begin(intern!(py, "call_arguments"), self.name(py, field))?;
                dict.set_item(intern!(py, "index"), index)?;
                dict.set_item(intern!(py, "delta"), delta)?;
            }
            EventRef::Problem(problem) => {
                let problem = self.problem(py, problem)?;
                self.problems.push(problem.clone().unbind());
                if !self.reports_problems {
                    return Ok(None);
                }
                dict.set_item(intern!(py, "type"), intern!(py, "problem"))?;
                dict.update(problem.as_mapping())?;
            }
            _ => return Ok(None),
        }
        Ok(Some(dict))
    }
}

/// How a parser reads.
const MODES: [(&str, Mode); 2] = [("stable", Mode::Stable), ("reference", Mode::Reference)];

/// Whether a region without a value raises.
const RAISES: [(&str, bool); 2] = [("event", false), ("raise", true)];

const CLOSERS: [(&str, ClosersInStrings); 2] = [("ends", ClosersInStrings::Ends), ("text", ClosersInStrings::Text)];

const REASONING: [(&str, Reasoning); 3] =
    [("kept", Reasoning::Kept), ("in-content", Reasoning::InContent), ("dropped", Reasoning::Dropped)];

/// The caller's tools, prepared for a parser.
pub fn tools(given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Arc<Tools>>> {
    let Some(value) = read_tools(given)?.filter(|tools| !tools.is_empty()) else { return Ok(None) };
    let tools = Tools::new(&value).map_err(|reason| PyValueError::new_err(reason.to_string()))?;
    Ok(Some(Arc::new(tools)))
}

/// The error for a missing prefix.
pub fn needs_prefix(what: &str) -> PyErr {
    PyValueError::new_err(format!(
        "{what} requires `prefix`, the prompt that was sent to the model: chat templates often write the beginning of the \
         answer there; pass `prefix=\"\"` if the text contains the whole message"
    ))
}

/// The error for required fields that the output lacks.
fn missing(finished: &Finished) -> Option<String> {
    let is_malformed = |name: &&String| finished.malformed.iter().any(|region| region.field == **name);
    let names: Vec<String> =
        finished.missing.iter().filter(|name| !is_malformed(name)).map(|name| format!("'{name}'")).collect();
    let names = names.join(", ");
    (!names.is_empty()).then(|| format!("Required response_template fields missing from the output: [{names}]"))
}

#[pymethods]
impl ResponseParser {
    #[new]
    #[pyo3(signature = (template, prefix=None, *, tools=None, mode="stable", errors="event", spans=false, closers_in_strings="ends", reasoning="kept", tools_off=false, grow_calls=false, tokenizer=None, policy="exact", stop_ids=Vec::new(), recover=None, validate=false))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        py: Python<'_>,
        template: &Bound<'_, PyAny>,
        prefix: Option<&Bound<'_, PyAny>>,
        tools: Option<&Bound<'_, PyAny>>,
        mode: &str,
        errors: &str,
        spans: bool,
        closers_in_strings: &str,
        reasoning: &str,
        tools_off: bool,
        grow_calls: bool,
        tokenizer: Option<&Bound<'_, PyAny>>,
        policy: &str,
        stop_ids: Vec<u32>,
        recover: Option<&Bound<'_, PyAny>>,
        validate: bool,
    ) -> PyResult<Self> {
        let template = template::of(template)?;
        let ready = ready_for_ids(tokenizer, &template, policy, &stop_ids)?;
        let prefix = prefix.ok_or_else(|| needs_prefix("`ResponseParser`"))?;
        let prompt = TextOrIds::prompt(prefix, ready.is_some())?;
        let (mode, tools) = (one_of("mode", &MODES, mode)?, self::tools(tools)?);
        let options = Options::default().mode(mode).tools(tools.clone()).grow_calls(grow_calls);
        let options = Recovery::read(recover, validate, mode)?.of(options);
        let options = options.closers_in_strings(one_of("closers_in_strings", &CLOSERS, closers_in_strings)?);
        let options = options.tools_off(tools_off).reasoning(one_of("reasoning", &REASONING, reasoning)?);
        let raises = one_of("errors", &RAISES, errors)?;
        let options = if stop_ids.is_empty() { options } else { options.stop_ids(stop_ids) };
        let parser = prompt.begin(&template, ready.as_ref(), options.keep_text(spans));
        let parser = parser.map_err(|error| not_read(py, &error.to_string()))?;
        let text = spans.then(|| {
            let prefix = prompt.text();
            let from = prefix.len().saturating_sub(parser.prefix_length());
            let rest = parser.kept_text().unwrap_or_else(|| prefix.get(from..).unwrap_or(""));
            Text { all: rest.to_owned(), ids: parser.id_spans().cloned(), ..Text::default() }
        });
        let implicit = template.implicit_field().map(|field| field.name.clone());
        let (names, chunks, problems) = (Vec::new(), Vec::new(), Vec::new());
        let written = Written { text: String::new(), start: parser.prefix_length() };
        let reports_problems = !raises || grow_calls;
        let mut writer = EventWriter { names, chunks, text, prompt: 0, written, implicit, problems, reports_problems };
        let initial_events = PyList::empty(py);
        for event in parser.initial_events() {
            if let Event::Malformed { field, reason, .. } = event
                && raises
            {
                return Err(not_read(py, &format!("field `{field}`: {reason}")));
            }
            if let Some(dict) = writer.event(py, event.borrowed())? {
                initial_events.append(dict)?;
            }
        }
        writer.prompt = parser.prefix_length();
        Ok(Self {
            parser: Some(parser),
            initial_events: initial_events.unbind(),
            takes_ids: ready.is_some(),
            raises,
            tools,
            mode,
            writer,
            finished: None,
        })
    }

    /// Parses the next piece of the model's text and returns its events.
    fn feed<'py>(&mut self, py: Python<'py>, text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyList>> {
        if self.takes_ids {
            return Err(PyTypeError::new_err("a parser with a `tokenizer` reads ids: use `feed_tokens`"));
        }
        let text = text.to_str()?;
        if let (Some(known), Some(parser)) = (&mut self.writer.text, &self.parser)
            && parser.kept_text().is_none()
        {
            known.all.push_str(text);
        }
        self.writer.written.text.push_str(text);
        self.take_live(py, "feed", |parser, mut sink| parser.feed_into(text, &mut sink))
    }

    /// Parses the model's next ids and returns their events.
    fn feed_tokens<'py>(&mut self, py: Python<'py>, ids: Vec<u32>) -> PyResult<Bound<'py, PyList>> {
        if !self.takes_ids {
            return Err(PyTypeError::new_err("this parser reads text: ids need a `tokenizer`"));
        }
        if self.writer.text.is_some() {
            return self.take_with_text(py, "feed_tokens", |parser| parser.feed_tokens(&ids));
        }
        self.take_live(py, "feed_tokens", |parser, mut sink| parser.feed_tokens_into(&ids, &mut sink))
    }

    /// The text that an id would add.
    fn _text_of(&self, id: u32) -> PyResult<String> {
        Ok(self.parser.as_ref().ok_or_else(|| finalized("_text_of"))?.text_of_next(id))
    }

    /// Parses text whose ids are unknown: markers match by their characters.
    fn _feed_spelled<'py>(&mut self, py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyList>> {
        self.take_with_text(py, "_feed_spelled", |parser| parser.feed_spelled(text))
    }

    /// Ends the message; returns it and the last events.
    fn finalize<'py>(&mut self, py: Python<'py>) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyList>)> {
        let events = match self.parser.as_ref().and_then(Parser::kept_text) {
            Some(_) => self.take_with_text(py, "finalize", Parser::end_tokens)?,
            None => PyList::empty(py),
        };
        let parser = self.parser.take().ok_or_else(|| finalized("finalize"))?;
        let finished = parser.finish().map_err(|error| not_read(py, &error.to_string()))?;
        let message = object(py, &finished.message)?;
        self.finished = Some(message.clone().unbind());
        for event in &finished.events {
            take(py, &mut self.writer, self.raises, &events, event.borrowed())?;
        }
        match missing(&finished) {
            Some(message) => Err(not_read(py, &message)),
            None => Ok((message, events)),
        }
    }

    /// A copy of the message so far, without held text.
    #[getter]
    fn message<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        match (&self.parser, &self.finished) {
            (Some(parser), _) => object(py, &parser.message()),
            (None, Some(message)) => message.bind(py).copy(),
            (None, None) => Ok(PyDict::new(py)),
        }
    }

    /// The problems so far, each as a dict.
    #[getter]
    fn problems<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, &self.writer.problems)
    }

    /// The held text, its position in characters, and the delimiters it could become.
    #[getter]
    fn held<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let class = py.import("backchat._types")?.getattr("Held")?;
        let pending = PyList::empty(py);
        let Some(parser) = &self.parser else { return class.call1(("", py.None(), pending)) };
        let held = parser.held();
        for delimiter in &held.pending {
            let dict = PyDict::new(py);
            dict.set_item("field", delimiter.field)?;
            dict.set_item("closes", delimiter.closes)?;
            dict.set_item("pattern", delimiter.pattern)?;
            pending.append(dict)?;
        }
        // The position in characters is known if the text is kept.
        let kept = self.writer.text.as_ref().and_then(|text| text.all.get(..held.start));
        class.call1((held.text, kept.map(|text| text.chars().count()), pending))
    }

    /// Casts the arguments of calls to the types of their tools' schemas.
    fn _coerce_tool_calls<'py>(&self, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let Some(tools) = &self.tools else { return Ok(value.clone()) };
        let mut typed = from_python(value)?;
        cast_calls(tools, &mut typed, self.mode).map_err(|reason| not_read(value.py(), &reason.to_string()))?;
        to_python(value.py(), &typed)
    }

    #[getter]
    fn current_field(&self) -> Option<&str> {
        self.parser.as_ref().and_then(Parser::current_field)
    }

    /// The parsed part of the prefix, and everything fed after it.
    #[getter]
    fn input_text(&self) -> PyResult<&str> {
        let text = self.writer.text.as_ref();
        text.map(|text| text.all.as_str()).ok_or_else(|| PyRuntimeError::new_err("`input_text` needs `spans=True`"))
    }
}

impl ResponseParser {
    /// Feeds the parser, and turns each event into a dict as it comes.
    fn take_live<'py>(
        &mut self,
        py: Python<'py>,
        method: &str,
        feed: impl FnOnce(&mut Parser, &mut dyn FnMut(EventRef<'_>)) -> Result<(), backchat::ParseError>,
    ) -> PyResult<Bound<'py, PyList>> {
        let Self { parser, writer, raises, .. } = self;
        let parser = parser.as_mut().ok_or_else(|| finalized(method))?;
        let events = PyList::empty(py);
        let mut failed: PyResult<()> = Ok(());
        let parsed = feed(parser, &mut |event| {
            if failed.is_ok() {
                failed = take(py, writer, *raises, &events, event);
            }
        });
        failed?;
        parsed.map_err(|error| not_read(py, &error.to_string()))?;
        Ok(events)
    }

    /// Feeds the parser, and turns its events into dicts once the text of all ids is known.
    fn take_with_text<'py>(
        &mut self,
        py: Python<'py>,
        method: &str,
        feed: impl FnOnce(&mut Parser) -> Result<Events, backchat::ParseError>,
    ) -> PyResult<Bound<'py, PyList>> {
        let Self { parser, writer, raises, .. } = self;
        let parser = parser.as_mut().ok_or_else(|| finalized(method))?;
        let taken = feed(parser).map_err(|error| not_read(py, &error.to_string()))?;
        if let Some(known) = &mut writer.text {
            known.take(parser);
            writer.written.follow(&known.all);
        }
        let events = PyList::empty(py);
        for event in taken.iter() {
            take(py, writer, *raises, &events, event.borrowed())?;
        }
        Ok(events)
    }
}

/// Adds an event, or raises the error that it reports.
fn take(
    py: Python<'_>,
    writer: &mut EventWriter,
    raises: bool,
    events: &Bound<'_, PyList>,
    event: EventRef<'_>,
) -> PyResult<()> {
    if let EventRef::Malformed { field, reason, .. } = event
        && raises
    {
        return Err(not_read(py, &format!("field `{field}`: {reason}")));
    }
    writer.event(py, event)?.map_or(Ok(()), |dict| events.append(dict))
}

fn finalized(method: &str) -> PyErr {
    PyRuntimeError::new_err(format!("ResponseParser already finalized: `{method}` comes too late"))
}

/// How to parse one whole output.
pub struct Reading {
    pub tools: Option<Arc<Tools>>,
    pub mode: Mode,
    pub raises: bool,
    pub recovery: Recovery,
}

impl Reading {
    pub fn options(&self) -> Options {
        self.recovery.of(Options::default().mode(self.mode).tools(self.tools.clone()))
    }

    /// Parses an output with a new parser; returns the message and the problems, or the text of an error.
    pub fn read(
        &self,
        parser: Result<Parser, backchat::ParseError>,
        output: &TextOrIds,
    ) -> Result<(Object, Vec<Problem>), String> {
        let message_of = |error: backchat::ParseError| error.to_string();
        let mut parser = parser.map_err(message_of)?;
        let mut first: Option<String> = None;
        let mut note = |event: EventRef<'_>| {
            if let EventRef::Malformed { field, reason, .. } = event {
                first.get_or_insert_with(|| format!("field `{field}`: {reason}"));
            }
        };
        parser.initial_events().iter().for_each(|event| note(event.borrowed()));
        match output {
            TextOrIds::Text(text) => parser.feed_into(text, &mut note).map_err(message_of)?,
            TextOrIds::Ids(ids) => parser.feed_tokens_into(ids, &mut note).map_err(message_of)?,
        }
        let finished = parser.finish_into(&mut note).map_err(message_of)?;
        match first.filter(|_| self.raises).or_else(|| missing(&finished)) {
            Some(message) => Err(message),
            None => Ok((finished.message, finished.problems)),
        }
    }
}

/// Parses a whole output in one call, without events.
#[pyfunction]
#[pyo3(signature = (text, template, *, prefix=None, tools=None, mode="stable", errors="raise", tokenizer=None, policy="exact", stop_ids=Vec::new(), recover=None, validate=false))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn parse_response<'py>(
    py: Python<'py>,
    text: &Bound<'py, PyAny>,
    template: &Bound<'py, PyAny>,
    prefix: Option<&Bound<'py, PyAny>>,
    tools: Option<&Bound<'py, PyAny>>,
    mode: &str,
    errors: &str,
    tokenizer: Option<&Bound<'py, PyAny>>,
    policy: &str,
    stop_ids: Vec<u32>,
    recover: Option<&Bound<'py, PyAny>>,
    validate: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let prefix = prefix.ok_or_else(|| needs_prefix("`parse_response`"))?;
    let template = template::of(template)?;
    let ready = ready_for_ids(tokenizer, &template, policy, &stop_ids)?;
    let prompt = TextOrIds::prompt(prefix, ready.is_some())?;
    let (tools, mode) = (self::tools(tools)?, one_of("mode", &MODES, mode)?);
    let raises = one_of("errors", &RAISES, errors)?;
    let recovery = Recovery::read(recover, validate, mode)?;
    let reading = Reading { tools, mode, raises, recovery };
    let output = TextOrIds::output(text, ready.is_some())?;
    let options = reading.options();
    let options = if stop_ids.is_empty() { options } else { options.stop_ids(stop_ids) };
    let parser = prompt.begin(&template, ready.as_ref(), options);
    let read = match output.length() > LONG {
        true => py.detach(|| reading.read(parser, &output)),
        false => reading.read(parser, &output),
    };
    let (message, problems) = read.map_err(|message| not_read(py, &message))?;
    static MESSAGE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let message = MESSAGE.import(py, "backchat._types", "Message")?.call1((object(py, &message)?,))?;
    if !problems.is_empty() {
        let problems = problems.iter().map(|problem| to_python(py, &problem.to_value()));
        message.setattr(intern!(py, "problems"), PyList::new(py, problems.collect::<PyResult<Vec<_>>>()?)?)?;
    }
    Ok(message)
}
