//! Response templates: loaded once, shared by any number of parsers and threads.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use backchat::Template;
use backchat::diagnostic::Diagnostic;
use backchat::json::Value;
use backchat::template::Loaded;
use backchat_workbench::input;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors::{not_loaded, problems};
use crate::names::{Named, Place};
use crate::value::{from_python, to_python};

/// The expected type of a response template, for errors.
const EXPECTED: &str = "a response template is a dict, a str, a path or a Template";

/// How many templates passed as dicts are kept.
const KEPT: usize = 64;

static DICTS: Mutex<VecDeque<(Value, Template)>> = Mutex::new(VecDeque::new());

/// A response template.
#[pyclass(frozen, name = "Template", module = "backchat")]
pub struct PyTemplate {
    pub inner: Template,
    warnings: Vec<Diagnostic>,
}

impl From<Loaded> for PyTemplate {
    fn from(loaded: Loaded) -> Self {
        Self { inner: loaded.template, warnings: loaded.warnings }
    }
}

impl From<Template> for PyTemplate {
    fn from(inner: Template) -> Self {
        Self { inner, warnings: Vec::new() }
    }
}

#[pymethods]
impl PyTemplate {
    /// Loads a template from a dict, JSON text, a name, or another template; raises `TemplateError` with every problem.
    #[new]
    fn new(spec: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(known) = spec.cast::<Self>() {
            let known = known.get();
            return Ok(Self { inner: known.inner.clone(), warnings: known.warnings.clone() });
        }
        let loaded = match spec.is_instance_of::<PyDict>() {
            true => Template::from_value(&from_python(spec)?),
            false => match Named::of(spec, EXPECTED)? {
                Named::Text(text) => Template::load(&text),
                Named::Place(place) => return Self::read(spec.py(), &place),
            },
        };
        loaded.map(Self::from).map_err(|error| not_loaded(spec.py(), &error.diagnostics))
    }

    /// Reads a template by name, whatever characters the name has.
    #[staticmethod]
    fn open(py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::read(py, &Place::of(path, "a name is a str or a path")?)
    }

    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        problems(py, &self.warnings)
    }

    #[getter]
    fn fields(&self) -> Vec<&str> {
        self.inner.fields().iter().map(|field| field.name.as_str()).collect()
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.inner.to_value())
    }

    fn to_json(&self) -> String {
        self.inner.to_json()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().inner == self.inner)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.inner.to_json().hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        format!("Template({})", self.inner.to_value())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let arguments = (slf.get().inner.to_json(),).into_pyobject(slf.py())?;
        (slf.get_type(), arguments).into_pyobject(slf.py())
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
}

impl PyTemplate {
    fn read(py: Python<'_>, place: &Place) -> PyResult<Self> {
        let opened = py.detach(|| input::template(&place.name));
        Ok(opened.map_err(|error| not_loaded(py, &place.tried(error.diagnostics)))?.loaded.into())
    }
}

/// The name, if the argument is one.
pub fn place(spec: &Bound<'_, PyAny>) -> PyResult<Option<Place>> {
    if spec.is_instance_of::<PyTemplate>() || spec.is_instance_of::<PyDict>() {
        return Ok(None);
    }
    Ok(match Named::of(spec, EXPECTED)? {
        Named::Place(place) => Some(place),
        Named::Text(_) => None,
    })
}

/// A template from a `Template`, a name, JSON text, or a dict, which is compiled once.
pub fn of(spec: &Bound<'_, PyAny>) -> PyResult<Template> {
    if let Ok(known) = spec.cast::<PyTemplate>() {
        return Ok(known.get().inner.clone());
    }
    if !spec.is_instance_of::<PyDict>() {
        return PyTemplate::new(spec).map(|template| template.inner);
    }
    let value = from_python(spec)?;
    let lock = || DICTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, template)) = lock().iter().find(|(known, _)| *known == value) {
        return Ok(template.clone());
    }
    let template = Template::from_value(&value).map_err(|error| not_loaded(spec.py(), &error.diagnostics))?.template;
    let mut dicts = lock();
    dicts.push_front((value, template.clone()));
    dicts.truncate(KEPT);
    Ok(template)
}
