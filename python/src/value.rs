//! Converts between JSON values and Python objects: numbers keep their digits, objects the order of their keys.

use backchat::json::{self, Object, Value};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// How deep lists and objects may nest: as deep as the library reads JSON.
const DEEPEST: usize = 512;

/// A value as a Python object.
pub fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::List(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(to_python(py, item)?)?;
            }
            list.into_any()
        }
        Value::Object(entries) => object(py, entries)?.into_any(),
        Value::Number(number) => match number.as_i64() {
            Some(small) => small.into_pyobject(py)?.into_any(),
            // Longer than any machine word.
            None if number.is_integer() => py.get_type::<PyInt>().call1((number.as_str(),))?,
            None => PyFloat::new(py, number.as_f64()).into_any(),
        },
    })
}

/// An object as a `dict`.
pub fn object<'py>(py: Python<'py>, entries: &Object) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, value) in entries.iter() {
        dict.set_item(key, to_python(py, value)?)?;
    }
    Ok(dict)
}

/// A Python object as a value.
pub fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    nested(object, 0)
}

fn nested(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > DEEPEST {
        return Err(PyValueError::new_err(format!("the value nests more than {DEEPEST} levels deep")));
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(text.to_str()?.into());
    }
    if object.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(value) = object.cast::<PyBool>() {
        return Ok(value.is_true().into());
    }
    if object.is_instance_of::<PyInt>() {
        let digits = object.call_method0("__int__")?.str()?;
        return json::read(digits.to_str()?).map_err(|error| PyValueError::new_err(error.to_string()));
    }
    if let Ok(value) = object.cast::<PyFloat>() {
        return Ok(Value::Number(value.value().into()));
    }
    if let Ok(dict) = object.cast::<PyDict>() {
        let mut entries = Object::new();
        // A copy, because other code may change the dict meanwhile.
        for (key, value) in dict.copy()?.iter() {
            let Ok(key) = key.cast::<PyString>() else {
                let message = format!("a key must be a str, not {}", key.get_type().name()?);
                return Err(PyTypeError::new_err(message));
            };
            entries.insert(key.to_str()?, nested(&value, depth + 1)?);
        }
        return Ok(Value::Object(entries));
    }
    if let Ok(list) = object.cast::<PyList>() {
        return Ok(Value::List(list.iter().map(|item| nested(&item, depth + 1)).collect::<PyResult<_>>()?));
    }
    if let Ok(items) = object.cast::<PyTuple>() {
        return Ok(Value::List(items.iter().map(|item| nested(&item, depth + 1)).collect::<PyResult<_>>()?));
    }
    let name = object.get_type().name()?;
    Err(PyTypeError::new_err(format!("expected a JSON value (dict, list, str, int, float, bool or None), not {name}")))
}

/// The tools of a request: dicts, or functions if transformers is installed. `None` if there are none.
pub fn tools(tools: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Value>> {
    let Some(tools) = tools.filter(|tools| !tools.is_none()) else { return Ok(None) };
    let mut items = Vec::new();
    for item in tools.try_iter()? {
        let item = item?;
        let is_function = item.is_callable() && !item.is_instance_of::<PyDict>();
        items.push(match is_function {
            true => {
                let module = item.py().import("transformers.utils.chat_template_utils")?;
                from_python(&module.call_method1("get_json_schema", (item,))?)?
            }
            false => from_python(&item)?,
        });
    }
    Ok((!items.is_empty()).then_some(Value::List(items)))
}
