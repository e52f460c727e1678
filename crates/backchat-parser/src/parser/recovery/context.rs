//! The context of a decision besides the text, and its result after the text so far.

use crate::content::coerce::Tools;
use crate::parser::plan::Plan;
use crate::template::Template;

/// The context of a decision besides the text.
#[derive(Clone, Copy)]
pub(in crate::parser) struct Context<'k> {
    pub plan: &'k Plan,
    pub template: &'k Template,
    /// The tools of the request, if there are any.
    pub tools: Option<&'k Tools>,
}

/// The result of a decision after the text so far.
pub(in crate::parser) type Verdict<T> = Result<T, NoResult>;

/// Why a decision has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::parser) enum NoResult {
    /// Undecided: more text is needed.
    Waits,
    /// It is not what was looked for, whatever follows.
    IsNot,
}
