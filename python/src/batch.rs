//! Many outputs at once, parsed on several threads without the interpreter's lock.

use std::num::NonZero;
use std::sync::Arc;
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
    let rows: Vec<Row> = py.detach(|| match threads {
        1 => (0..texts.len()).map(read).collect(),
        threads => on_threads(texts.len(), threads, &read),
    });
    answer(py, rows, errors)
}

/// Reads the rows in as many parts as there are threads, in order.
fn on_threads(rows: usize, threads: usize, read: &(impl Fn(usize) -> Row + Sync)) -> Vec<Row> {
    let part = rows.div_ceil(threads).max(1);
    thread::scope(|scope| {
        let starts = (0..rows).step_by(part);
        let parts: Vec<_> = starts
            .map(|start| scope.spawn(move || (start..rows.min(start + part)).map(read).collect::<Vec<Row>>()))
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap_or_default()).collect()
    })
}

fn answer(py: Python<'_>, rows: Vec<Row>, errors: Errors) -> PyResult<Bound<'_, PyAny>> {
    let list = PyList::empty(py);
    let failed = PyDict::new(py);
    for (number, row) in rows.into_iter().enumerate() {
        match row {
            Row::Message(message) => list.append(object(py, &message)?)?,
            Row::Json(text) => list.append(text)?,
            Row::Failed(message) => {
                let error = not_read(py, &message);
                error.value(py).setattr("row", number)?;
                if errors == Errors::Raise {
                    return Err(error);
                }
                failed.set_item(number, error.into_value(py))?;
                list.append(py.None())?;
            }
        }
    }
    py.import("backchat._types")?.getattr("BatchResult")?.call1((list, failed))
}
