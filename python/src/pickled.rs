//! Objects that pickle as the arguments they were made with, and are made anew where they are read.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// The arguments of a class, as pickle asks for them.
pub struct Arguments {
    positional: Py<PyTuple>,
    named: Py<PyDict>,
}

impl Arguments {
    pub fn new<'py, const N: usize>(
        py: Python<'py>,
        positional: &[&Bound<'py, PyAny>],
        named: [(&str, Option<Bound<'py, PyAny>>); N],
    ) -> PyResult<Self> {
        let given = PyDict::new(py);
        for (name, value) in named {
            if let Some(value) = value {
                given.set_item(name, value)?;
            }
        }
        Ok(Self { positional: PyTuple::new(py, positional)?.unbind(), named: given.unbind() })
    }

    pub fn get(&self, py: Python<'_>) -> (Py<PyTuple>, Py<PyDict>) {
        (self.positional.clone_ref(py), self.named.clone_ref(py))
    }
}
