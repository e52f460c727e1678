//! The context of a decision besides the text, and its state after the text so far.

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

/// The state of a decision after the text so far.
#[derive(Clone, Copy, Debug)]
pub(in crate::parser) enum Verdict<T> {
    Is(T),
    /// Undecided: more text is needed.
    Waits,
    IsNot,
}
