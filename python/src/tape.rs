//! Carries values from the thread that parsed them to the interpreter's thread, in two allocations.
//!
//! A message is dozens of small allocations. If one thread makes and another drops them, both wait for the allocator.

use std::collections::HashMap;
use std::fmt::Write;

use backchat::json::{Object, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};

/// How many keys are kept, and how long they may be. Tools have few short keys; malformed outputs may have others.
const KEPT: usize = 1024;
const SHORT: usize = 64;

/// One value, or the header of the values that follow. Lengths of texts are in bytes.
enum Mark {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// An integer longer than any machine word.
    Digits(usize),
    Text(usize),
    List(usize),
    /// This many keys, each a text followed by its value.
    Object(usize),
}

/// Values in the order in which they were written.
#[derive(Default)]
pub struct Tape {
    marks: Vec<Mark>,
    text: String,
}

impl Tape {
    pub fn write(&mut self, value: &Value) {
        match value {
            Value::Null => self.marks.push(Mark::Null),
            Value::Bool(value) => self.marks.push(Mark::Bool(*value)),
            Value::String(text) => self.write_text(text),
            Value::List(items) => {
                self.marks.push(Mark::List(items.len()));
                items.iter().for_each(|item| self.write(item));
            }
            Value::Object(entries) => self.write_object(entries),
            Value::Number(number) => match number.as_i64() {
                Some(small) => self.marks.push(Mark::Int(small)),
                None if number.is_integer() => {
                    self.marks.push(Mark::Digits(number.as_str().len()));
                    self.text.push_str(number.as_str());
                }
                None => self.marks.push(Mark::Float(number.as_f64())),
            },
        }
    }

    pub fn write_object(&mut self, entries: &Object) {
        self.marks.push(Mark::Object(entries.len()));
        for (key, value) in entries {
            self.write_text(key);
            self.write(value);
        }
    }

    /// Writes the JSON of a value, as a text.
    pub fn write_json(&mut self, value: &Value) {
        let before = self.text.len();
        // Writing to a string does not fail.
        let _ = write!(self.text, "{value}");
        self.marks.push(Mark::Text(self.text.len() - before));
    }

    fn write_text(&mut self, text: &str) {
        self.marks.push(Mark::Text(text.len()));
        self.text.push_str(text);
    }

    pub fn read(&self) -> Reader<'_> {
        Reader { marks: self.marks.iter(), text: &self.text, too_long: None }
    }
}

/// The keys of objects as Python strings, shared by all rows.
#[derive(Default)]
pub struct Keys(HashMap<Box<str>, Py<PyString>>);

impl Keys {
    fn get<'py>(&mut self, py: Python<'py>, key: &str) -> Bound<'py, PyString> {
        if let Some(known) = self.0.get(key) {
            return known.bind(py).clone();
        }
        let new = PyString::new(py, key);
        if key.len() <= SHORT && self.0.len() < KEPT {
            self.0.insert(key.into(), new.clone().unbind());
        }
        new
    }
}

/// Turns a tape into Python objects.
pub struct Reader<'t> {
    marks: std::slice::Iter<'t, Mark>,
    text: &'t str,
    /// The error of an integer that is longer than Python allows.
    too_long: Option<PyErr>,
}

impl Reader<'_> {
    /// The next value; Python's `None` at the end.
    pub fn next<'py>(&mut self, py: Python<'py>, keys: &mut Keys) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self.marks.next() {
            None | Some(Mark::Null) => py.None().into_bound(py),
            Some(Mark::Bool(value)) => PyBool::new(py, *value).to_owned().into_any(),
            Some(Mark::Int(value)) => value.into_pyobject(py)?.into_any(),
            Some(Mark::Float(value)) => PyFloat::new(py, *value).into_any(),
            Some(Mark::Digits(length)) => match py.get_type::<PyInt>().call1((self.take(*length),)) {
                Ok(number) => number,
                Err(error) => {
                    self.too_long = Some(error);
                    py.None().into_bound(py)
                }
            },
            Some(Mark::Text(length)) => PyString::new(py, self.take(*length)).into_any(),
            Some(Mark::List(length)) => {
                let list = PyList::empty(py);
                for _ in 0..*length {
                    list.append(self.next(py, keys)?)?;
                }
                list.into_any()
            }
            Some(Mark::Object(length)) => {
                let dict = PyDict::new(py);
                for _ in 0..*length {
                    let key = match self.marks.next() {
                        Some(Mark::Text(length)) => keys.get(py, self.take(*length)),
                        _ => break,
                    };
                    dict.set_item(key, self.next(py, keys)?)?;
                }
                dict.into_any()
            }
        })
    }

    /// Why the last value is not the one that was written, if it has an integer that is longer than Python allows.
    pub fn too_long(&mut self) -> Option<PyErr> {
        self.too_long.take()
    }

    fn take(&mut self, length: usize) -> &str {
        let (text, rest) = self.text.split_at_checked(length).unwrap_or((self.text, ""));
        self.text = rest;
        text
    }
}
