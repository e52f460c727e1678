//! What a decision knows besides the text, and what the text so far says of it.

use crate::content::coerce::Tools;
use crate::parser::plan::Plan;
use crate::template::Template;

/// What a decision needs to know besides the text.
#[derive(Clone, Copy)]
pub(in crate::parser) struct Known<'k> {
    pub plan: &'k Plan,
    pub template: &'k Template,
    /// The tools of the request, if there are any.
    pub tools: Option<&'k Tools>,
}

/// What the text so far says of something.
#[derive(Clone, Copy, Debug)]
pub(in crate::parser) enum Verdict<T> {
    Is(T),
    /// More text decides.
    Waits,
    IsNot,
}
