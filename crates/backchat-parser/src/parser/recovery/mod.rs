//! Problems that concern more than one body, and the policies that hold text until one is decided.
//!
//! Each decision is a function of the text from one position on, independent of how it is cut: it reads more as the
//! text grows, and waits until no continuation could change the answer. Without policies the same functions run where a
//! stretch of text ends.

mod bare_call;
mod call_run;
mod candidate;
mod first_closer;
mod gate;
mod growing_body;
mod later_closer;
mod ledger;
mod markers;
mod steps;
mod stretch;
mod trial;
mod view;

pub(super) use gate::{Ahead, Flow, Gate};
pub(super) use later_closer::LaterCloser;
pub(super) use ledger::Ledger;
pub(super) use stretch::Stretch;
pub(super) use view::View;

use crate::content::coerce::Tools;
use crate::parser::plan::Plan;
use crate::template::Template;

/// The context of a decision besides the text.
#[derive(Clone, Copy)]
pub(super) struct Context<'k> {
    pub plan: &'k Plan,
    pub template: &'k Template,
    /// The tools of the request, if there are any.
    pub tools: Option<&'k Tools>,
}

/// The result of a decision after the text so far.
pub(super) type Verdict<T> = Result<T, NoResult>;

/// Why a decision has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoResult {
    /// Undecided: more text is needed.
    Waits,
    /// No continuation makes it a match.
    IsNot,
}
