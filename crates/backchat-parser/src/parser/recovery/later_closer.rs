//! `closers-in-strings`: a closer inside a string, and the first later closer at which the body is JSON.

use super::context::{Context, Verdict};
use super::markers;
use super::view::{At, View};
use crate::content::recovery::{JsonPrefix, Progress};

/// A body whose closer came inside a string.
#[derive(Clone, Debug)]
pub(in crate::parser) struct LaterCloser {
    field: usize,
    /// Where the closer is that came inside the string.
    pub closer: usize,
    at: usize,
    json: JsonPrefix,
    end: Option<usize>,
}

impl LaterCloser {
    /// A body up to its closer, if it stops inside a string.
    pub fn find(field: usize, body: &str, closer: usize) -> Option<Self> {
        let mut json = JsonPrefix::default();
        let (progress, _) = json.read(body.as_bytes());
        let stops_inside = progress == Progress::Begun && json.is_in_string();
        stops_inside.then_some(Self { field, closer, at: closer, json, end: None })
    }

    /// Reads more text; returns the closer that decides.
    pub fn look(&mut self, view: View<'_>, context: &Context<'_>) -> Verdict<(usize, usize)> {
        let end = match self.end {
            Some(end) => end,
            None => {
                let (progress, taken) = self.json.read(view.from(self.at).as_bytes());
                self.at += taken;
                match progress {
                    Progress::Complete => *self.end.insert(self.at),
                    Progress::Begun if !view.is_whole() => return Verdict::Waits,
                    _ => return Verdict::IsNot,
                }
            }
        };
        match markers::closer(context.plan, self.field).map(|closer| view.marker(closer, end)) {
            Some(At::Match { start, end }) => Verdict::Is((start, end)),
            Some(At::Waits) => Verdict::Waits,
            _ if view.after_blanks(end) == view.end() && !view.is_whole() => Verdict::Waits,
            _ => Verdict::IsNot,
        }
    }
}
