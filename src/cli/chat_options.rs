//! Options that all commands on chat templates share: clock, variables, formats; and how messages name a template.

use std::time::Duration;

use super::{Failure, Global};
use backchat_chat::source::SourceError;
use backchat_core::diagnostic::escape;
use backchat_core::json::{self, Value};

pub use backchat_workbench::answers::{NOW, template_name};

/// How the result about a chat template is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum OutputFormat {
    Text,
    Json,
}

/// The time limit for all renders of one template.
#[derive(Clone, Debug, clap::Args)]
pub struct Budget {
    /// Spend at most this much processor time on the renders of a template
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    budget: Duration,
}

impl Budget {
    /// A build that is not optimized takes many times as long.
    const SCALE: u32 = if cfg!(debug_assertions) { 20 } else { 1 };

    /// Bounds the renders of this thread from now on.
    pub fn begin(&self) {
        backchat_chat::set_budget(self.budget.saturating_mul(Self::SCALE));
    }

    /// Reports if the budget was too small for all renders.
    pub fn report(&self, name: &str, global: &Global) {
        if backchat_chat::is_budget_spent() && !global.is_quiet() {
            super::note(&format!(
                "{}: its renders took all of {} s, so the answer may be incomplete; allow more with `--budget SECONDS`",
                escape(name),
                self.budget.as_secs_f64()
            ));
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.filter(|time| !time.is_zero()).ok_or_else(|| "expected a number of seconds above 0".to_owned())
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

/// A chat template that cannot be opened, as a failure of the command.
pub fn source_failure(error: SourceError) -> Failure {
    Failure::Diagnostics { diagnostics: error.diagnostics, sources: error.sources }
}
