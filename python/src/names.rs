//! Names of templates, schemas, tokenizers and files, resolved as on the command line.

use std::path::{Path, PathBuf};

use backchat::diagnostic::Diagnostic;
use backchat_workbench::input;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

/// A text itself, or a name that refers to one.
pub enum Named {
    Text(String),
    Place(Place),
}

/// A name as on the command line: a file, a folder, a model in the cache, or `-`.
pub struct Place {
    pub name: String,
    /// Whether it was given as a `str`, which may have been meant as text.
    is_str: bool,
}

impl Named {
    /// A `str` with a brace or a line break, or an empty one, is text; every other `str` is a name, and so is every
    /// path.
    pub fn of(given: &Bound<'_, PyAny>, expected: &str) -> PyResult<Self> {
        match given.cast::<PyString>() {
            Ok(text) if is_text(text.to_str()?) => Ok(Self::Text(text.to_str()?.to_owned())),
            _ => Place::of(given, expected).map(Self::Place),
        }
    }
}

impl Place {
    /// The current folder.
    pub fn here() -> Self {
        Self { name: ".".to_owned(), is_str: false }
    }

    /// A name, whatever characters it has.
    pub fn of(given: &Bound<'_, PyAny>, expected: &str) -> PyResult<Self> {
        let is_str = given.is_instance_of::<PyString>();
        let path = given.extract::<PathBuf>().map_err(|_| wrong_type(given, expected))?;
        match path.into_os_string().into_string() {
            Ok(name) => Ok(Self { name, is_str }),
            Err(name) => Err(PyTypeError::new_err(format!("a name must be Unicode text, unlike {name:?}"))),
        }
    }

    /// The problems of reading it; if nothing exists under the name, they explain what was tried.
    pub fn tried(&self, mut problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
        if self.name == "-" || Path::new(&self.name).exists() {
            return problems;
        }
        for problem in &mut problems {
            match problem.id {
                "unreadable-file" => problem.message = "there is no file or folder of this name".to_owned(),
                "not-in-cache" => {}
                _ => continue,
            }
            if self.is_str {
                problem.message.push_str("; a str with neither `{` nor a line break is a name, not text");
            }
        }
        problems
    }
}

fn is_text(given: &str) -> bool {
    given.is_empty() || given.contains(['{', '\n'])
}

/// Whether a text is the JSON of a response template or schema: a chat template that begins with a brace continues as
/// Jinja.
pub fn is_json(text: &str) -> bool {
    let inner = text.trim_start().strip_prefix('{');
    inner.is_some_and(|inner| !inner.starts_with(['{', '%', '#']))
}

/// The value of a keyword argument that takes one of a few words.
pub fn one_of<T: Copy>(keyword: &str, words: &[(&str, T)], given: &str) -> PyResult<T> {
    words.iter().find(|(word, _)| *word == given).map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<_> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
        let (last, others) = words.split_last().map_or(("", String::new()), |(last, rest)| (last, rest.join(", ")));
        PyValueError::new_err(format!("`{keyword}` is {others} or {last}, not {given:?}"))
    })
}

/// The error for a value of another type.
pub fn wrong_type(given: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    let name = given.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("{expected}, not {name}"))
}

/// The folder or file that a name refers to, which may be a model in the cache.
pub fn place(place: &Place) -> Result<String, Vec<Diagnostic>> {
    input::place(&place.name).map_err(|error| place.tried(error.diagnostics))
}
