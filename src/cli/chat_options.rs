//! Options that all commands on chat templates share: clock, variables, formats; and how messages name a template.

use std::time::Duration;

use super::durations::seconds_above_zero;
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

/// The time limit for all renders of one template.
#[derive(Clone, Debug, clap::Args)]
pub struct Budget {
    /// Spend at most this much processor time on the renders of a template
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = seconds_above_zero)]
    budget: Duration,
}

impl Budget {
    /// An unoptimized build is many times slower.
    const SCALE: u32 = if cfg!(debug_assertions) { 20 } else { 1 };

    /// Bounds the renders of this thread from now on.
    pub fn begin(&self) {
        backchat_chat::set_budget(self.budget.saturating_mul(Self::SCALE));
    }

    /// Notes that the budget was too small for all renders.
    pub fn report(&self, name: &str, global: &Global) {
        if backchat_chat::is_budget_spent() {
            let seconds = self.budget.as_secs_f64();
            tell!(
                global,
                "note: {}: its renders took all of {seconds} s, so the answer may be incomplete; \
                 allow more with `--budget SECONDS`",
                escape(name)
            );
        }
    }
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
    backchat_chat::check_time(text).map(|()| text.to_owned())
}

/// The failure of a command on a chat template, with the source lines it refers to.
pub fn failed(mut diagnostics: Vec<Diagnostic>, source: &Source) -> Failure {
    let file = template_name(source);
    for diagnostic in &mut diagnostics {
        diagnostic.place.get_or_insert_default().file = Some(file.clone());
    }
    Failure::Diagnostics { diagnostics, sources: Sources::none().with(file, ChatTemplate::normalize(&source.template)) }
}
