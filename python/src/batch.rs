//! Many outputs at once, parsed on several threads without the interpreter's lock.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

use backchat::Template;
use backchat::json::{Object, Value};
use backchat::parser::{Mode, Tools};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyList, PyString};

use crate::errors::not_read;
use crate::parser::{Reading, needs_prefix, tools as read_tools};
use crate::template;
use crate::value::object;

/// Fewer rows than this run on the calling thread.
const FEW: usize = 256;

/// How many rows are read at a time before they become objects: few enough to stay in the processor's cache.
const BLOCK: usize = 64;

/// What is one for all rows, or one for each.
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

/// What becomes of a row that cannot be read.
#[derive(Clone, Copy, PartialEq)]
enum Errors {
    Collect,
    Raise,
    Text,
}

/// What a row gives.
enum Row {
    Message(Object),
    Json(String),
    Failed(String),
}

/// The texts of a list, or of a column that becomes one.
fn texts(given: &Bound<'_, PyAny>) -> PyResult<Vec<PyBackedStr>> {
    let list = match given.hasattr("to_pylist")? {
        true => given.call_method0("to_pylist")?,
        false if given.hasattr("to_list")? => given.call_method0("to_list")?,
        false => given.clone(),
    };
    if list.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("`texts` is a list of str; for a single one there is `parse_response`"));
    }
    list.try_iter()?.map(|text| text?.cast_into::<PyString>()?.try_into()).collect()
}

#[pyfunction]
#[pyo3(signature = (texts, template, *, prefix=None, tools=None, threads=None, errors="collect", output="python"))]
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
) -> PyResult<Bound<'py, PyAny>> {
    let texts = self::texts(texts)?;
    let prefix = prefix.ok_or_else(|| needs_prefix("`parse_batch`"))?;
    let prefixes = match prefix.cast::<PyString>() {
        Ok(text) => Each::All(PyBackedStr::try_from(text.clone())?),
        Err(_) => Each::Rows(self::texts(prefix)?),
    };
    let templates = match template.cast::<PyList>() {
        Ok(list) => Each::Rows(list.iter().map(|item| template::of(&item)).collect::<PyResult<Vec<Template>>>()?),
        Err(_) => Each::All(template::of(template)?),
    };
    let is_each = |tools: &Bound<'_, PyAny>| {
        let first = tools.try_iter().ok().and_then(|mut items| items.next());
        first.and_then(Result::ok).is_some_and(|first| first.is_none() || first.is_instance_of::<PyList>())
    };
    let tools: Each<Option<Arc<Tools>>> = match tools {
        Some(each) if is_each(each) => {
            Each::Rows(each.try_iter()?.map(|tools| read_tools(Some(&tools?))).collect::<PyResult<_>>()?)
        }
        all => Each::All(read_tools(all)?),
    };
    prefixes.fits(texts.len(), "prefix")?;
    templates.fits(texts.len(), "template")?;
    tools.fits(texts.len(), "tools")?;
    let errors = match errors {
        "collect" => Errors::Collect,
        "raise" => Errors::Raise,
        "text" => Errors::Text,
        _ => {
            let message = format!("`errors` is \"collect\", \"raise\" or \"text\", not {errors:?}");
            return Err(PyValueError::new_err(message));
        }
    };
    let as_json = match output {
        "python" => false,
        "json" => true,
        _ => return Err(PyValueError::new_err(format!("`output` is \"python\" or \"json\", not {output:?}"))),
    };
    let read = |row: usize| -> Row {
        let (Some(text), Some(prefix), Some(template), Some(tools)) =
            (texts.get(row), prefixes.at(row), templates.at(row), tools.at(row))
        else {
            return Row::Failed("the row is not there".to_owned());
        };
        let reading = Reading { template: template.clone(), tools: tools.clone(), mode: Mode::Stable, raises: true };
        let message = match reading.read(prefix, text) {
            Ok(message) => message,
            Err(_) if errors == Errors::Text => {
                let mut message = template.defaults().clone();
                message.insert("content".to_owned(), Value::from(&**text));
                message
            }
            Err(message) => return Row::Failed(message),
        };
        if as_json { Row::Json(Value::Object(message).to_string()) } else { Row::Message(message) }
    };
    let threads = match threads {
        Some(0) => return Err(PyValueError::new_err("`threads` is at least 1")),
        _ if texts.len() < FEW => 1,
        Some(threads) => threads,
        None => thread::available_parallelism().map_or(1, NonZero::get),
    };
    let mut answer = Answer::new(py, texts.len(), errors)?;
    match threads {
        1 => {
            for start in (0..texts.len()).step_by(BLOCK) {
                let rows = py.detach(|| block(start, texts.len(), &read));
                answer.take(py, start, rows)?;
            }
        }
        threads => on_threads(py, texts.len(), threads, &read, &mut answer)?,
    }
    answer.give(py)
}

/// Reads the rows of one block.
fn block(start: usize, rows: usize, read: &impl Fn(usize) -> Row) -> Vec<Row> {
    (start..rows.min(start + BLOCK)).map(read).collect()
}

/// Reads blocks of rows on threads, while this one turns those that are done into objects.
fn on_threads(
    py: Python<'_>,
    rows: usize,
    threads: usize,
    read: &(impl Fn(usize) -> Row + Sync),
    answer: &mut Answer,
) -> PyResult<()> {
    let next = AtomicUsize::new(0);
    // What is done and not yet taken is bounded, so that memory is.
    let (tell, done) = sync_channel(2 * threads);
    thread::scope(|scope| {
        for _ in 0..threads {
            let (tell, next) = (tell.clone(), &next);
            scope.spawn(move || {
                loop {
                    let start = next.fetch_add(BLOCK, Ordering::Relaxed);
                    if start >= rows || tell.send((start, block(start, rows, read))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(tell);
        let mut done = done;
        loop {
            let (block, still) = py.detach(move || (done.recv().ok(), done));
            done = still;
            let Some((start, rows)) = block else { break Ok(()) };
            answer.take(py, start, rows)?;
        }
    })
}

/// The rows as Python has them.
struct Answer {
    rows: Py<PyList>,
    failed: Py<PyDict>,
    errors: Errors,
    /// The first row that raises. Blocks come in any order, so that it is known at the end.
    first: Option<(usize, PyErr)>,
}

impl Answer {
    fn new(py: Python<'_>, rows: usize, errors: Errors) -> PyResult<Self> {
        let none = py.None();
        let rows = PyList::new(py, (0..rows).map(|_| &none))?.unbind();
        Ok(Self { rows, failed: PyDict::new(py).unbind(), errors, first: None })
    }

    /// Takes a block of rows.
    fn take(&mut self, py: Python<'_>, start: usize, rows: Vec<Row>) -> PyResult<()> {
        let list = self.rows.bind(py);
        for (number, row) in (start..).zip(rows) {
            match row {
                Row::Message(message) => list.set_item(number, object(py, &message)?)?,
                Row::Json(text) => list.set_item(number, text)?,
                Row::Failed(message) => {
                    let error = not_read(py, &message);
                    error.value(py).setattr("row", number)?;
                    if self.errors == Errors::Raise {
                        if self.first.as_ref().is_none_or(|(first, _)| number < *first) {
                            self.first = Some((number, error));
                        }
                        continue;
                    }
                    self.failed.bind(py).set_item(number, error.into_value(py))?;
                }
            }
        }
        Ok(())
    }

    fn give(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        if let Some((_, error)) = self.first {
            return Err(error);
        }
        py.import("backchat._types")?.getattr("BatchResult")?.call1((self.rows, self.failed))
    }
}
