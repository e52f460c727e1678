//! Finds the end of JSON in a growing text.

use super::view::View;
use super::{NoResult, Verdict};
use crate::parser::partial_json::PartialJson;

#[derive(Clone, Debug)]
pub(super) struct GrowingJson {
    /// Boxed, because a region that closes moves it even if there is none.
    json: Box<PartialJson>,
    /// The end of the text that has been read.
    at: usize,
    end: Option<usize>,
}

impl GrowingJson {
    /// JSON that begins at a place.
    pub fn new(start: usize) -> Self {
        Self { json: Box::default(), at: start, end: None }
    }

    /// JSON that a body begins, which ends at a place inside a string.
    pub fn inside_string(body: &str, end: usize) -> Option<Self> {
        let mut json = Box::<PartialJson>::default();
        json.push(body, &mut ());
        let stops_inside = !json.is_broken() && json.is_in_string();
        stops_inside.then_some(Self { json, at: end, end: None })
    }

    /// Reads on; returns the place after the value.
    pub fn end(&mut self, view: View<'_>) -> Verdict<usize> {
        if let Some(end) = self.end {
            return Ok(end);
        }
        self.at += self.json.push(view.from(self.at), &mut ());
        match self.json.is_complete() {
            true => Ok(*self.end.insert(self.at)),
            false if self.json.is_broken() || view.is_whole() => Err(NoResult::IsNot),
            false => Err(NoResult::Waits),
        }
    }
}
