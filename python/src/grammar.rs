//! Grammars of one model: built once, then queried for each request.

use std::ffi::CString;

use backchat::Template;
use backchat::chat::{ChatTemplate, RenderOptions, source};
use backchat::diagnostic::Diagnostic;
use backchat::grammar::{Builder, Choice, Format, Reasoning, Request, SpecialToken, assume, render_prompt};
use backchat::json::{Object, Value};
use backchat_core::diagnostic::escape;
use backchat_grammar::{Layout, result};
use backchat_workbench::answers;
use backchat_workbench::input;
use pyo3::exceptions::{PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyString, PyTuple};

use crate::errors::not_loaded;
use crate::model::{Model, Selection};
use crate::names::{self, Named, one_of};
use crate::pickled::Arguments;
use crate::template::{self, PyTemplate};
use crate::value::{from_python, request as read_request, to_python, tools as read_tools};

/// The grammars of one model.
#[pyclass(frozen, module = "backchat")]
pub struct Grammar {
    template: Template,
    builder: Builder,
    special: Vec<SpecialToken>,
    /// The renderer of the requests' prompts, if there is a chat template.
    prompts: Option<(ChatTemplate, Object)>,
    arguments: Arguments,
}

#[pymethods]
impl Grammar {
    /// Infers how a model writes its turns. The response template is the given one, else the one stored with the model,
    /// else a derived one.
    #[new]
    #[pyo3(signature = (chat_template, *, response_template=None, variables=None, special_tokens=None, template_name=None, budget=1.0))]
    fn new(
        py: Python<'_>,
        chat_template: &Bound<'_, PyAny>,
        response_template: Option<&Bound<'_, PyAny>>,
        variables: Option<&Bound<'_, PyDict>>,
        special_tokens: Option<&Bound<'_, PyAny>>,
        template_name: Option<&str>,
        budget: f64,
    ) -> PyResult<Self> {
        let named = [
            ("response_template", response_template.cloned()),
            ("variables", variables.map(|variables| variables.as_any().clone())),
            ("special_tokens", special_tokens.cloned()),
            ("template_name", template_name.map(|name| PyString::new(py, name).into_any())),
            ("budget", Some(PyFloat::new(py, budget).into_any())),
        ];
        let arguments = Arguments::new(py, &[chat_template], named)?;
        if let Some(template) = response_template_alone(chat_template)? {
            let wire = py.detach(|| assume(&template)).map_err(|problem| not_loaded(py, &[problem]))?;
            let special = special_tokens.map(named_tokens).transpose()?.unwrap_or_default();
            return Ok(Self {
                builder: Builder::new(template.clone(), wire),
                template,
                special,
                prompts: None,
                arguments,
            });
        }
        let model = Model::to_derive(chat_template, Selection::new(variables, template_name).budget(budget)?)?;
        let compiled = model.compiled(py)?;
        let options = model.options(None, None, None)?;
        let known = match (response_template, &model.place) {
            (Some(given), _) => Some(template::of(given)?),
            (None, Some(place)) => input::template(&place.name).ok().map(|opened| opened.loaded.template),
            (None, None) => None,
        };
        let opened = py.detach(|| backchat::derive::Model::open(&model.source, known, &options));
        let opened = opened.map_err(|problems| not_loaded(py, &problems))?;
        warn_of(py, opened.doubts())?;
        let special = match (special_tokens, &model.place) {
            (Some(given), _) => named_tokens(given)?,
            (None, Some(place)) => {
                answers::special_tokens(&place.name).map_err(|problem| not_loaded(py, &problem.diagnostics))?
            }
            (None, None) => Vec::new(),
        };
        let builder = Builder::new(opened.template.clone(), opened.wire);
        let prompts = Some((compiled, model.variables.clone()));
        Ok(Self { template: opened.template, builder, special, prompts, arguments })
    }

    fn __getnewargs_ex__(&self, py: Python<'_>) -> (Py<PyTuple>, Py<PyDict>) {
        self.arguments.get(py)
    }

    /// The response template that parses the outputs the grammars allow.
    #[getter]
    fn template(&self) -> PyTemplate {
        self.template.clone().into()
    }

    /// Writes the grammar of one request, given by its tools or by the body of a chat completion.
    #[pyo3(signature = (tools=None, *, request=None, tool_choice=None, parallel=None, prompt=None, reasoning="auto", format="gbnf"))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn for_request<'py>(
        &self,
        py: Python<'py>,
        tools: Option<&Bound<'py, PyAny>>,
        request: Option<&Bound<'py, PyAny>>,
        tool_choice: Option<&Bound<'py, PyAny>>,
        parallel: Option<bool>,
        prompt: Option<&str>,
        reasoning: &str,
        format: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let tools = read_tools(tools)?.filter(|tools| !tools.is_empty());
        let choice = tool_choice.map(from_python).transpose()?.filter(|choice| !choice.is_null());
        let choice = choice.as_ref().map(Choice::read).transpose().map_err(|problem| not_loaded(py, &[problem]))?;
        let body = request.map(read_request).transpose()?.filter(|body| !body.is_null());
        if body.is_some() && (tools.is_some() || choice.is_some() || parallel.is_some()) {
            let message = "`request` has tools, a choice and parallel calls of its own: pass one or the other";
            return Err(PyValueError::new_err(message));
        }
        let thinking = one_of("reasoning", &Reasoning::ALL.map(|value| (value.name(), value)), reasoning)?;
        let format = one_of("format", &Format::ALL.map(|format| (format.name(), format)), format)?;
        let write = || -> Result<Value, Vec<Diagnostic>> {
            let mut rendered = None;
            let mut request = match &body {
                Some(body) => {
                    if let (None, Some((template, variables))) = (prompt, &self.prompts) {
                        let options = RenderOptions::default().now(answers::NOW.to_owned());
                        rendered =
                            render_prompt(template, body, variables, &options).map_err(|problem| vec![problem])?;
                    }
                    Request::from_body(body)?
                }
                None => Request::default().tools(tools.as_ref()).choice(choice.as_ref()).parallel(parallel),
            };
            if let Some(prompt) = prompt.or(rendered.as_deref()) {
                request = request.prompt(prompt);
            }
            if body.is_none() || thinking != Reasoning::Auto {
                request = request.reasoning(thinking);
            }
            let grammar = self.builder.build(&request)?.with_special_tokens(&self.special);
            let mut result = result(&grammar, format, Layout::default());
            if let (Value::Object(entries), Some(prompt)) = (&mut result, rendered.clone()) {
                entries.insert("prompt", prompt.into());
            }
            Ok(result)
        };
        to_python(py, &py.detach(write).map_err(|problems| not_loaded(py, &problems))?)
    }
}

/// The response template, if the argument is one: an object, JSON text, or a source without a chat template.
fn response_template_alone(given: &Bound<'_, PyAny>) -> PyResult<Option<Template>> {
    let py = given.py();
    if given.is_instance_of::<PyTemplate>() || given.is_instance_of::<PyDict>() {
        return template::of(given).map(Some);
    }
    match Named::of(given, "a model is a str, a path, a dict or a Template")? {
        Named::Text(text) if names::is_json(&text) => template::of(given).map(Some),
        Named::Text(_) => Ok(None),
        Named::Place(place) if place.name == "-" => Ok(None),
        Named::Place(place) => Ok(py.detach(|| match source::open(&place.name, None) {
            Ok(_) => None,
            Err(_) => input::template(&place.name).ok().map(|opened| opened.loaded.template),
        })),
    }
}

/// Special tokens: a list of texts, or a dict of texts and ids, such as that of `get_added_vocab()`.
fn named_tokens(given: &Bound<'_, PyAny>) -> PyResult<Vec<SpecialToken>> {
    if let Ok(ids) = given.cast::<PyDict>() {
        let token = |(text, id): (Bound<'_, PyAny>, Bound<'_, PyAny>)| -> PyResult<SpecialToken> {
            Ok(SpecialToken::new(text.extract::<String>()?, id.extract()?))
        };
        return ids.iter().map(token).collect();
    }
    given.try_iter()?.map(|text| Ok(SpecialToken::new(text?.extract::<String>()?, None))).collect()
}

/// Warns of a derivation that is not proved, with what is lost or not read.
fn warn_of(py: Python<'_>, doubts: &[String]) -> PyResult<()> {
    if doubts.is_empty() {
        return Ok(());
    }
    let text = CString::new(escape(&doubts.join("; ")).as_bytes())?;
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)
}
