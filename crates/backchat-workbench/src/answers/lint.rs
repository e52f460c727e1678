//! The templates in a source, and `lint`'s findings about them, before levels and fixes are applied.

use std::path::Path;
use std::sync::Arc;

use super::source::{NOW, compile, template_name};
use crate::input::{self, Problem};
use crate::lint::{self, Subject};
use backchat_chat::source::{self as chat_source, Source};
use backchat_core::diagnostic::Diagnostic;
use backchat_core::json::Value;
use backchat_derive::derive;
use backchat_derive::targets::Target;
use backchat_legacy::schema;
use backchat_parser::template::source::{Opened, SourceError};
use backchat_parser::tokens::Tokens;
use backchat_probe::doctor::{self, traps::TOOLS_NEVER_SHOWN};

/// The findings of `backchat lint` about a source, at the default levels.
///
/// # Errors
///
/// There is nothing to lint.
pub fn lint(name: &str, options: LintOptions<'_>) -> Result<Vec<Diagnostic>, Problem> {
    let chat = chat_templates(name)?;
    let mut found = Vec::new();
    for source in &chat {
        found.extend(lint_chat_template(source)?);
    }
    match response(name, !chat.is_empty())? {
        Some(schema::source::Stored::Template(opened)) => found.extend(options.find(&opened)),
        Some(schema::source::Stored::Schema(opened)) => found.extend(backchat_legacy::lint::lint(&opened)),
        None => {}
    }
    Ok(found)
}

/// Which templates a source can hold, by its name or its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    /// A chat template.
    Chat,
    /// A response template or schema.
    Response,
    /// Either, or one of each.
    Both,
}

impl Holds {
    /// The templates that a source of this name can hold.
    fn of(name: &str) -> Self {
        let path = Path::new(name);
        let is_named = |file: &str| path.file_name().is_some_and(|found| found == file);
        let ends_in = |extension: &str| path.extension().is_some_and(|found| found == extension);
        if ends_in("jinja") || ends_in("gguf") || is_named("chat_template.json") {
            Self::Chat
        } else if path.is_dir() || is_named("tokenizer_config.json") || input::is_cached(name) {
            Self::Both
        } else {
            Self::in_file(path)
        }
    }

    /// The templates that a file of any name can hold, by its keys.
    fn in_file(path: &Path) -> Self {
        // A pipe is not read: nothing would be left in it.
        let value = path.is_file().then(|| input::json(&path.to_string_lossy()).ok()).flatten();
        match value.is_some_and(|value| value.get("chat_template").is_some()) {
            true => Self::Both,
            false => Self::Response,
        }
    }
}

/// The chat template of a source, for conversations with tools; `None` if a source that may hold one does not.
pub fn chat_template(name: &str) -> Result<Option<Source>, Problem> {
    if_held(name, || chat_source::open(name, None).map(|source| Some(source.for_tools())))
}

/// All chat templates of a source: transformers renders conversations without tools with another one than those with.
pub fn chat_templates(name: &str) -> Result<Vec<Source>, Problem> {
    if_held(name, || chat_source::open_all(name))
}

/// What is read of the chat templates of a source; nothing if a source that may hold one does not.
fn if_held<T: Default>(name: &str, read: impl FnOnce() -> Result<T, chat_source::SourceError>) -> Result<T, Problem> {
    let kind = Holds::of(name);
    if kind == Holds::Response {
        return Ok(T::default());
    }
    match read() {
        Err(error) if kind == Holds::Both && error.diagnostics.iter().all(|found| found.id == "no-chat-template") => {
            Ok(T::default())
        }
        read => Ok(read?),
    }
}

/// The response template or schema of a source; `None` if it holds a chat template alone.
pub fn response(name: &str, has_chat_template: bool) -> Result<Option<schema::source::Stored>, SourceError> {
    if Holds::of(name) == Holds::Chat {
        return Ok(None);
    }
    match input::template_or_schema(name) {
        Ok(found) => Ok(Some(found)),
        Err(error) if has_chat_template && error.diagnostics.iter().all(|problem| problem.id == "no-template") => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The findings about a chat template.
pub fn lint_chat_template(source: &Source) -> Result<Vec<Diagnostic>, Problem> {
    let options = doctor::Options::default().variables(source.special_tokens.clone()).now(Some(NOW.to_owned()));
    let mut found = lint::lint_chat_template(&compile(source)?, &options, &template_name(source));
    if chat_source::leaves_tools_to_another(source) {
        found.retain(|finding| finding.id != TOOLS_NEVER_SHOWN.id);
    }
    Ok(found)
}

/// The options for linting response templates.
#[derive(Clone, Copy, Debug, Default)]
pub struct LintOptions<'a> {
    /// The readers that the templates are for.
    pub targets: &'a [&'static Target],
    /// What proves a rewrite for them, instead of the chat template in the linted file.
    pub chat_template: Option<&'a Source>,
    /// The tokenizer that the markers are looked up in.
    pub tokens: Option<&'a Arc<Tokens>>,
}

impl LintOptions<'_> {
    /// The findings about a response template.
    pub fn find(&self, opened: &Opened) -> Vec<Diagnostic> {
        let mut subject = Subject::of_file(opened, self.targets);
        subject.tokens = self.tokens.cloned();
        let mut found = lint::lint(&subject);
        let own = if self.chat_template.is_none() { own_chat_template(opened) } else { None };
        let source = self.chat_template.or(own.as_ref());
        if let Some((rewritten, message)) = source.and_then(|source| rewritten(opened, self.targets, source)) {
            lint::offer_rewrite(&subject, &mut found, &rewritten, &message);
        }
        found
    }
}

/// The chat template next to a response template, in a model's own files.
fn own_chat_template(opened: &Opened) -> Option<Source> {
    let is_config = Path::new(&opened.file).file_name().is_some_and(|name| name == "tokenizer_config.json");
    is_config.then(|| chat_source::open(&opened.file, None).ok())?
}

/// The template rewritten within the limits of the targets and proved with its chat template, and a description.
fn rewritten(opened: &Opened, targets: &[&'static Target], source: &Source) -> Option<(Value, String)> {
    if targets.is_empty() {
        return None;
    }
    let variables = source.special_tokens.iter().map(|(name, text)| (name, text.clone())).collect();
    let now = Some(NOW.to_owned());
    let options = derive::Options::default().variables(variables).now(now).targets(targets.to_vec());
    let rewritten = derive::rewrite(&source.template, &opened.loaded.template, &options).ok().flatten()?;
    let names: Vec<&str> = targets.iter().map(|target| target.name).collect();
    let (whole, cases) = (rewritten.cases - rewritten.failed, rewritten.cases);
    let message =
        format!("rewrite it for {}; {whole} of {cases} conversations parse back exactly", names.join(" and "));
    Some((rewritten.template, message))
}
