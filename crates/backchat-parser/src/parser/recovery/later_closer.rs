//! `closers-in-strings`: a closer inside a string, and the first later closer at which the body has ended.

use super::growing_body::GrowingBody;
use super::view::View;
use super::{Context, NoResult, Verdict};
use crate::parser::roles::CallField;

/// A body whose closer came inside a string.
#[derive(Clone, Debug)]
pub(in crate::parser) struct LaterCloser {
    field: usize,
    /// The place of the closer inside the string.
    pub closer: usize,
    rest: GrowingBody,
}

impl LaterCloser {
    /// A body up to its closer, if it stops inside a string.
    pub fn find(call: &CallField, body: &str, closer: usize) -> Option<Self> {
        Some(Self { field: call.field, closer, rest: GrowingBody::inside_string(call.notation?, body, closer)? })
    }

    /// Reads more text; returns the closer that decides.
    pub fn look(&mut self, view: View<'_>, context: &Context<'_>) -> Verdict<(usize, usize)> {
        let end = self.rest.end(view)?;
        match context.plan.closer(self.field).map_or(Err(NoResult::IsNot), |closer| view.marker(closer, end)) {
            Err(_) if view.after_blanks(end) == view.end() && !view.is_whole() => Err(NoResult::Waits),
            found => found,
        }
    }
}
