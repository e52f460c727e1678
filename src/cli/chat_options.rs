//! Options that all commands on chat templates share: clock, variables, formats; and how messages name a template.

use super::Failure;
use crate::chat;
use crate::chat::source::{Source, SourceError};
use crate::json::{self, Value};

/// The clock of commands that probe a chat template: fixed, so that their results do not change.
pub const NOW: &str = "2026-01-01T00:00:00";

/// How the result about a chat template is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum OutputFormat {
    Text,
    Json,
}

/// `NAME=VALUE`; the value is JSON, or else text.
pub fn assignment(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    if name.is_empty() {
        return Err("the name is empty".to_owned());
    }
    Ok((name.to_owned(), json::read(value).unwrap_or_else(|_| value.into())))
}

/// How messages name a template: its file, or its key in one.
pub fn template_name(source: &Source) -> String {
    if source.file.ends_with(".jinja") {
        return source.file.clone();
    }
    format!("{} (chat_template)", source.file)
}

/// A time for `strftime_now`.
pub fn time(text: &str) -> Result<String, String> {
    chat::check_time(text).map(|()| text.to_owned())
}

/// A chat template that cannot be opened, as a failure of the command.
pub fn source_failure(error: SourceError) -> Failure {
    Failure::Diagnostics { diagnostics: error.diagnostics, sources: error.sources }
}
