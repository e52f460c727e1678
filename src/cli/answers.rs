//! The machine rows of commands as values, so that programs that embed them give the same answers.

use std::path::PathBuf;

use clap::ValueEnum;

pub use super::chat_options::NOW;
use super::lint_source;
pub use super::lint_source::Asked;
pub use super::mask::Tokenized;
use backchat_chat::{ChatTemplate, RenderOptions};
use backchat_core::diagnostic::Diagnostic;
use backchat_core::json::{Object, Value};
use backchat_derive::derive::Sample;
use backchat_grammar::SpecialToken;
use backchat_legacy::schema::source::Source;
use backchat_probe::bridge::{Bridged, Refused};
use backchat_probe::chats::{Unrenderer, check_generation_blocks};
use backchat_probe::doctor;
use backchat_workbench::check::fixture::TemplateSource;
use backchat_workbench::check::{self, Entry, Loaded, Settings, Status};
use backchat_workbench::input::Problem;
use backchat_workbench::lint::lint_schema;

/// The output of `backchat doctor --format json`.
pub fn doctor(template: &ChatTemplate, options: &doctor::Options) -> Value {
    let report = doctor::examine(template, options);
    let render = RenderOptions::default().now(options.now.clone());
    super::doctor::json(&report, check_generation_blocks(template, &options.variables, &render))
}

/// The findings of `backchat lint` about a source, at the levels that the rules have by themselves.
///
/// # Errors
///
/// Nothing that can be linted is there.
pub fn lint(name: &str, asked: Asked<'_>) -> Result<Vec<Diagnostic>, Problem> {
    let chat = lint_source::chat_template(name)?;
    let mut found = chat.as_ref().map(lint_source::of_chat_template).transpose()?.unwrap_or_default();
    match lint_source::response(name, chat.is_some())? {
        Some(Source::Template(opened)) => found.extend(asked.find(&opened)),
        Some(Source::Schema(opened)) => found.extend(lint_schema(&opened)),
        None => {}
    }
    Ok(found)
}

/// What became of the cases that `backchat check` selects: the derived templates, too, unless another template replaces them.
///
/// # Errors
///
/// A path cannot be read.
pub fn check(
    paths: &[PathBuf],
    filter: Option<&str>,
    template: Option<&TemplateSource>,
) -> Result<Vec<(Status, Vec<Diagnostic>)>, Problem> {
    let files = super::case_selection::files(paths, template)?;
    let derived = if template.is_some() { Vec::new() } else { check::derived_files(paths) };
    let mut entries = Entry::all(&files, &derived);
    entries.retain(|entry| filter.is_none_or(|filter| entry.id().contains(filter)));
    let reports = check::run(&entries, &Loaded::new(&entries), &Settings::default(), false, &|_| {});
    Ok(reports.into_iter().map(|report| (report.status, report.diagnostics)).collect())
}

/// The recorded outputs in a file, as `--samples` reads them.
///
/// # Errors
///
/// The file cannot be read, or a row of it is not a sample.
pub fn samples(file: &str) -> Result<Vec<Sample>, Problem> {
    Ok(super::derive::samples(file)?)
}

/// The special tokens that `backchat grammar` finds beside a model; none if the name is not a model folder or a model
/// in the cache.
///
/// # Errors
///
/// A tokenizer's file cannot be read.
pub fn special_tokens(model: &str) -> Result<Vec<SpecialToken>, Problem> {
    Ok(super::special_tokens::read(None, model)?)
}

/// The answer of `backchat render --jsonl --mask` to a row, for parts by their names.
///
/// # Errors
///
/// An unknown part, a render that fails, malformed offsets, ids of another text.
pub fn mask(
    template: &ChatTemplate,
    context: &Object,
    options: &RenderOptions,
    parts: &[String],
    tokenized: Tokenized<'_>,
) -> Result<Object, String> {
    let part = |name: &String| super::mask::Part::from_str(name, false).map_err(|_| format!("unknown part `{name}`"));
    let parts = parts.iter().map(part).collect::<Result<Vec<_>, _>>()?;
    super::mask::answer(template, context, options, &parts, tokenized)
}

/// The answer of `backchat bridge --jsonl` to a row.
pub fn bridged(answer: &Result<Bridged, Refused>) -> Object {
    super::bridge::entries(answer)
}

/// The output of `backchat unrender --format json`.
///
/// # Errors
///
/// The same as an object with the key `error`, if the template renders no such text.
pub fn unrender(
    template: &ChatTemplate,
    variables: Object,
    options: RenderOptions,
    text: &str,
) -> Result<Object, Object> {
    match Unrenderer::new(template, variables, options).unrender(text) {
        Ok(chat) => Ok(super::unrender::entries(&chat)),
        Err(error) => Err(super::unrender::departure(&error)),
    }
}
