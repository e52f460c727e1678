//! Exceptions and diagnostics as Python objects. The exception classes are written in Python, because one has two
//! bases.

use backchat::diagnostic::Diagnostic;
use backchat::json::Value;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::value;

static TEMPLATE_ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static PARSE_ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static UNKNOWN_KEY: PyOnceLock<Py<PyType>> = PyOnceLock::new();

const MODULE: &str = "backchat._types";

/// A diagnostic as a Python object.
pub fn problem<'py>(py: Python<'py>, diagnostic: &Diagnostic) -> PyResult<Bound<'py, PyAny>> {
    let members = diagnostic.to_value();
    // A template passed as text or a dict has no file.
    let is_empty = |value: &&Value| value.as_str() == Some("");
    let get =
        |key: &str| value::to_python(py, members.get(key).filter(|value| !is_empty(value)).unwrap_or(&Value::Null));
    let class = py.import(MODULE)?.getattr("Diagnostic")?;
    class.call1((
        get("id")?,
        get("severity")?,
        get("message")?,
        get("file")?,
        get("path")?,
        get("line")?,
        get("column")?,
        get("help")?,
    ))
}

/// A list of diagnostics.
pub fn problems<'py>(py: Python<'py>, diagnostics: &[Diagnostic]) -> PyResult<Vec<Bound<'py, PyAny>>> {
    diagnostics.iter().map(|diagnostic| problem(py, diagnostic)).collect()
}

/// The exception for something that does not load, with all problems.
pub fn not_loaded(py: Python<'_>, diagnostics: &[Diagnostic]) -> PyErr {
    let raise = || -> PyResult<PyErr> {
        let class = TEMPLATE_ERROR.import(py, MODULE, "TemplateError")?;
        Ok(PyErr::from_value(class.call1((problems(py, diagnostics)?,))?))
    };
    raise().unwrap_or_else(|error| error)
}

/// The exception for an output that cannot be parsed: one of two classes, as in transformers.
pub fn not_read(py: Python<'_>, message: &str) -> PyErr {
    let raise = || -> PyResult<PyErr> {
        let class = match message.contains("is not defined here") {
            true => UNKNOWN_KEY.import(py, MODULE, "UnknownKey")?,
            false => PARSE_ERROR.import(py, MODULE, "ParseError")?,
        };
        Ok(PyErr::from_value(class.call1((message,))?))
    };
    raise().unwrap_or_else(|error| error)
}
