//! JSON in a text that grows: where it ends.

use super::view::View;
use super::{NoResult, Verdict};
use crate::content::recovery::{JsonPrefix, Progress};

#[derive(Clone, Debug)]
pub(super) struct GrowingJson {
    json: JsonPrefix,
    /// Up to where it has been read.
    at: usize,
    end: Option<usize>,
}

impl GrowingJson {
    /// JSON that begins at a place.
    pub fn new(start: usize) -> Self {
        Self { json: JsonPrefix::default(), at: start, end: None }
    }

    /// JSON that a body begins, which ends at a place inside a string.
    pub fn inside_string(body: &str, end: usize) -> Option<Self> {
        let mut json = JsonPrefix::default();
        let (progress, _) = json.read(body.as_bytes());
        let stops_inside = progress == Progress::Begun && json.is_in_string();
        stops_inside.then_some(Self { json, at: end, end: None })
    }

    /// Reads on; returns the place after the value.
    pub fn end(&mut self, view: View<'_>) -> Verdict<usize> {
        if let Some(end) = self.end {
            return Ok(end);
        }
        let (progress, taken) = self.json.read(view.from(self.at).as_bytes());
        self.at += taken;
        match progress {
            Progress::Complete => Ok(*self.end.insert(self.at)),
            Progress::Begun if !view.is_whole() => Err(NoResult::Waits),
            _ => Err(NoResult::IsNot),
        }
    }
}
