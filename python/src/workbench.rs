//! The commands as functions. Each returns the JSON that the command prints; `python/backchat/_workbench.py` turns it
//! into Python classes.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use backchat::Template;
use backchat::chat::{ChatTemplate, RenderOptions};
use backchat::chats::MaskRule;
use backchat::diagnostic::Diagnostic;
use backchat::json::Value;
use backchat::template::source::SourceError;
use backchat_legacy::schema::source::{self as schemas, OpenedSchema};
use backchat_workbench::answers::{self, LintOptions, Tokenized};
use backchat_workbench::check::Status;
use backchat_workbench::check::fixture::TemplateSource;
use backchat_workbench::input;
use backchat_workbench::lint::Subject;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::conversation::{Conversation, Encoding, Spans};
use crate::errors::{not_loaded, problems};
use crate::model::{self, Model, Selection, read_samples, targets};
use crate::names::{self, Named, Place};
use crate::template::{self, PyTemplate};
use crate::tokens;
use crate::value::{from_python, to_python};

/// Runs the command with these arguments, the program's name first; returns its exit code.
#[pyfunction]
pub fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| backchat_cli::cli::run_to_code(arguments))
}

#[pyfunction]
#[pyo3(signature = (chat_template, *, target=None, variables=None, samples=None, reasoning_field=None, template_name=None, budget=1.0))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn derive<'py>(
    py: Python<'py>,
    chat_template: &Bound<'py, PyAny>,
    target: Option<&Bound<'py, PyAny>>,
    variables: Option<&Bound<'py, PyDict>>,
    samples: Option<&Bound<'py, PyAny>>,
    reasoning_field: Option<String>,
    template_name: Option<&str>,
    budget: f64,
) -> PyResult<(Bound<'py, PyAny>, String)> {
    let model = Model::to_derive(chat_template, Selection::new(variables, template_name).budget(budget)?)?;
    let options = model.options(target, samples, reasoning_field)?;
    let (value, page) = py.detach(|| {
        let derivation = backchat::derive::derive(&model.source, &options);
        (derivation.to_value(), derivation.explain(model.name()))
    });
    Ok((to_python(py, &value)?, page))
}

#[pyfunction]
#[pyo3(signature = (template, chat_template, *, samples=None, thorough=false, variables=None, reasoning_field=None, template_name=None, budget=1.0))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn prove<'py>(
    py: Python<'py>,
    template: &Bound<'py, PyAny>,
    chat_template: &Bound<'py, PyAny>,
    samples: Option<&Bound<'py, PyAny>>,
    thorough: bool,
    variables: Option<&Bound<'py, PyDict>>,
    reasoning_field: Option<String>,
    template_name: Option<&str>,
    budget: f64,
) -> PyResult<Bound<'py, PyAny>> {
    let model = Model::to_derive(chat_template, Selection::new(variables, template_name).budget(budget)?)?;
    let options = model.options(None, samples, reasoning_field)?.thorough(thorough);
    let template = template::of(template)?;
    let value = py.detach(|| backchat::derive::prove(&model.source, &template, &options).to_value());
    to_python(py, &value)
}

/// The expected argument of `lint`, for errors.
const LINTED: &str = "a template is a dict, a str, a path or a Template";

#[pyfunction]
#[pyo3(signature = (template, *, target=None, tokenizer=None, budget=1.0))]
pub fn lint<'py>(
    py: Python<'py>,
    template: &Bound<'py, PyAny>,
    target: Option<&Bound<'py, PyAny>>,
    tokenizer: Option<&Bound<'py, PyAny>>,
    budget: f64,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let budget = model::budget(budget)?;
    let targets = targets(target)?;
    let tokens = tokenizer.map(|given| Ok::<_, PyErr>(Arc::clone(tokens::of(given)?.get().tokens()))).transpose()?;
    let asked = LintOptions { targets: &targets, chat_template: None, tokens: tokens.as_ref() };
    if template.is_instance_of::<PyTemplate>() {
        let template = template::of(template)?;
        let mut subject = Subject::new(&template, &targets);
        subject.tokens = tokens.clone();
        return problems(py, &py.detach(|| backchat_workbench::lint::lint(&subject)));
    }
    if template.is_instance_of::<PyDict>() {
        let mut found = linted_text(py, from_python(template)?.to_string(), asked)?;
        for place in found.iter_mut().filter_map(|found| found.place.as_mut()) {
            place.line_column = None;
        }
        return problems(py, &found);
    }
    match Named::of(template, LINTED)? {
        Named::Text(text) if names::is_json(&text) => problems(py, &linted_text(py, text, asked)?),
        Named::Text(_) => {
            let model = Model::of(template, Selection::default())?;
            let compiled = model.compiled(py)?;
            let options = model.to_examine().budget(budget);
            let look = || backchat_workbench::lint::lint_chat_template(&compiled, &options, model.name());
            problems(py, &py.detach(look))
        }
        Named::Place(place) => {
            let found = py.detach(|| backchat_chat::examine(budget, || answers::lint(&place.name, asked)));
            problems(py, &found.map_err(|problem| not_loaded(py, &place.tried(problem.diagnostics)))?)
        }
    }
}

/// The findings about the text of a response template or schema.
fn linted_text(py: Python<'_>, text: String, asked: LintOptions<'_>) -> PyResult<Vec<Diagnostic>> {
    let found = py.detach(|| {
        Ok(match input::template_or_schema_in(text)? {
            schemas::Stored::Template(opened) => asked.find(&opened),
            schemas::Stored::Schema(opened) => backchat_legacy::lint::lint(&opened),
        })
    });
    found.map_err(|error: SourceError| not_loaded(py, &error.diagnostics))
}

#[pyfunction]
#[pyo3(signature = (chat_template, messages, *, tools=None, add_generation_prompt=false, tokenizer=None, sanitize_control_tokens=false, variables=None, template_name=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn render<'py>(
    py: Python<'py>,
    chat_template: &Bound<'py, PyAny>,
    messages: &Bound<'py, PyAny>,
    tools: Option<&Bound<'py, PyAny>>,
    add_generation_prompt: bool,
    tokenizer: Option<&Bound<'py, PyAny>>,
    sanitize_control_tokens: bool,
    variables: Option<&Bound<'py, PyDict>>,
    template_name: Option<&str>,
) -> PyResult<(String, Spans, Option<Vec<u32>>)> {
    let mut chat = Conversation::read(chat_template, template_name, messages, tools, variables)?;
    if add_generation_prompt {
        chat.context.insert("add_generation_prompt", true.into());
    }
    let encoding = match tokenizer {
        None if sanitize_control_tokens => {
            return Err(PyValueError::new_err("`sanitize_control_tokens` needs a `tokenizer`"));
        }
        None => Encoding::None,
        Some(given) => {
            chat.model.add_tokens_of(given)?;
            let tokenizer = tokens::to_encode(given)?;
            let (tokenizer, encoder) = (tokenizer.get(), tokenizer.get().encoder(py)?);
            match sanitize_control_tokens {
                true => Encoding::Sanitized(encoder, tokenizer.chat_control_tokens(py)?),
                false => Encoding::Plain(encoder),
            }
        }
    };
    let (text, spans, ids) = py
        .detach(|| chat.encoded(&encoding))
        .map_err(|error| not_loaded(py, &[error.diagnostic(&chat.model.source, chat.model.name())]))?;
    let ids = ids.transpose().map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((text, spans, ids))
}

#[pyfunction]
#[pyo3(signature = (chat_template, messages, *, tools=None, parts=vec!["assistant".to_owned()], offsets=None, tokenizer=None, token_ids=None, rule="overlap", variables=None, template_name=None))]
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
    template_name: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut chat = Conversation::read(chat_template, template_name, messages, tools, variables)?;
    if let Some(tokenizer) = tokenizer {
        chat.model.add_tokens_of(tokenizer)?;
    }
    let offsets = offsets.map(from_python).transpose()?;
    let rules = [("overlap", MaskRule::Overlap), ("reference", MaskRule::Reference)];
    let rule = names::one_of("rule", &rules, rule)?;
    let tokenizer = tokenizer.map(tokens::to_encode).transpose()?;
    let tokenized = match (&tokenizer, token_ids, &offsets) {
        (Some(tokenizer), Some(ids), None) => Tokenized::Ids(tokenizer.get().tokens().clone(), ids, rule),
        (Some(tokenizer), None, None) => Tokenized::By(tokenizer.get().encoder(py)?, rule),
        (None, None, Some(offsets)) => Tokenized::Offsets(offsets),
        (None, None, None) => Tokenized::None,
        (None, Some(_), _) => return Err(PyValueError::new_err("`token_ids` need a `tokenizer`")),
        (Some(_), _, Some(_)) => {
            return Err(PyValueError::new_err("pass `tokenizer` or `offsets`, not both"));
        }
    };
    let part =
        |name: &String| answers::mask_part(name).ok_or_else(|| PyValueError::new_err(format!("unknown part `{name}`")));
    let parts = parts.iter().map(part).collect::<PyResult<Vec<_>>>()?;
    let answer =
        py.detach(|| answers::mask(&chat.template, &chat.whole(), &RenderOptions::default(), &parts, tokenized));
    to_python(py, &Value::Object(answer.map_err(PyValueError::new_err)?))
}

/// The result of examining a chat template.
fn examined<'py>(
    py: Python<'py>,
    chat_template: &Bound<'py, PyAny>,
    given: Selection<'_, '_>,
    look: impl FnOnce(&ChatTemplate, &backchat::doctor::Options) -> Value + Send,
) -> PyResult<Bound<'py, PyAny>> {
    let model = Model::of(chat_template, given)?;
    let template = model.compiled(py)?;
    let options = model.to_examine();
    to_python(py, &py.detach(|| look(&template, &options)))
}

#[pyfunction]
#[pyo3(signature = (chat_template, *, variables=None, template_name=None, budget=1.0))]
pub fn doctor<'py>(
    py: Python<'py>,
    chat_template: &Bound<'py, PyAny>,
    variables: Option<&Bound<'py, PyDict>>,
    template_name: Option<&str>,
    budget: f64,
) -> PyResult<Bound<'py, PyAny>> {
    examined(py, chat_template, Selection::new(variables, template_name).budget(budget)?, |template, options| {
        answers::doctor(template, options, &backchat_probe::doctor::examine(template, options))
    })
}

#[pyfunction]
#[pyo3(signature = (chat_template, *, variables=None, template_name=None, budget=1.0))]
pub fn input_schema<'py>(
    py: Python<'py>,
    chat_template: &Bound<'py, PyAny>,
    variables: Option<&Bound<'py, PyDict>>,
    template_name: Option<&str>,
    budget: f64,
) -> PyResult<Bound<'py, PyAny>> {
    examined(
        py,
        chat_template,
        Selection::new(variables, template_name).budget(budget)?,
        backchat::doctor::input_schema,
    )
}

#[pyfunction]
#[pyo3(signature = (chat_template, text, *, variables=None, template_name=None, budget=1.0))]
pub fn unrender<'py>(
    py: Python<'py>,
    chat_template: &Bound<'py, PyAny>,
    text: &str,
    variables: Option<&Bound<'py, PyDict>>,
    template_name: Option<&str>,
    budget: f64,
) -> PyResult<Bound<'py, PyAny>> {
    let model = Model::of(chat_template, Selection::new(variables, template_name).budget(budget)?)?;
    let template = model.compiled(py)?;
    let variables = model.variables.clone();
    let read =
        model.examine(py, || backchat::chats::Unrenderer::new(&template, variables, Model::now()).unrender(text));
    let chat = read.map_err(|error| PyValueError::new_err(error.message))?;
    to_python(py, &Value::Object(answers::unrendered(&chat)))
}

#[pyfunction]
#[pyo3(signature = (chat_template, *, variables=None, template_name=None, budget=1.0))]
pub fn add_generation_blocks(
    py: Python<'_>,
    chat_template: &Bound<'_, PyAny>,
    variables: Option<&Bound<'_, PyDict>>,
    template_name: Option<&str>,
    budget: f64,
) -> PyResult<(String, usize, Vec<String>, bool)> {
    let model = Model::of(chat_template, Selection::new(variables, template_name).budget(budget)?)?;
    let patch = || backchat::chats::add_generation_blocks(&model.source, &model.variables, &Model::now());
    let patched = model.examine(py, patch);
    let patched = patched.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((patched.template, patched.conversations, patched.rewritten, patched.had_blocks))
}

#[pyfunction]
#[pyo3(signature = (chat_template, problems=None, *, variables=None, template_name=None, budget=1.0))]
pub fn fix<'py>(
    py: Python<'py>,
    chat_template: &Bound<'py, PyAny>,
    problems: Option<Vec<String>>,
    variables: Option<&Bound<'py, PyDict>>,
    template_name: Option<&str>,
    budget: f64,
) -> PyResult<(String, Bound<'py, PyAny>)> {
    let named = |id: String| {
        let problem = backchat::doctor::Problem::named(&id);
        problem.ok_or_else(|| PyValueError::new_err(format!("unknown problem `{id}`")))
    };
    let problems = problems.unwrap_or_default().into_iter().map(named).collect::<PyResult<Vec<_>>>()?;
    let model = Model::of(chat_template, Selection::new(variables, template_name).budget(budget)?)?;
    let options = model.to_examine();
    let template = model.compiled(py)?;
    let repaired = py.detach(|| backchat::mending::repair(&model.source, &template, &problems, &options));
    Ok((repaired.text().to_owned(), to_python(py, &repaired.to_value())?))
}

/// The expected type of a response schema, for errors.
const SCHEMA: &str = "a response schema is a dict, a str or a path";

/// A response schema from a dict, JSON text or a name, and that name.
fn schema_of(given: &Bound<'_, PyAny>) -> PyResult<(OpenedSchema, Option<Place>)> {
    let py = given.py();
    let (found, place) = match given.is_instance_of::<PyDict>() {
        true => (input::template_or_schema_in(from_python(given)?.to_string()), None),
        false => match Named::of(given, SCHEMA)? {
            Named::Text(text) => (input::template_or_schema_in(text), None),
            Named::Place(place) => (py.detach(|| input::template_or_schema(&place.name)), Some(place)),
        },
    };
    match found {
        Ok(schemas::Stored::Schema(opened)) => Ok((opened, place)),
        Ok(schemas::Stored::Template(_)) => Err(PyValueError::new_err("this is already a response template")),
        Err(error) => {
            let problems = match place {
                Some(place) => place.tried(error.diagnostics),
                None => error.diagnostics,
            };
            Err(not_loaded(py, &problems))
        }
    }
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
    let (opened, place) = schema_of(schema)?;
    // The model's own chat template, if the schema comes from a model that has one.
    let has_own = place.is_some_and(|place| place.name != "-") && opened.path != Default::default();
    let model = match chat_template {
        Some(chat_template) => Some(Model::of(chat_template, Selection::default())?),
        None if has_own => Model::of(schema, Selection::default()).ok(),
        None => None,
    };
    let mut options = backchat_legacy::convert::Options::default();
    if let Some(model) = model {
        let derive = model.options(None, None, None)?;
        let derivation = py.detach(|| backchat::derive::derive(&model.source, &derive));
        let draft = derivation.response_template();
        let derived = draft.and_then(|draft| Template::from_value(draft).ok());
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
            "a response schema does not say where a turn begins: pass `chat_template` or `start_anchor`",
        ));
    }
    let samples = samples.map(read_samples).transpose()?.unwrap_or_default();
    options.samples = samples.into_iter().map(|sample| sample.text().to_owned()).collect();
    to_python(py, &py.detach(|| backchat_legacy::convert::convert(&opened.loaded.schema, &options).to_value()))
}

/// Checks the fixtures of files and folders; returns how many passed, failed and could not run, and the findings.
#[pyfunction]
#[pyo3(signature = (*paths, filter=None, template=None))]
pub fn check<'py>(
    py: Python<'py>,
    paths: &Bound<'py, PyTuple>,
    filter: Option<&str>,
    template: Option<&Bound<'py, PyAny>>,
) -> PyResult<(usize, usize, usize, Vec<Bound<'py, PyAny>>)> {
    let mut named =
        paths.iter().map(|path| Place::of(&path, "a path is a str or a path")).collect::<PyResult<Vec<_>>>()?;
    if named.is_empty() {
        named.push(Place::here());
    }
    let template = template.map(stand_in).transpose()?;
    let paths: Vec<PathBuf> = named.iter().map(|place| PathBuf::from(&place.name)).collect();
    let checked = py.detach(|| answers::check(&paths, filter, template.as_ref()));
    let reports = checked.map_err(|problem| not_loaded(py, &problem.diagnostics))?;
    let count = |status: Status| reports.iter().filter(|(found, _)| *found == status).count();
    let found: Vec<_> = reports.iter().flat_map(|(_, found)| found.clone()).collect();
    Ok((count(Status::Passed), count(Status::Failed), count(Status::NotRun), problems(py, &found)?))
}

/// The template that replaces each case's own.
fn stand_in(given: &Bound<'_, PyAny>) -> PyResult<TemplateSource> {
    if let Some(place) = template::place(given)? {
        let place = names::place(&place).map_err(|problems| not_loaded(given.py(), &problems))?;
        return Ok(TemplateSource::File(place.into()));
    }
    Ok(TemplateSource::Inline(template::of(given)?.to_value()))
}
