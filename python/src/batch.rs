//! Parses many outputs at once, on several threads without the GIL.

use std::num::NonZero;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

use backchat::Template;
use backchat::json::{Object, Value};
use backchat::parser::{Mode, Problem, TokenTemplate, Tools};
use backchat::tokens::Tokens;
use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::errors::not_read;
use crate::names::one_of;
use crate::parser::{Reading, needs_prefix, tools as read_tools};
use crate::recovery::Recovery;
use crate::tape::{Keys, Tape};
use crate::template;
use crate::text_or_ids::{TextOrIds, ready_for_ids};
use crate::tokens;
use crate::value::to_python;

/// Fewer rows than this run on the calling thread.
const FEW: usize = 256;

/// How many rows are parsed before they become Python objects: enough to rarely interrupt the collector, few enough to
/// stay in the processor's cache.
const BLOCK: usize = 512;

/// One value for all rows, or one per row.
enum Each<T> {
    All(T),
    Rows(Vec<T>),
}

impl<T> Each<T> {
    fn at(&self, row: usize) -> Option<&T> {
        match self {
            Self::All(value) => Some(value),
            Self::Rows(values) => values.get(row),
        }
    }

    fn fits(&self, rows: usize, what: &str) -> PyResult<()> {
        match self {
            Self::Rows(values) if values.len() != rows => {
                let message = format!(
                    "there are {rows} texts and {} of `{what}`: give one for all, or one for each",
                    values.len()
                );
                Err(PyValueError::new_err(message))
            }
            _ => Ok(()),
        }
    }
}

/// How to handle a row that cannot be parsed.
#[derive(Clone, Copy, PartialEq)]
enum Errors {
    Collect,
    Raise,
    Text,
}

const ERRORS: [(&str, Errors); 3] = [("collect", Errors::Collect), ("raise", Errors::Raise), ("text", Errors::Text)];

/// The results of some rows, in order.
#[derive(Default)]
struct Rows {
    /// Messages, or their JSON; null for a row that failed.
    tape: Tape,
    /// The rows that failed, and why.
    failed: Vec<(usize, String)>,
    /// The problems of the rows that have some.
    problems: Vec<(usize, Vec<Problem>)>,
}

/// The methods by which columns, arrays and tensors become lists.
const TO_LIST: [&str; 3] = ["to_pylist", "to_list", "tolist"];

/// The rows of a list, of what converts to one, or of the ids in what a tokenizer of transformers returns.
fn rows<'py>(given: &Bound<'py, PyAny>) -> PyResult<impl Iterator<Item = PyResult<Bound<'py, PyAny>>>> {
    let given = given.getattr_opt("input_ids")?.unwrap_or_else(|| given.clone());
    let mut list = given.clone();
    for name in TO_LIST {
        if given.hasattr(name)? {
            list = given.call_method0(name)?;
            break;
        }
    }
    if list.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("`texts` is a list; use `parse_response` for a single output"));
    }
    list.try_iter()
}

/// Parse many outputs on all cores.
///
/// `texts` is a list of texts, a column of Arrow, pandas or Polars, or with a `tokenizer` lists of ids, an array or a tensor. The
/// result is a list of messages, None for a row that failed; `errors` has its error by the number of the row, `problems` what
/// went wrong in the rows that were read. `errors="raise"` raises the first error instead, `errors="text"` gives a failed
/// row the whole output as content. A row that is None has no output and fails in any case.
#[pyfunction]
#[pyo3(signature = (texts, template, *, prefix=None, tools=None, threads=None, errors="collect", output="python", tokenizer=None, policy="exact", stop_ids=Vec::new(), recover=None, validate=false))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn parse_batch<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
    template: &Bound<'py, PyAny>,
    prefix: Option<&Bound<'py, PyAny>>,
    tools: Option<&Bound<'py, PyAny>>,
    threads: Option<usize>,
    errors: &str,
    output: &str,
    tokenizer: Option<&Bound<'py, PyAny>>,
    policy: &str,
    stop_ids: Vec<u32>,
    recover: Option<&Bound<'py, PyAny>>,
    validate: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let are_ids = tokenizer.is_some();
    let batch = Batch {
        prefixes: prefixes(prefix.ok_or_else(|| needs_prefix("`parse_batch`"))?, are_ids)?,
        templates: templates(template, |template| ready_for_ids(tokenizer, template, policy, &stop_ids))?,
        tokens: tokenizer
            .map(|tokenizer| PyResult::Ok(Arc::clone(tokens::of(tokenizer)?.get().tokens())))
            .transpose()?,
        tools: all_tools(tools)?,
        errors: one_of("errors", &ERRORS, errors)?,
        as_json: one_of("output", &[("python", false), ("json", true)], output)?,
        recovery: Recovery::read(recover, validate, Mode::Stable)?,
        stop_ids,
        outputs: each_row(texts, "the row is None: it has no output", |row| TextOrIds::output(row, are_ids))?,
    };
    batch.check_lengths()?;
    let count = batch.outputs.len();
    let threads = match threads {
        Some(0) => return Err(PyValueError::new_err("`threads` is at least 1")),
        _ if count < FEW => 1,
        Some(threads) => threads,
        None => thread::available_parallelism().map_or(1, NonZero::get),
    };
    // Several blocks per thread, so that no thread waits long for the last one.
    let size = (count / (8 * threads)).clamp(16, BLOCK);
    let mut answer = Answer::new(py, count)?;
    batch.on_threads(py, threads, size, &mut answer)?;
    answer.give(py, batch.errors == Errors::Raise)
}

/// What a row gives, or why it fails.
type Given = Result<TextOrIds, String>;

/// What each row gives: one that is None, or that is not Unicode, fails alone.
fn each_row(
    given: &Bound<'_, PyAny>,
    is_none: &str,
    read: impl Fn(&Bound<'_, PyAny>) -> PyResult<TextOrIds>,
) -> PyResult<Vec<Given>> {
    let py = given.py();
    let row = |(number, row): (usize, PyResult<Bound<'_, PyAny>>)| {
        let row = row?;
        if row.is_none() {
            return Ok(Err(is_none.to_owned()));
        }
        match read(&row) {
            Err(error) if error.is_instance_of::<PyTypeError>(py) => {
                Err(PyTypeError::new_err(format!("row {number}: {}", error.value(py))))
            }
            Err(error) if error.is_instance_of::<PyUnicodeEncodeError>(py) => Ok(Err(error.value(py).to_string())),
            read => read.map(Ok),
        }
    };
    rows(given)?.enumerate().map(row).collect()
}

/// The prompt for all rows, or one per row.
fn prefixes(given: &Bound<'_, PyAny>, are_ids: bool) -> PyResult<Each<Given>> {
    if given.is_instance_of::<PyString>() || are_ids && given.extract::<Vec<u32>>().is_ok() {
        return Ok(Each::All(Ok(TextOrIds::prompt(given, are_ids)?)));
    }
    let reason = "the `prefix` of the row is None: pass \"\" if its text contains the whole message";
    each_row(given, reason, |prompt| TextOrIds::prompt(prompt, are_ids)).map(Each::Rows)
}

/// The template for all rows, or one per row.
fn templates(
    given: &Bound<'_, PyAny>,
    for_ids: impl Fn(&Template) -> PyResult<Option<TokenTemplate>>,
) -> PyResult<Each<Ready>> {
    let ready = |given: &Bound<'_, PyAny>| {
        let template = template::of(given)?;
        let for_ids = for_ids(&template)?;
        PyResult::Ok((template, for_ids))
    };
    Ok(match given.cast::<PyList>() {
        Ok(list) => Each::Rows(list.iter().map(|item| ready(&item)).collect::<PyResult<_>>()?),
        Err(_) => Each::All(ready(given)?),
    })
}

/// The tools for all rows, or those of each row.
fn all_tools(given: Option<&Bound<'_, PyAny>>) -> PyResult<Each<Option<Arc<Tools>>>> {
    let is_each = |tools: &&Bound<'_, PyAny>| {
        let first = tools.try_iter().ok().and_then(|mut items| items.next());
        first.and_then(Result::ok).is_some_and(|first| first.is_none() || first.is_instance_of::<PyList>())
    };
    match given.filter(is_each) {
        Some(each) => {
            let tools = each.try_iter()?.map(|tools| read_tools(Some(&tools?)));
            Ok(Each::Rows(tools.collect::<PyResult<_>>()?))
        }
        None => Ok(Each::All(read_tools(given)?)),
    }
}

/// A template, and its form for token ids if there is a tokenizer.
type Ready = (Template, Option<TokenTemplate>);

/// The outputs to parse, and the options.
struct Batch {
    /// The outputs, or why a row has none.
    outputs: Vec<Given>,
    prefixes: Each<Given>,
    templates: Each<Ready>,
    tools: Each<Option<Arc<Tools>>>,
    tokens: Option<Arc<Tokens>>,
    errors: Errors,
    as_json: bool,
    recovery: Recovery,
    stop_ids: Vec<u32>,
}

impl Batch {
    fn check_lengths(&self) -> PyResult<()> {
        let count = self.outputs.len();
        self.prefixes.fits(count, "prefix")?;
        self.templates.fits(count, "template")?;
        self.tools.fits(count, "tools")
    }

    /// Parses the rows of one block, with the thread's own copy of the template if all rows share one.
    fn block(&self, numbers: Range<usize>, own: Option<&Ready>) -> Rows {
        let mut rows = Rows::default();
        numbers.for_each(|number| self.read(number, own, &mut rows));
        rows
    }

    fn read(&self, row: usize, own: Option<&Ready>, rows: &mut Rows) {
        let (Some(output), Some(prefix), Some((template, ready)), Some(tools)) =
            (self.outputs.get(row), self.prefixes.at(row), own.or_else(|| self.templates.at(row)), self.tools.at(row))
        else {
            return;
        };
        let output = match output {
            Ok(output) => output,
            Err(reason) => {
                rows.failed.push((row, reason.clone()));
                return rows.tape.write(&Value::Null);
            }
        };
        let reading = Reading { tools: tools.clone(), mode: Mode::Stable, raises: true, recovery: self.recovery };
        let options = reading.options();
        let options = if self.stop_ids.is_empty() { options } else { options.stop_ids(self.stop_ids.clone()) };
        let begin = |prefix: &TextOrIds| prefix.begin(template, ready.as_ref(), options);
        let read = prefix.as_ref().map_err(Clone::clone).and_then(|prefix| reading.read(begin(prefix), output));
        let message = match read {
            Ok((message, problems)) => {
                if !problems.is_empty() {
                    rows.problems.push((row, problems));
                }
                message
            }
            Err(_) if self.errors == Errors::Text => self.as_text(template, output),
            Err(message) => {
                rows.failed.push((row, message));
                return rows.tape.write(&Value::Null);
            }
        };
        if self.as_json { rows.tape.write_json(&Value::Object(message)) } else { rows.tape.write_object(&message) }
    }

    /// A message with the whole output as its content.
    fn as_text(&self, template: &Template, output: &TextOrIds) -> Object {
        let mut message = template.defaults().clone();
        let text = match (output, &self.tokens) {
            (TextOrIds::Text(text), _) => Value::from(&**text),
            (TextOrIds::Ids(ids), Some(tokens)) => tokens.decode(ids).into(),
            (TextOrIds::Ids(_), None) => Value::Null,
        };
        message.insert("content", text);
        message
    }

    /// The same of a row, if rows that fail become text.
    fn as_text_of(&self, row: usize) -> Option<Object> {
        let ((template, _), Ok(output)) = (self.templates.at(row)?, self.outputs.get(row)?) else { return None };
        (self.errors == Errors::Text).then(|| self.as_text(template, output))
    }

    /// Parses blocks of rows on threads. The calling thread is the first of them: it turns finished blocks into
    /// objects, and parses a block itself when none is finished, so two threads keep two cores busy.
    fn on_threads(&self, py: Python<'_>, threads: usize, size: usize, answer: &mut Answer) -> PyResult<()> {
        let next = AtomicUsize::new(0);
        let next_block = || {
            let start = next.fetch_add(size, Ordering::Relaxed);
            (start < self.outputs.len()).then(|| start..self.outputs.len().min(start + size))
        };
        let unshared = || match &self.templates {
            Each::All((template, None)) => Some((template.unshared(), None)),
            _ => None,
        };
        // The queue of finished blocks is bounded, and so is memory.
        let (tell, mut done) = sync_channel(2 * threads);
        thread::scope(|scope| {
            for _ in 1..threads {
                let tell = tell.clone();
                scope.spawn(move || {
                    let own = unshared();
                    while let Some(numbers) = next_block() {
                        if tell.send((numbers.clone(), self.block(numbers, own.as_ref()))).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(tell);
            loop {
                let block;
                (block, done) = py.detach(|| {
                    let own = || next_block().map(|numbers| (numbers.clone(), self.block(numbers, None)));
                    (done.try_recv().ok().or_else(own).or_else(|| done.recv().ok()), done)
                });
                let Some((numbers, rows)) = block else { break Ok(()) };
                // Ctrl-C; the threads end when nobody takes their blocks.
                py.check_signals()?;
                answer.take(py, numbers, rows, self)?;
            }
        })
    }
}

/// Pauses Python's garbage collector, which would scan all rows repeatedly as they are created: they have no cycles.
struct Paused<'py>(Option<Bound<'py, PyModule>>);

impl<'py> Paused<'py> {
    fn new(py: Python<'py>) -> PyResult<Self> {
        let collector = py.import("gc")?;
        let runs = collector.call_method0("isenabled")?.is_truthy()?;
        if runs {
            collector.call_method0("disable")?;
        }
        Ok(Self(runs.then_some(collector)))
    }
}

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        if let Some(collector) = &self.0 {
            // A destructor cannot report an error.
            let _ = collector.call_method0("enable");
        }
    }
}

/// The rows as Python objects.
struct Answer {
    rows: Py<PyList>,
    failed: Vec<(usize, String)>,
    problems: Vec<(usize, Vec<Problem>)>,
    keys: Keys,
}

impl Answer {
    fn new(py: Python<'_>, rows: usize) -> PyResult<Self> {
        let none = py.None();
        let rows = PyList::new(py, (0..rows).map(|_| &none))?.unbind();
        Ok(Self { rows, failed: Vec::new(), problems: Vec::new(), keys: Keys::default() })
    }

    /// Adds a block of rows.
    fn take(&mut self, py: Python<'_>, numbers: Range<usize>, rows: Rows, batch: &Batch) -> PyResult<()> {
        let list = self.rows.bind(py);
        let _paused = Paused::new(py)?;
        let mut tape = rows.tape.read();
        for number in numbers {
            let value = tape.next(py, &mut self.keys)?;
            let Some(error) = tape.too_long() else {
                list.set_item(number, value)?;
                continue;
            };
            match batch.as_text_of(number) {
                Some(message) => list.set_item(number, to_python(py, &Value::Object(message))?)?,
                None => self.failed.push((number, error.value(py).to_string())),
            }
        }
        self.failed.extend(rows.failed);
        self.problems.extend(rows.problems);
        Ok(())
    }

    fn give(mut self, py: Python<'_>, raises: bool) -> PyResult<Bound<'_, PyAny>> {
        // Blocks finish in any order.
        self.failed.sort_unstable_by_key(|(number, _)| *number);
        let failed = PyDict::new(py);
        for (number, message) in &self.failed {
            let error = not_read(py, message);
            error.value(py).setattr("row", number)?;
            if raises {
                return Err(error);
            }
            failed.set_item(number, error.into_value(py))?;
        }
        self.problems.sort_unstable_by_key(|(number, _)| *number);
        let problems = PyDict::new(py);
        for (number, found) in &self.problems {
            let found = found.iter().map(|problem| to_python(py, &problem.to_value()));
            problems.set_item(number, PyList::new(py, found.collect::<PyResult<Vec<_>>>()?)?)?;
        }
        py.import("backchat._types")?.getattr("BatchResult")?.call1((self.rows, failed, problems))
    }
}
