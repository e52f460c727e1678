//! Options that all commands on chat templates share: clock, variables, formats; and how messages name a template.

use super::{Failure, Global};
use backchat_chat::ChatTemplate;
use backchat_chat::source::{self, Source};
use backchat_core::diagnostic::{Diagnostic, Sources, escape};
use backchat_core::json::{self, Object, Value};

pub use backchat_workbench::answers::{NOW, template_name};

/// How the result about a chat template is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum OutputFormat {
    Text,
    Json,
}

/// The variables and the clock of renders.
#[derive(Clone, Debug, clap::Args)]
pub struct Given {
    /// Set a template variable; the value is JSON, or else text
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    pub set: Vec<(String, Value)>,
    /// Set the clock that `strftime_now` reads, such as 2026-11-20T08:00:00
    #[arg(long, value_name = "TIME", value_parser = time, default_value = NOW)]
    pub now: String,
}

impl Given {
    /// The special tokens of a source, and the variables of the command line.
    pub fn variables(&self, source: &Source) -> Object {
        with_tokens(source, &self.set)
    }

    pub fn clock(&self) -> Option<String> {
        Some(self.now.clone())
    }
}

/// Notes which of several chat templates was selected, if none was requested.
pub fn announce(doing: &str, source: &Source, requested: Option<&str>, global: &Global) {
    if let (Some(name), None, [_, ..]) = (&source.name, requested, source.other_names.as_slice()) {
        let (name, others) = (escape(name), source.other_names.join(", "));
        let others = escape(&others);
        tell!(global, "note: {doing} the template `{name}`; `--template-name` selects another: {others}");
    }
}

/// The special tokens of a source, overridden by variables.
pub fn with_tokens(source: &Source, set: &[(String, Value)]) -> Object {
    let mut variables = source.special_tokens.clone();
    variables.extend(set.iter().cloned());
    variables
}

/// Selects one of several chat templates, and sets its variables.
#[derive(Clone, Debug, clap::Args)]
pub struct Selected {
    #[command(flatten)]
    pub given: Given,
    /// Select one of several chat templates
    #[arg(long, value_name = "NAME")]
    pub template_name: Option<String>,
}

impl Selected {
    /// The selected template of a source, else the one for tools.
    pub fn open(&self, name: &str) -> Result<Source, Failure> {
        Ok(source::open(name, self.template_name.as_deref())?.for_tools())
    }
}

/// The work that the examination of one template may do.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Budget {
    /// Allow this many times the usual work for examining a template
    #[arg(long, value_name = "TIMES", default_value = "1", value_parser = times)]
    budget: f64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { budget: 1.0 }
    }
}

impl Budget {
    /// As the library takes it.
    pub fn work(self) -> backchat_chat::Budget {
        backchat_chat::Budget::times(self.budget)
    }

    /// Examines a template.
    pub fn examine<T>(self, work: impl FnOnce() -> T) -> T {
        backchat_chat::examine(self.work(), work)
    }

    /// Repairs a template, which takes several times the work of an examination, with a note if that ends early.
    pub fn repair_and_note<T>(self, name: &str, global: &Global, work: impl FnOnce() -> T) -> T {
        Self { budget: self.budget * backchat_chats::mending::WORK }.examine_and_note(name, global, work)
    }

    /// The same with a note if the examination ends early.
    pub fn examine_and_note<T>(self, name: &str, global: &Global, work: impl FnOnce() -> T) -> T {
        self.examine(|| {
            let found = work();
            if let Some(why) = backchat_chat::ended() {
                tell!(global, "note: {}: the examination ended early: {why}; the answer is incomplete", escape(name));
            }
            found
        })
    }
}

/// A factor above zero.
fn times(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok().filter(|factor: &f64| *factor > 0.0);
    factor.ok_or_else(|| "expected a number above 0".to_owned())
}

/// `NAME=VALUE`; the value is JSON, or else text.
pub fn assignment(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    if name.is_empty() {
        return Err("the name is empty".to_owned());
    }
    Ok((name.to_owned(), json::read(value).unwrap_or_else(|_| value.into())))
}

/// A time for `strftime_now`.
pub fn time(text: &str) -> Result<String, String> {
    backchat_chat::check_time(text).map(|()| text.to_owned()).map_err(|problem| problem.to_string())
}

/// The failure of a command on a chat template, with the source lines it refers to.
pub fn failed(mut diagnostics: Vec<Diagnostic>, source: &Source) -> Failure {
    let file = template_name(source);
    for diagnostic in &mut diagnostics {
        diagnostic.place.get_or_insert_default().file = Some(file.clone());
    }
    Failure::Diagnostics { diagnostics, sources: Sources::none().with(file, ChatTemplate::normalize(&source.template)) }
}
