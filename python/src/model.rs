//! Chat templates as callers give them, with what their models give them.

use backchat::chat::source::{self, Source};
use backchat::chat::{ChatTemplate, RenderOptions};
use backchat::derive::{Options, Sample, Target};
use backchat::json::{Object, Value};
use backchat_workbench::answers;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::not_loaded;
use crate::names::{Named, Place};
use crate::value::from_python;

/// What a chat template may be.
const EXPECTED: &str = "a chat template is a str or a path";

/// A chat template and the variables that its model gives it.
pub struct Model {
    pub source: String,
    pub variables: Object,
    /// The place that it was read from.
    pub place: Option<Place>,
}

/// Which template of several is read, and what its variables are set to.
#[derive(Clone, Copy, Default)]
pub struct Given<'a, 'py> {
    pub variables: Option<&'a Bound<'py, PyDict>>,
    pub template_name: Option<&'a str>,
}

impl<'a, 'py> Given<'a, 'py> {
    pub fn new(variables: Option<&'a Bound<'py, PyDict>>, template_name: Option<&'a str>) -> Self {
        Self { variables, template_name }
    }
}

impl Model {
    /// The model that most functions look at: the template for tools, if there are several.
    pub fn of(chat_template: &Bound<'_, PyAny>, given: Given<'_, '_>) -> PyResult<Self> {
        Self::with(chat_template, given, Source::for_tools)
    }

    /// The model that a response template is derived from and proved with: it has the tokens of the files beside it.
    pub fn to_derive(chat_template: &Bound<'_, PyAny>, given: Given<'_, '_>) -> PyResult<Self> {
        Self::with(chat_template, given, |source| source.for_tools().with_tokens_beside())
    }

    /// The model of a conversation: its template for tools, if it has some.
    pub fn to_render(chat_template: &Bound<'_, PyAny>, given: Given<'_, '_>, has_tools: bool) -> PyResult<Self> {
        Self::with(chat_template, given, |source| if has_tools { source.for_tools() } else { source })
    }

    fn with(
        chat_template: &Bound<'_, PyAny>,
        given: Given<'_, '_>,
        choose: impl FnOnce(Source) -> Source + Send,
    ) -> PyResult<Self> {
        let py = chat_template.py();
        let mut model = match Named::of(chat_template, EXPECTED)? {
            Named::Text(_) if given.template_name.is_some() => {
                return Err(PyValueError::new_err(
                    "`template_name` chooses from the templates of a place, not from text",
                ));
            }
            Named::Text(source) => Self { source, variables: Object::new(), place: None },
            Named::Place(place) => {
                let found = py.detach(|| source::open(&place.name, given.template_name).map(choose));
                let found = found.map_err(|error| not_loaded(py, &place.tried(error.diagnostics)))?;
                Self { source: found.template, variables: found.special_tokens, place: Some(place) }
            }
        };
        if let Some(Value::Object(given)) = given.variables.map(|given| from_python(given)).transpose()? {
            model.variables.extend(given);
        }
        Ok(model)
    }

    pub fn compiled(&self, py: Python<'_>) -> PyResult<ChatTemplate> {
        ChatTemplate::compile(&self.source)
            .map_err(|error| not_loaded(py, &[error.diagnostic(&self.source, self.name())]))
    }

    /// How messages name it.
    pub fn name(&self) -> &str {
        self.place.as_ref().map_or("<chat template>", |place| &place.name)
    }

    pub fn now() -> RenderOptions {
        RenderOptions::default().now(answers::NOW.to_owned())
    }

    /// How it is examined.
    pub fn to_examine(&self) -> backchat::doctor::Options {
        backchat::doctor::Options::default().variables(self.variables.clone()).now(answers::NOW.to_owned())
    }

    pub fn options(
        &self,
        target: Option<&Bound<'_, PyAny>>,
        samples: Option<&Bound<'_, PyAny>>,
        reasoning_field: Option<String>,
    ) -> PyResult<Options> {
        let tokens = self.variables.values().filter_map(Value::as_str);
        Ok(Options::default()
            .variables(self.variables.clone())
            .now(answers::NOW.to_owned())
            .special_tokens(tokens.map(str::to_owned).collect())
            .reasoning_field(reasoning_field)
            .targets(targets(target)?)
            .samples(samples.map(read_samples).transpose()?.unwrap_or_default()))
    }
}

/// Readers by their names.
pub fn targets(target: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<&'static Target>> {
    let Some(target) = target.filter(|target| !target.is_none()) else { return Ok(Vec::new()) };
    let names: Vec<String> = match target.extract::<String>() {
        Ok(name) => vec![name],
        Err(_) => target.extract()?,
    };
    let find = |name: &String| {
        Target::named(name).ok_or_else(|| PyValueError::new_err(format!("there is no target {name:?}")))
    };
    names.iter().map(find).collect()
}

/// Recorded outputs: the file that has them, or texts and dicts with `text` and what is known about it.
pub fn read_samples(given: &Bound<'_, PyAny>) -> PyResult<Vec<Sample>> {
    let py = given.py();
    if let Ok(file) = Place::of(given, "") {
        let read = py.detach(|| answers::samples(&file.name));
        return read.map_err(|problem| not_loaded(py, &file.tried(problem.diagnostics)));
    }
    let mut samples = Vec::new();
    for (number, item) in given.try_iter()?.enumerate() {
        let item = from_python(&item?)?;
        let text = |key: &str| item.get(key).and_then(Value::as_str).map(str::to_owned);
        let own = item.as_str().map(str::to_owned).or_else(|| text("text"));
        let own = own.ok_or_else(|| PyValueError::new_err(format!("sample {number} has no `text`")))?;
        let name = text("id").or_else(|| text("name")).unwrap_or_else(|| format!("sample {}", number + 1));
        let given = |key: &str| item.get(key).filter(|value| !value.is_null()).cloned();
        let sample = Sample::new(name, own).prefix(text("prefix"));
        samples.push(sample.message(given("message")).tools(given("tools")));
    }
    Ok(samples)
}
