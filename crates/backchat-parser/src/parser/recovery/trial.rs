//! A decision that may need more text, and its result.

use super::bare_call::{BareCall, FoundCall};
use super::call_run::{CallRun, Run};
use super::later_closer::LaterCloser;
use super::markers::follow_tail;
use super::view::View;
use super::{Context, NoResult, Verdict};
use crate::parser::span::Span;

/// A decision that may need more text.
#[derive(Clone, Debug)]
pub(in crate::parser) enum Trial {
    BareCall(BareCall),
    Calls(CallRun),
    /// A stray closer of calls: its field, its span, and the end of the tail that has been followed.
    Stray {
        field: usize,
        marker: Span,
        at: usize,
    },
    /// A closer inside a string.
    InString(LaterCloser),
}

/// What a decision found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    BareCall(FoundCall),
    Calls(Run),
    Stray {
        field: usize,
        marker: Span,
    },
    /// The closer of a body that another one inside a string seemed to close.
    Closer {
        start: usize,
        end: usize,
    },
}

impl Trial {
    /// The start of the text that it holds back.
    pub fn start(&self) -> usize {
        match self {
            Trial::BareCall(trial) => trial.start,
            Trial::Calls(trial) => trial.start,
            Trial::Stray { marker, .. } => marker.start,
            Trial::InString(trial) => trial.closer,
        }
    }

    /// Its result after the text so far. `may_be_all`: nothing but the call may be in the message.
    pub(super) fn look(&mut self, view: View<'_>, context: &Context<'_>, may_be_all: bool) -> Verdict<Found> {
        match self {
            Trial::BareCall(trial) => trial.look(view, context, may_be_all).map(Found::BareCall),
            Trial::Calls(trial) => match trial.look(view, context)? {
                // A call in a closed reasoning may be a rehearsal: only the tools say whether it is one of theirs.
                run if run.is_closed && context.tools.is_none() => Err(NoResult::IsNot),
                run => Ok(Found::Calls(run)),
            },
            Trial::Stray { field, marker, at } => {
                follow_tail(context.plan, view, at, true)?;
                Ok(Found::Stray { field: *field, marker: *marker })
            }
            Trial::InString(trial) => {
                let (start, end) = trial.look(view, context)?;
                Ok(Found::Closer { start, end })
            }
        }
    }
}
