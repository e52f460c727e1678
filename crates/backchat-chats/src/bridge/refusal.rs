//! Refusals of a bridge.

use std::fmt;

use backchat_core::json::Value;
use backchat_parser::tokens::TokensError;
use backchat_probe::probe::role_of;

/// The kinds of refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// There is no new message.
    NoMessages,
    /// A new message is the model's own.
    AssistantMessage,
    /// The prompt is not the render of the messages.
    PromptMismatch,
    /// The sample has no stop, and ends inside reasoning or a call.
    Unfinished,
    /// The sample ends inside a character.
    IncompleteCharacter,
    /// Ids follow the stop.
    AfterStop,
    /// The sample stopped at the header of another role than the next message's.
    StopMismatch,
    /// A region of the sample is malformed.
    Unparsed,
    /// The chat template raises an error.
    TemplateError,
    /// The chat template does not write a new message.
    Dropped,
    /// No token begins where the sample ends.
    Seam,
    /// The end of the turn cannot be proved.
    Unproved,
    /// The template would write the history differently.
    HistoryEdited,
}

impl Refusal {
    /// Its name in rows.
    pub fn as_str(self) -> &'static str {
        match self {
            Refusal::NoMessages => "no-messages",
            Refusal::AssistantMessage => "assistant-message",
            Refusal::PromptMismatch => "prompt-mismatch",
            Refusal::Unfinished => "unfinished",
            Refusal::IncompleteCharacter => "incomplete-character",
            Refusal::AfterStop => "after-stop",
            Refusal::StopMismatch => "stop-mismatch",
            Refusal::Unparsed => "unparsed",
            Refusal::TemplateError => "template-error",
            Refusal::Dropped => "dropped",
            Refusal::Seam => "seam",
            Refusal::Unproved => "unproved",
            Refusal::HistoryEdited => "history-edited",
        }
    }
}

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Its kind.
    pub kind: Refusal,
    /// The reason.
    pub reason: String,
}

impl Refused {
    pub(super) fn new(kind: Refusal, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into() }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.as_str(), self.reason)
    }
}

impl std::error::Error for Refused {}

/// Refuses messages that cannot follow a model's turn.
pub(super) fn check_messages(new: &[Value]) -> Result<(), Refused> {
    if new.is_empty() {
        return Err(Refused::new(Refusal::NoMessages, "there is no new message to append"));
    }
    let is_own = |message: &Value| role_of(message) == Some("assistant");
    let Some(place) = new.iter().position(is_own) else { return Ok(()) };
    let reason = format!("new message {place} is the model's own; append what the model sampled instead");
    Err(Refused::new(Refusal::AssistantMessage, reason))
}

/// Refuses ids after the first one that stops.
pub(super) fn check_after_stop(sampled: &[u32], is_stop: impl Fn(&u32) -> bool, name: &str) -> Result<(), Refused> {
    let Some(place) = sampled.iter().position(is_stop).filter(|place| place + 1 < sampled.len()) else { return Ok(()) };
    let count = sampled.len() - place - 1;
    Err(Refused::new(Refusal::AfterStop, format!("{count} ids follow the stop{name}, at place {place}")))
}

pub(super) fn not_encoded(error: TokensError) -> Refused {
    Refused::new(Refusal::Seam, format!("the render cannot be encoded: {error}"))
}
