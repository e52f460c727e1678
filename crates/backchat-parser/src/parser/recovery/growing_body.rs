//! Finds the end of a body that shows where it ends, in a growing text.

use super::view::View;
use super::{NoResult, Verdict};
use crate::content::CallListReader;
use crate::parser::partial_json::PartialJson;
use crate::parser::roles::Notation;

#[derive(Clone, Debug)]
pub(super) struct GrowingBody {
    reader: Reader,
    /// The end of the text that has been read.
    at: usize,
    end: Option<usize>,
}

/// Boxed, because a region that closes moves it even if there is none.
#[derive(Clone, Debug)]
enum Reader {
    Json(Box<PartialJson>),
    CallList(Box<CallListReader>),
}

impl GrowingBody {
    /// A body that begins at a place.
    pub fn new(notation: Notation, start: usize) -> Self {
        Self { reader: Reader::new(notation), at: start, end: None }
    }

    /// A body whose text up to a place ends inside a string.
    pub fn inside_string(notation: Notation, body: &str, end: usize) -> Option<Self> {
        let mut reader = Reader::new(notation);
        reader.push(body);
        let stops_inside = !reader.is_broken() && reader.is_in_string();
        stops_inside.then_some(Self { reader, at: end, end: None })
    }

    pub fn notation(&self) -> Notation {
        match self.reader {
            Reader::Json(_) => Notation::Json,
            Reader::CallList(_) => Notation::CallList,
        }
    }

    /// Reads on; returns the place after the value.
    pub fn end(&mut self, view: View<'_>) -> Verdict<usize> {
        if let Some(end) = self.end {
            return Ok(end);
        }
        self.at += self.reader.push(view.from(self.at));
        match self.reader.is_complete() {
            true => Ok(*self.end.insert(self.at)),
            false if self.reader.is_broken() || view.is_whole() => Err(NoResult::IsNot),
            false => Err(NoResult::Waits),
        }
    }
}

impl Reader {
    fn new(notation: Notation) -> Self {
        match notation {
            Notation::Json => Self::Json(Box::default()),
            Notation::CallList => Self::CallList(Box::default()),
        }
    }

    /// Reads more of the text, up to the end of the value or the first error; returns the number of bytes read.
    fn push(&mut self, text: &str) -> usize {
        match self {
            Self::Json(json) => json.push(text, &mut ()),
            Self::CallList(calls) => calls.push_to_end(text),
        }
    }

    fn is_complete(&self) -> bool {
        match self {
            Self::Json(json) => json.is_complete(),
            Self::CallList(calls) => calls.is_complete(),
        }
    }

    fn is_broken(&self) -> bool {
        match self {
            Self::Json(json) => json.is_broken(),
            Self::CallList(calls) => calls.is_broken(),
        }
    }

    fn is_in_string(&self) -> bool {
        match self {
            Self::Json(json) => json.is_in_string(),
            Self::CallList(calls) => calls.is_in_string(),
        }
    }
}
