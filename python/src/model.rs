//! Chat templates that callers name or pass as text, with the special tokens of their models.

use backchat::chat::source::{self, Source};
use backchat::chat::{Budget, ChatTemplate, RenderOptions};
use backchat::derive::{Options, Sample, Target};
use backchat::json::{Object, Value};
use backchat_workbench::answers;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::not_loaded;
use crate::names::{Named, Place};
use crate::tokens;
use crate::value::from_python;

/// The expected type of a chat template, for errors.
const EXPECTED: &str = "a chat template is a str or a path";

/// A chat template and the variables that its model sets.
pub struct Model {
    pub source: String,
    pub variables: Object,
    /// The source that it was read from.
    pub place: Option<Place>,
    /// The work that its examination may do.
    pub budget: Budget,
}

/// Selects one of several templates, and sets its variables.
#[derive(Clone, Copy, Default)]
pub struct Selection<'a, 'py> {
    pub variables: Option<&'a Bound<'py, PyDict>>,
    pub template_name: Option<&'a str>,
    budget: Budget,
}

impl<'a, 'py> Selection<'a, 'py> {
    pub fn new(variables: Option<&'a Bound<'py, PyDict>>, template_name: Option<&'a str>) -> Self {
        Self { variables, template_name, budget: Budget::default() }
    }

    /// Allows this many times the usual work for examining it.
    pub fn budget(self, times: f64) -> PyResult<Self> {
        Ok(Self { budget: budget(times)?, ..self })
    }
}

/// A budget of this many times the usual work.
pub fn budget(times: f64) -> PyResult<Budget> {
    let is_positive = times > 0.0;
    is_positive.then(|| Budget::times(times)).ok_or_else(|| PyValueError::new_err("`budget` should be above 0"))
}

impl Model {
    /// The model for most functions: of several templates, the one for tools.
    pub fn of(chat_template: &Bound<'_, PyAny>, given: Selection<'_, '_>) -> PyResult<Self> {
        Self::with(chat_template, given, Source::for_tools)
    }

    /// The model for deriving and proving, with the special tokens of the files next to it.
    pub fn to_derive(chat_template: &Bound<'_, PyAny>, given: Selection<'_, '_>) -> PyResult<Self> {
        Self::with(chat_template, given, |source| source.for_tools().with_tokens_beside())
    }

    /// The model for rendering: of several templates, the one for tools if the conversation has tools.
    pub fn to_render(chat_template: &Bound<'_, PyAny>, given: Selection<'_, '_>, has_tools: bool) -> PyResult<Self> {
        Self::with(chat_template, given, |source| if has_tools { source.for_tools() } else { source })
    }

    fn with(
        chat_template: &Bound<'_, PyAny>,
        given: Selection<'_, '_>,
        choose: impl FnOnce(Source) -> Source + Send,
    ) -> PyResult<Self> {
        let py = chat_template.py();
        let mut model = match Named::of(chat_template, EXPECTED)? {
            Named::Text(_) if given.template_name.is_some() => {
                return Err(PyValueError::new_err(
                    "`template_name` selects from the templates of a file or model, not from text",
                ));
            }
            Named::Text(source) => Self { source, variables: Object::new(), place: None, budget: given.budget },
            Named::Place(place) => {
                let found = py.detach(|| source::open(&place.name, given.template_name).map(choose));
                let found = found.map_err(|error| not_loaded(py, &place.tried(error.diagnostics)))?;
                let (source, variables) = (found.template, found.special_tokens);
                Self { source, variables, place: Some(place), budget: given.budget }
            }
        };
        if let Some(Value::Object(given)) = given.variables.map(|given| from_python(given)).transpose()? {
            model.variables.extend(given);
        }
        Ok(model)
    }

    /// Takes the special tokens of a tokenizer that neither the model's own files nor the caller define.
    pub fn add_tokens_of(&mut self, tokenizer: &Bound<'_, PyAny>) -> PyResult<()> {
        for (name, token) in tokens::special_tokens(tokenizer)? {
            self.variables.entry(name).or_insert(token);
        }
        Ok(())
    }

    pub fn compiled(&self, py: Python<'_>) -> PyResult<ChatTemplate> {
        ChatTemplate::compile(&self.source)
            .map_err(|error| not_loaded(py, &[error.diagnostic(&self.source, self.name())]))
    }

    /// Its name in messages.
    pub fn name(&self) -> &str {
        self.place.as_ref().map_or("<chat template>", |place| &place.name)
    }

    pub fn now() -> RenderOptions {
        RenderOptions::default().now(answers::NOW.to_owned())
    }

    /// The options for examining it.
    pub fn to_examine(&self) -> backchat::doctor::Options {
        let options = backchat::doctor::Options::default().variables(self.variables.clone()).budget(self.budget);
        options.now(answers::NOW.to_owned())
    }

    /// Examines it within its budget, for examinations that take no options.
    pub fn examine<T: Send>(&self, py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
        py.detach(|| backchat_chat::examine(self.budget, work))
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
            .budget(self.budget)
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

/// Recorded outputs: the name of a file, or texts and dicts with `text` and other keys.
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
