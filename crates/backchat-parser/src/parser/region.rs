//! The open region, and a summary of finished ones.

use super::calls::GrowingCalls;
use super::span::Span;
use super::strings::Strings;
use crate::content::Capture;

/// The regions of one field that have ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub field: usize,
    count: usize,
    /// Whether one of them gave a value that is not empty, which another could replace, and its body.
    pub has_value: bool,
    pub body: Span,
}

/// The region the parser is in.
#[derive(Clone, Debug)]
pub(super) struct Region {
    pub field: usize,
    /// Where its body begins.
    pub body: usize,
    pub origin: Origin,
    pub captures: Vec<Capture>,
    pub strings: Strings,
    /// Its calls, if they are reported as they grow.
    pub growing: Option<Box<GrowingCalls>>,
    pub opener: Span,
}

/// The end of a region.
#[derive(Clone, Debug)]
pub(super) struct Closer {
    /// The delimiter; empty where the region ends without one.
    pub span: Span,
    /// The named captures of its pattern.
    pub captures: Vec<Capture>,
    /// Whether more text of the same field follows.
    pub continues: bool,
}

impl Closer {
    pub fn of(span: Span, captures: Vec<Capture>) -> Self {
        Self { span, captures, continues: false }
    }

    /// An end at a place, without a delimiter of the field.
    pub fn none_at(place: usize) -> Self {
        Self::of(Span::new(place, place), Vec::new())
    }
}

/// What a policy did to a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Nothing: a delimiter opened it, and the first that can closes it.
    Opened,
    /// It has no opener.
    Bare,
    /// It was not closed by the first closer, which begins here.
    ClosedLater { first: usize },
}

impl Region {
    pub fn new(field: usize, body: usize, origin: Origin) -> Self {
        Self {
            field,
            body,
            origin,
            captures: Vec::new(),
            strings: Strings::default(),
            growing: None,
            opener: Span::new(body, body),
        }
    }
}

/// Counts a region of the field that ends; returns its number.
pub(super) fn count(all: &mut Vec<Ended>, field: usize) -> usize {
    match all.iter_mut().find(|ended| ended.field == field) {
        Some(ended) => {
            ended.count += 1;
            ended.count - 1
        }
        None => {
            all.push(Ended { field, count: 1, has_value: false, body: Span::default() });
            0
        }
    }
}

/// The summary of a field, if it has had a region.
pub(super) fn ended_of(all: &mut [Ended], field: usize) -> Option<&mut Ended> {
    all.iter_mut().find(|ended| ended.field == field)
}
