//! Converts between JSON values and Python objects: numbers keep their digits, objects the order of their keys.

use crate::names::wrong_type;
use backchat::json::{self, Object, Value};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple, PyType};

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

/// A Python object as a value. Mappings, dataclasses, pydantic models and NumPy's scalars become what they hold.
pub fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    nested(object, 0, &|other| {
        let name = other.get_type().name()?;
        let message = format!("expected a JSON value (dict, list, str, int, float, bool or None), not {name}");
        Err(PyTypeError::new_err(message))
    })
}

/// What becomes of an object that no JSON value can represent.
type Other<'f> = &'f dyn Fn(&Bound<'_, PyAny>) -> PyResult<Value>;

fn nested(object: &Bound<'_, PyAny>, depth: usize, other: Other<'_>) -> PyResult<Value> {
    if depth > DEEPEST {
        return Err(PyValueError::new_err(format!("the value nests more than {DEEPEST} levels deep")));
    }
    let inner = |item: Bound<'_, PyAny>| nested(&item, depth + 1, other);
    if let Some(scalar) = scalar(object)? {
        return Ok(scalar);
    }
    if let Ok(dict) = object.cast::<PyDict>() {
        // A copy, because other code may change the dict meanwhile.
        return entries(dict.copy()?.iter(), inner);
    }
    if let Ok(list) = object.cast::<PyList>() {
        return Ok(Value::List(list.iter().map(inner).collect::<PyResult<_>>()?));
    }
    if let Ok(items) = object.cast::<PyTuple>() {
        return Ok(Value::List(items.iter().map(inner).collect::<PyResult<_>>()?));
    }
    if let Ok(mapping) = object.cast::<PyMapping>() {
        let pairs = mapping.items()?.iter().map(|pair| pair.extract()).collect::<PyResult<Vec<_>>>()?;
        return entries(pairs, inner);
    }
    match held(object)? {
        Some(held) => inner(held),
        None => other(object),
    }
}

fn scalar(object: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Some(text.to_str()?.into()));
    }
    if object.is_none() {
        return Ok(Some(Value::Null));
    }
    if let Ok(value) = object.cast::<PyBool>() {
        return Ok(Some(value.is_true().into()));
    }
    if object.is_instance_of::<PyInt>() {
        let digits = object.call_method0("__int__")?.str()?;
        return json::read(digits.to_str()?).map(Some).map_err(|error| PyValueError::new_err(error.to_string()));
    }
    Ok(object.cast::<PyFloat>().ok().map(|value| Value::Number(value.value().into())))
}

fn entries<'py>(
    pairs: impl IntoIterator<Item = (Bound<'py, PyAny>, Bound<'py, PyAny>)>,
    value_of: impl Fn(Bound<'py, PyAny>) -> PyResult<Value>,
) -> PyResult<Value> {
    let mut entries = Object::new();
    for (key, value) in pairs {
        let Ok(key) = key.cast::<PyString>() else {
            let message = format!("a key must be a str, not {}", key.get_type().name()?);
            return Err(PyTypeError::new_err(message));
        };
        entries.insert(key.to_str()?, value_of(value)?);
    }
    Ok(Value::Object(entries))
}

/// What a dataclass, a pydantic model or a scalar of NumPy holds, one level deep: fields may be large.
fn held<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    if object.is_instance_of::<PyType>() {
        return Ok(None);
    }
    if object.get_type().hasattr("__dataclass_fields__")? {
        let held = PyDict::new(py);
        for field in py.import("dataclasses")?.call_method1("fields", (object,))?.try_iter()? {
            let name = field?.getattr("name")?.cast_into::<PyString>()?;
            held.set_item(&name, object.getattr(&name)?)?;
        }
        return Ok(Some(held.into_any()));
    }
    if let Some(dump) = object.getattr_opt("model_dump")?.filter(|dump| dump.is_callable()) {
        return dump.call0().map(Some);
    }
    let modules = py.import("sys")?.getattr("modules")?.cast_into::<PyDict>()?;
    match modules.get_item("numpy")? {
        Some(numpy) if object.is_instance(&numpy.getattr("generic")?)? => object.call_method0("item").map(Some),
        _ => Ok(None),
    }
}

/// Messages as transformers hands them to a chat template: in place of media there is the name of their class, and keys
/// without a value are left out.
pub fn messages(given: &Bound<'_, PyAny>) -> PyResult<Vec<Value>> {
    let own = given.getattr_opt("messages")?;
    let named = |other: &Bound<'_, PyAny>| Ok(format!("<{}>", other.get_type().name()?).into());
    let mut messages = Vec::new();
    for item in own.as_ref().unwrap_or(given).try_iter()? {
        let item = item?;
        let message = nested(&item, 0, &named)?;
        if message.as_object().is_none() {
            let given = item.repr()?;
            let problem = format!("chat messages should be dicts, dataclasses or pydantic models, but got {given}");
            return Err(PyTypeError::new_err(problem));
        }
        messages.push(without_nulls(message));
    }
    Ok(messages)
}

/// The body of a request, whose messages lack keys without a value, too.
pub fn request(given: &Bound<'_, PyAny>) -> PyResult<Value> {
    let mut body = from_python(given)?;
    if let Value::Object(entries) = &mut body
        && let Some(Value::List(messages)) = entries.get_mut("messages")
    {
        *messages = std::mem::take(messages).into_iter().map(without_nulls).collect();
    }
    Ok(body)
}

fn without_nulls(message: Value) -> Value {
    match message {
        Value::Object(entries) => Value::Object(entries.into_iter().filter(|(_, value)| !value.is_null()).collect()),
        other => other,
    }
}

/// The tools of a request: dicts or functions. An empty list stays one, because a chat template may tell it from none.
pub fn tools(tools: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Value>> {
    let Some(tools) = tools.filter(|tools| !tools.is_none()) else { return Ok(None) };
    let mut items = Vec::new();
    if tools.is_instance_of::<PyString>() || tools.is_instance_of::<PyDict>() {
        return Err(wrong_type(tools, "`tools` is a list of dicts or functions"));
    }
    for item in tools.try_iter()? {
        let item = item?;
        let is_function = item.is_callable() && !item.is_instance_of::<PyDict>();
        let tool = match is_function {
            true => {
                let module = item.py().import("backchat._functions")?;
                from_python(&module.call_method1("tool_of", (&item,))?)?
            }
            false => from_python(&item)?,
        };
        if tool.as_object().is_none() {
            return Err(wrong_type(&item, "a tool is a dict or a function"));
        }
        items.push(tool);
    }
    Ok(Some(Value::List(items)))
}
