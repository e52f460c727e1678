//! What the command does, as functions. Each gives what the command prints as JSON, and `python/backchat/_workbench.py` shapes it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use backchat::chat::source::{self, Source};
use backchat::chat::{ChatTemplate, RenderOptions};
use backchat::chats::MaskRule;
use backchat::check::fixture::{self, FixtureFile};
use backchat::check::{Entry, Loaded, Settings, Status};
use backchat::cli::answers::{self, Tokenized};
use backchat::derive::{Options, Sample, Target};
use backchat::diagnostic::Diagnostic;
use backchat::json::{Object, Value};
use backchat::lint::Subject;
use backchat::schema::Schema;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::errors::{not_loaded, problems};
use crate::template;
use crate::tokens;
use crate::value::{from_python, to_python, tools as read_tools};

/// Runs the command with these arguments, the program's name first; gives its exit code.
#[pyfunction]
pub fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| backchat::cli::run_to_code(arguments))
}

/// A chat template and the variables that its model gives it.
pub struct Model {
    pub source: String,
    pub variables: Object,
    /// The name of the place that it was read from.
    pub place: Option<String>,
}

impl Model {
    /// A template's own text, or the name of a place that holds one: a path, or a text without any Jinja.
    pub fn of(given: &Bound<'_, PyAny>, variables: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let name = given.str()?;
        let name = name.to_str()?;
        let is_text = given.is_instance_of::<PyString>() && (name.contains(['{', '\n']) || name.is_empty());
        let mut model = match is_text {
            true => Self { source: name.to_owned(), variables: Object::new(), place: None },
            false => {
                let found: Source =
                    source::open(name, None).map_err(|error| not_loaded(given.py(), &error.diagnostics))?.for_tools();
                Self { source: found.template, variables: found.special_tokens, place: Some(name.to_owned()) }
            }
        };
        if let Some(Value::Object(given)) = variables.map(|given| from_python(given)).transpose()? {
            model.variables.extend(given);
        }
        Ok(model)
    }

    pub fn compiled(&self, py: Python<'_>) -> PyResult<ChatTemplate> {
        ChatTemplate::compile(&self.source)
            .map_err(|error| not_loaded(py, &[error.diagnostic(&self.source, "<chat template>")]))
    }

    fn now() -> RenderOptions {
        RenderOptions::default().now(answers::NOW.to_owned())
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

fn targets(target: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<&'static Target>> {
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

/// Recorded outputs: texts, or dicts with `text` and what is known about it.
fn read_samples(given: &Bound<'_, PyAny>) -> PyResult<Vec<Sample>> {
    let mut samples = Vec::new();
    for (number, item) in given.try_iter()?.enumerate() {
        let item = from_python(&item?)?;
        let text = |key: &str| item.get(key).and_then(Value::as_str).map(str::to_owned);
        let own = item.as_str().map(str::to_owned).or_else(|| text("text"));
        let own = own.ok_or_else(|| PyValueError::new_err(format!("sample {number} has no `text`")))?;
        let name = text("name").unwrap_or_else(|| format!("sample {}", number + 1));
        let given = |key: &str| item.get(key).filter(|value| !value.is_null()).cloned();
        let sample = Sample::new(name, own).prefix(text("prefix"));
        samples.push(sample.message(given("message")).tools(given("tools")));
    }
    Ok(samples)
}

#[pyfunction]
#[pyo3(signature = (chat_template, *, target=None, variables=None, samples=None, reasoning_field=None))]
pub fn derive<'py>(
    py: Python<'py>,
    chat_template: &Bound<'py, PyAny>,
    target: Option<&Bound<'py, PyAny>>,
    variables: Option<&Bound<'py, PyDict>>,
    samples: Option<&Bound<'py, PyAny>>,
    reasoning_field: Option<String>,
) -> PyResult<(Bound<'py, PyAny>, String)> {
    let model = Model::of(chat_template, variables)?;
    let options = model.options(target, samples, reasoning_field)?;
    let (value, page) = py.detach(|| {
        let derivation = backchat::derive::derive(&model.source, &options);
        (derivation.to_value(), derivation.explain("chat_template"))
    });
    Ok((to_python(py, &value)?, page))
}

#[pyfunction]
#[pyo3(signature = (chat_template, template, *, samples=None, variables=None))]
pub fn prove<'py>(
    py: Python<'py>,
    chat_template: &Bound<'py, PyAny>,
    template: &Bound<'py, PyAny>,
    samples: Option<&Bound<'py, PyAny>>,
    variables: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let model = Model::of(chat_template, variables)?;
    let options = model.options(None, samples, None)?;
    let template = template::of(template)?;
    let value = py.detach(|| backchat::derive::prove(&model.source, &template, &options).to_value());
    to_python(py, &value)
}

#[pyfunction]
#[pyo3(signature = (template, *, target=None))]
pub fn lint<'py>(
    py: Python<'py>,
    template: &Bound<'py, PyAny>,
    target: Option<&Bound<'py, PyAny>>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let template = template::of(template)?;
    let targets = targets(target)?;
    let found = py.detach(|| backchat::lint::lint(&Subject::new(&template, &targets)));
    problems(py, &found)
}

/// What a template is rendered with: what transformers always gives, then what is said here.
fn context(
    model: &Model,
    messages: &Bound<'_, PyAny>,
    tools: Option<&Bound<'_, PyAny>>,
    add_generation_prompt: bool,
) -> PyResult<Object> {
    let mut context = Object::new();
    context.insert("messages".to_owned(), from_python(messages)?);
    context.insert("tools".to_owned(), read_tools(tools)?.unwrap_or_default());
    context.insert("documents".to_owned(), Value::Null);
    context.insert("add_generation_prompt".to_owned(), add_generation_prompt.into());
    context.extend(model.variables.clone());
    Ok(context)
}

#[pyfunction]
#[pyo3(signature = (chat_template, messages, *, tools=None, add_generation_prompt=false, variables=None))]
pub fn render<'py>(
    py: Python<'py>,
    chat_template: &Bound<'py, PyAny>,
    messages: &Bound<'py, PyAny>,
    tools: Option<&Bound<'py, PyAny>>,
    add_generation_prompt: bool,
    variables: Option<&Bound<'py, PyDict>>,
) -> PyResult<(String, Vec<(usize, usize)>)> {
    let model = Model::of(chat_template, variables)?;
    let template = model.compiled(py)?;
    let context = context(&model, messages, tools, add_generation_prompt)?;
    // As transformers does, it tells the time of now.
    let rendered = py.detach(|| template.render(&context, &RenderOptions::default()));
    let rendered = rendered.map_err(|error| not_loaded(py, &[error.diagnostic(&model.source, "<chat template>")]))?;
    Ok((rendered.text, rendered.assistant_spans))
}

#[pyfunction]
#[pyo3(signature = (chat_template, messages, *, tools=None, parts=vec!["assistant".to_owned()], offsets=None, tokenizer=None, token_ids=None, rule="overlap", variables=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn mask<'py>(
    py: Python<'py>,
    chat_template: &Bound<'py, PyAny>,
    messages: &Bound<'py, PyAny>,
    tools: Option<&Bound<'py, PyAny>>,
    parts: Vec<String>,
    offsets: Option<&Bound<'py, PyAny>>,
    tokenizer: Option<&Bound<'py, PyAny>>,
    token_ids: Option<Vec<u32>>,
    rule: &str,
    variables: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let model = Model::of(chat_template, variables)?;
    let template = model.compiled(py)?;
    let context = context(&model, messages, tools, false)?;
    let offsets = offsets.map(from_python).transpose()?;
    let rule = match rule {
        "overlap" => MaskRule::Overlap,
        "reference" => MaskRule::Reference,
        _ => return Err(PyValueError::new_err(format!("`rule` is \"overlap\" or \"reference\", not {rule:?}"))),
    };
    let tokenizer = tokenizer.map(tokens::of).transpose()?;
    let tokenized = match (&tokenizer, token_ids, &offsets) {
        (Some(tokenizer), Some(ids), None) => Tokenized::Ids(tokenizer.get().tokens().clone(), ids, rule),
        (Some(tokenizer), None, None) => Tokenized::By(tokenizer.get().encoder(py)?, rule),
        (None, None, Some(offsets)) => Tokenized::Offsets(offsets),
        (None, None, None) => Tokenized::None,
        (None, Some(_), _) => return Err(PyValueError::new_err("`token_ids` need a `tokenizer`")),
        (Some(_), _, Some(_)) => {
            return Err(PyValueError::new_err("give a `tokenizer` or `offsets`, not both"));
        }
    };
    let answer = py.detach(|| answers::mask(&template, &context, &RenderOptions::default(), &parts, tokenized));
    to_python(py, &Value::Object(answer.map_err(PyValueError::new_err)?))
}

/// What a look at a chat template gives.
fn examined<'py>(
    py: Python<'py>,
    chat_template: &Bound<'py, PyAny>,
    variables: Option<&Bound<'py, PyDict>>,
    look: impl FnOnce(&ChatTemplate, &backchat::doctor::Options) -> Value + Send,
) -> PyResult<Bound<'py, PyAny>> {
    let model = Model::of(chat_template, variables)?;
    let template = model.compiled(py)?;
    let options = backchat::doctor::Options::default().variables(model.variables).now(answers::NOW.to_owned());
    to_python(py, &py.detach(|| look(&template, &options)))
}

#[pyfunction]
#[pyo3(signature = (chat_template, *, variables=None))]
pub fn doctor<'py>(
    py: Python<'py>,
    chat_template: &Bound<'py, PyAny>,
    variables: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    examined(py, chat_template, variables, answers::doctor)
}

#[pyfunction]
#[pyo3(signature = (chat_template, *, variables=None))]
pub fn input_schema<'py>(
    py: Python<'py>,
    chat_template: &Bound<'py, PyAny>,
    variables: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    examined(py, chat_template, variables, backchat::doctor::input_schema)
}

#[pyfunction]
#[pyo3(signature = (chat_template, text, *, variables=None))]
pub fn unrender<'py>(
    py: Python<'py>,
    chat_template: &Bound<'py, PyAny>,
    text: &str,
    variables: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let model = Model::of(chat_template, variables)?;
    let template = model.compiled(py)?;
    match py.detach(|| answers::unrender(&template, model.variables, Model::now(), text)) {
        Ok(chat) => to_python(py, &Value::Object(chat)),
        Err(error) => {
            let told = error.get("error").and_then(|error| error.get("message")).and_then(Value::as_str);
            Err(PyValueError::new_err(told.unwrap_or("the template renders no such text").to_owned()))
        }
    }
}

#[pyfunction]
#[pyo3(signature = (chat_template, *, variables=None))]
pub fn add_generation_blocks(
    py: Python<'_>,
    chat_template: &Bound<'_, PyAny>,
    variables: Option<&Bound<'_, PyDict>>,
) -> PyResult<(String, usize, Vec<String>, bool)> {
    let model = Model::of(chat_template, variables)?;
    let patched = py.detach(|| backchat::chats::add_generation_blocks(&model.source, &model.variables, &Model::now()));
    let patched = patched.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((patched.template, patched.conversations, patched.rewritten, patched.had_blocks))
}

#[pyfunction]
#[pyo3(signature = (schema, *, chat_template=None, samples=None, start_anchor=None))]
pub fn convert<'py>(
    py: Python<'py>,
    schema: &Bound<'py, PyAny>,
    chat_template: Option<&Bound<'py, PyAny>>,
    samples: Option<&Bound<'py, PyAny>>,
    start_anchor: Option<String>,
) -> PyResult<Bound<'py, PyAny>> {
    let value = from_python(schema)?;
    let loaded = Schema::from_value(&value).map_err(|problems| not_loaded(py, &problems))?;
    let mut options = backchat::convert::Options::default();
    if let Some(chat_template) = chat_template {
        let model = Model::of(chat_template, None)?;
        let derive = model.options(None, None, None)?;
        let derivation = py.detach(|| backchat::derive::derive(&model.source, &derive));
        let draft = derivation.response_template.as_ref();
        let derived = draft.and_then(|draft| backchat::Template::from_value(draft).ok());
        options.derived = derived.map(|loaded| loaded.template);
        for key in ["start_anchor", "start_anchor_pattern"] {
            if let Some(anchor) = draft.and_then(|draft| draft.get(key)) {
                options.anchor = Some((key, anchor.clone()));
            }
        }
    }
    if let Some(anchor) = start_anchor {
        options.anchor = Some(("start_anchor", anchor.into()));
    }
    if options.anchor.is_none() {
        return Err(PyValueError::new_err(
            "a response schema does not say where a turn begins: give `chat_template` or `start_anchor`",
        ));
    }
    options.samples = samples
        .map(read_samples)
        .transpose()?
        .unwrap_or_default()
        .into_iter()
        .map(|sample| sample.text().to_owned())
        .collect();
    to_python(py, &py.detach(|| backchat::convert::convert(&loaded.schema, &options).to_value()))
}

/// Checks the fixtures of a file or a folder: how many passed, failed and could not run, and what there is to say.
#[pyfunction]
pub fn check<'py>(py: Python<'py>, path: PathBuf) -> PyResult<(usize, usize, usize, Vec<Bound<'py, PyAny>>)> {
    let checked = py.detach(|| -> Result<_, Diagnostic> {
        let paths = [path];
        let files = backchat::check::fixture_files(&paths)?;
        let files: Vec<FixtureFile> = files.iter().map(|path| fixture::read(path)).collect();
        let entries = Entry::all(&files, &[]);
        let settings = Settings { seed: 0, limit: Duration::from_secs(10), reference: None };
        let loaded = Loaded::new(&entries);
        let reports = backchat::check::run(&entries, &loaded, &settings, false, &|_| {});
        let count = |status: Status| reports.iter().filter(|report| report.status == status).count();
        let found: Vec<Diagnostic> = reports.iter().flat_map(|report| report.diagnostics.clone()).collect();
        Ok((count(Status::Passed), count(Status::Failed), count(Status::NotRun), found))
    });
    let (passed, failed, not_run, found) = checked.map_err(|diagnostic| PyRuntimeError::new_err(diagnostic.message))?;
    Ok((passed, failed, not_run, problems(py, &found)?))
}
