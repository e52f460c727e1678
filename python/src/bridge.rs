//! The token ids between a sample and the model's next turn.

use std::sync::Arc;

use backchat::bridge::{Bridge, Sample};
use backchat::chat::RenderOptions;
use backchat::json::{Object, Value};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::errors::not_read;
use crate::model::{Model, Selection};
use crate::names::one_of;
use crate::pickled::Arguments;
use crate::template;
use crate::tokens;
use crate::value::{messages as read_messages, object, to_python, tools as read_tools};

/// Joins the turns of one model.
#[pyclass(frozen, name = "Bridge", module = "backchat", subclass)]
pub struct PyBridge {
    inner: Bridge,
    arguments: Arguments,
}

#[pymethods]
impl PyBridge {
    #[new]
    #[pyo3(signature = (chat_template, tokenizer, template, *, variables=None, template_name=None))]
    fn new(
        py: Python<'_>,
        chat_template: &Bound<'_, PyAny>,
        tokenizer: &Bound<'_, PyAny>,
        template: &Bound<'_, PyAny>,
        variables: Option<&Bound<'_, PyDict>>,
        template_name: Option<&str>,
    ) -> PyResult<Self> {
        let named = [
            ("variables", variables.map(|variables| variables.as_any().clone())),
            ("template_name", template_name.map(|name| PyString::new(py, name).into_any())),
        ];
        let arguments = Arguments::new(py, &[chat_template, tokenizer, template], named)?;
        let mut model = Model::of(chat_template, Selection::new(variables, template_name))?;
        model.add_tokens_of(tokenizer)?;
        let chat = Arc::new(model.compiled(py)?);
        let tokenizer = tokens::to_encode(tokenizer)?.get().encoder(py)?;
        let template = template::of(template)?;
        let options = RenderOptions::default();
        let inner = Bridge::new(chat, model.variables, options, &tokenizer, &template);
        Ok(Self { inner: inner.map_err(|error| PyValueError::new_err(error.to_string()))?, arguments })
    }

    fn __getnewargs_ex__(&self, py: Python<'_>) -> (Py<PyTuple>, Py<PyDict>) {
        self.arguments.get(py)
    }

    /// The model's message after a prompt.
    fn read<'py>(&self, py: Python<'py>, prompt_ids: Vec<u32>, sampled_ids: Vec<u32>) -> PyResult<Bound<'py, PyDict>> {
        let read = py.detach(|| self.inner.read(&prompt_ids, &sampled_ids));
        object(py, &read.map_err(|error| not_read(py, &error.to_string()))?.message)
    }

    #[pyo3(signature = (messages, prompt_ids, sampled_ids, new_messages, *, tools=None, stop_ids=Vec::new(), edits="report"))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn _next<'py>(
        &self,
        py: Python<'py>,
        messages: &Bound<'py, PyAny>,
        prompt_ids: Vec<u32>,
        sampled_ids: Vec<u32>,
        new_messages: &Bound<'py, PyAny>,
        tools: Option<&Bound<'py, PyAny>>,
        stop_ids: Vec<u32>,
        edits: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (messages, new) = (read_messages(messages)?, read_messages(new_messages)?);
        let tools = read_tools(tools)?;
        let refuses_edits = one_of("edits", &[("report", false), ("refuse", true)], edits)?;
        let sample = Sample {
            messages: &messages,
            tools: tools.as_ref(),
            prompt_ids: &prompt_ids,
            sampled_ids: &sampled_ids,
            new_messages: &new,
            stop_ids: &stop_ids,
            refuses_edits,
        };
        let answer: Object = py.detach(|| backchat_workbench::answers::bridge(&self.inner.next(&sample)));
        to_python(py, &Value::Object(answer))
    }
}
