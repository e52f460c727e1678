//! The kind of a turn: what a request decides about it. Requests of one kind share a frame.

use super::prompt_end::PromptEnd;
use crate::request::{Presence, Reasoning, Request, Wants};

/// What the turns of one kind of request have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TurnKind {
    pub end: PromptEnd,
    pub reasoning: Reasoning,
    /// Whether content next to calls is allowed, and whether it is required.
    pub content: Presence,
    /// The request asks for a format of the content.
    pub has_format: bool,
    /// Whether there are calls, whether a turn without calls is allowed, and whether more than one call is.
    pub calls: bool,
    pub may_be_silent: bool,
    pub several: bool,
}

impl TurnKind {
    /// The turns after this end of a prompt that a request allows.
    pub fn new(request: &Request<'_>, wants: Wants, end: PromptEnd) -> Self {
        let is_forced = wants.is_forced();
        Self {
            end,
            reasoning: request.reasoning,
            content: request.content,
            has_format: request.format.is_some() && !is_forced,
            calls: wants.may_call(),
            may_be_silent: !is_forced,
            several: request.parallel.unwrap_or(wants != Wants::One),
        }
    }
}
