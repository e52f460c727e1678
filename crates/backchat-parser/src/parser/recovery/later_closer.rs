//! `closers-in-strings`: a closer inside a string, and the first later closer at which the body is JSON.

use super::growing_json::GrowingJson;
use super::view::View;
use super::{Context, NoResult, Verdict};

/// A body whose closer came inside a string.
#[derive(Clone, Debug)]
pub(in crate::parser) struct LaterCloser {
    field: usize,
    /// The place of the closer inside the string.
    pub closer: usize,
    json: GrowingJson,
}

impl LaterCloser {
    /// A body up to its closer, if it stops inside a string.
    pub fn find(field: usize, body: &str, closer: usize) -> Option<Self> {
        Some(Self { field, closer, json: GrowingJson::inside_string(body, closer)? })
    }

    /// Reads more text; returns the closer that decides.
    pub fn look(&mut self, view: View<'_>, context: &Context<'_>) -> Verdict<(usize, usize)> {
        let end = self.json.end(view)?;
        match context.plan.closer(self.field).map_or(Err(NoResult::IsNot), |closer| view.marker(closer, end)) {
            Err(_) if view.after_blanks(end) == view.end() && !view.is_whole() => Err(NoResult::Waits),
            found => found,
        }
    }
}
