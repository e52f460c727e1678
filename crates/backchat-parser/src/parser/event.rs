//! Events: what the parser reports, in the text's order.

use std::sync::Arc;

use super::chunk_text::ChunkText;
use super::kept_text::IdSpans;
use super::problem::Problem;
use super::span::Span;
use crate::content::{Capture, Captures};
use backchat_core::json::Value;

/// An event of the text.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A region began.
    Open {
        /// The field.
        field: Arc<str>,
        /// The named captures of its open pattern.
        captures: Captures,
        /// The delimiter; empty where the implicit field began.
        span: Span,
    },
    /// More of a region's text, raw.
    Chunk {
        /// The field.
        field: Arc<str>,
        /// The text; never empty.
        text: ChunkText,
        /// Whether it is the raw text of a structured value.
        dirty: bool,
        /// Its position.
        span: Span,
    },
    /// A region ended, and this is its value.
    Close {
        /// The field.
        field: Arc<str>,
        /// The value.
        value: Value,
        /// The named captures of its close pattern.
        captures: Captures,
        /// The delimiter; empty where the region ended without one.
        span: Span,
        /// The body.
        body: Span,
    },
    /// A call began, and its name is known; see [`Options::grow_calls`](super::Options::grow_calls).
    CallStart {
        /// The field.
        field: Arc<str>,
        /// The number of the call in the message, from 0.
        index: usize,
        /// The name of the function.
        name: String,
        /// Its id, if the model wrote one and it is already known.
        id: Option<String>,
    },
    /// More of the JSON text of a call's arguments.
    CallArguments {
        /// The field.
        field: Arc<str>,
        /// The number of the call in the message.
        index: usize,
        /// The text; never empty.
        delta: String,
    },
    /// A region ended that gives no value. The message is as if it had not been there.
    Malformed {
        /// The field.
        field: Arc<str>,
        /// The raw text of the region.
        text: String,
        /// Why it gives no value.
        reason: String,
        /// The delimiter; empty where the region ended without one.
        span: Span,
        /// The body.
        body: Span,
    },
    /// Something went wrong with a region: it comes after the [`Malformed`](Event::Malformed), or before the
    /// [`Close`](Event::Close), that it is about. Not in reference mode.
    Problem(Box<Problem>),
}

/// An [`Event`] that borrows its texts and values.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum EventRef<'e> {
    /// A region began.
    Open {
        /// The field.
        field: &'e Arc<str>,
        /// The named captures of its open pattern.
        captures: &'e [Capture],
        /// The delimiter; empty where the implicit field began.
        span: Span,
    },
    /// More of a region's text, raw.
    Chunk {
        /// The field.
        field: &'e Arc<str>,
        /// The text; never empty.
        text: &'e str,
        /// Whether it is the raw text of a structured value.
        dirty: bool,
        /// Its position.
        span: Span,
    },
    /// A region ended, and this is its value.
    Close {
        /// The field.
        field: &'e Arc<str>,
        /// The value.
        value: &'e Value,
        /// The named captures of its close pattern.
        captures: &'e [Capture],
        /// The delimiter; empty where the region ended without one.
        span: Span,
        /// The body.
        body: Span,
    },
    /// A call began, and its name is known; see [`Options::grow_calls`](super::Options::grow_calls).
    CallStart {
        /// The field.
        field: &'e Arc<str>,
        /// The number of the call in the message, from 0.
        index: usize,
        /// The name of the function.
        name: &'e str,
        /// Its id, if the model wrote one and it is already known.
        id: Option<&'e str>,
    },
    /// More of the JSON text of a call's arguments.
    CallArguments {
        /// The field.
        field: &'e Arc<str>,
        /// The number of the call in the message.
        index: usize,
        /// The text; never empty.
        delta: &'e str,
    },
    /// A region ended that gives no value.
    Malformed {
        /// The field.
        field: &'e Arc<str>,
        /// The raw text of the region.
        text: &'e str,
        /// Why it gives no value.
        reason: &'e str,
        /// The delimiter; empty where the region ended without one.
        span: Span,
        /// The body.
        body: Span,
    },
    /// Something went wrong with a region.
    Problem(&'e Problem),
}

impl<'e> EventRef<'e> {
    /// The field it is about; empty for a problem of none.
    pub fn field(&self) -> &'e str {
        match self {
            EventRef::Open { field, .. }
            | EventRef::CallStart { field, .. }
            | EventRef::CallArguments { field, .. }
            | EventRef::Chunk { field, .. }
            | EventRef::Close { field, .. }
            | EventRef::Malformed { field, .. } => field,
            EventRef::Problem(problem) => problem.field.as_deref().unwrap_or_default(),
        }
    }

    /// Its name in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            EventRef::Open { .. } => "region_open",
            EventRef::Chunk { .. } => "region_chunk",
            EventRef::Close { .. } => "region_close",
            EventRef::Malformed { .. } => "region_malformed",
            EventRef::CallStart { .. } => "call_start",
            EventRef::CallArguments { .. } => "call_arguments",
            EventRef::Problem(_) => "problem",
        }
    }

    /// The event with its texts and values.
    #[inline]
    pub fn to_owned(&self) -> Event {
        match *self {
            EventRef::Chunk { field, text, dirty, span } => {
                Event::Chunk { field: field.clone(), text: text.into(), dirty, span }
            }
            _ => self.owned_out_of_line(),
        }
    }

    /// The same, out of line: chunks are the common case.
    fn owned_out_of_line(&self) -> Event {
        match *self {
            EventRef::Open { field, captures, span } => {
                Event::Open { field: field.clone(), captures: Captures::of(captures), span }
            }
            EventRef::Chunk { field, text, dirty, span } => {
                Event::Chunk { field: field.clone(), text: text.into(), dirty, span }
            }
            EventRef::Close { field, value, captures, span, body } => Event::Close {
                field: field.clone(),
                value: value.clone(),
                captures: Captures::of(captures),
                span,
                body,
            },
            EventRef::CallStart { field, index, name, id } => {
                Event::CallStart { field: field.clone(), index, name: name.to_owned(), id: id.map(str::to_owned) }
            }
            EventRef::CallArguments { field, index, delta } => {
                Event::CallArguments { field: field.clone(), index, delta: delta.to_owned() }
            }
            EventRef::Malformed { field, text, reason, span, body } => {
                Event::Malformed { field: field.clone(), text: text.to_owned(), reason: reason.to_owned(), span, body }
            }
            EventRef::Problem(problem) => Event::Problem(Box::new(problem.clone())),
        }
    }
}

impl Event {
    /// The event with borrowed texts and values.
    pub fn borrowed(&self) -> EventRef<'_> {
        match self {
            Event::Open { field, captures, span } => EventRef::Open { field, captures, span: *span },
            Event::Chunk { field, text, dirty, span } => EventRef::Chunk { field, text, dirty: *dirty, span: *span },
            Event::Close { field, value, captures, span, body } => {
                EventRef::Close { field, value, captures, span: *span, body: *body }
            }
            Event::CallStart { field, index, name, id } => {
                EventRef::CallStart { field, index: *index, name, id: id.as_deref() }
            }
            Event::CallArguments { field, index, delta } => EventRef::CallArguments { field, index: *index, delta },
            Event::Malformed { field, text, reason, span, body } => {
                EventRef::Malformed { field, text, reason, span: *span, body: *body }
            }
            Event::Problem(problem) => EventRef::Problem(problem),
        }
    }

    /// The field it is about; empty for a problem of none.
    pub fn field(&self) -> &str {
        self.borrowed().field()
    }

    /// Its name in JSON.
    pub fn kind(&self) -> &'static str {
        self.borrowed().kind()
    }

    /// The event as transformers writes it, and also `start` and `end` of its span, the `captures` of its delimiter, the
    /// `body` of a region that ended, and the range of `ids` that the span came from.
    pub fn to_value_with_spans(&self, ids: Option<&IdSpans>) -> Value {
        let Value::Object(mut entries) = self.to_value() else { return self.to_value() };
        let mut add = |span: &Span| {
            entries.insert("start", span.start.into());
            entries.insert("end", span.end.into());
            if let Some(ids) = ids.map(|ids| ids.ids_of(*span)) {
                entries.insert("ids", Value::List(vec![ids.start.into(), ids.end.into()]));
            }
        };
        match self {
            Event::Open { span, .. } | Event::Chunk { span, .. } => add(span),
            Event::Close { span, body, .. } | Event::Malformed { span, body, .. } => {
                add(span);
                entries.insert("body", Value::List(vec![body.start.into(), body.end.into()]));
            }
            Event::Problem(problem) => add(&problem.span),
            Event::CallStart { .. } | Event::CallArguments { .. } => {}
        }
        if let Event::Open { captures, .. } | Event::Close { captures, .. } = self {
            let captures = captures.iter().map(|capture| (capture.name.to_string(), capture.text.as_str().into()));
            entries.insert("captures", Value::Object(captures.collect()));
        }
        Value::Object(entries)
    }

    /// The event as transformers writes it.
    pub fn to_value(&self) -> Value {
        let mut entries: Vec<(&str, Value)> = vec![("type", self.kind().into()), ("field", self.field().into())];
        match self {
            Event::Open { .. } => {}
            Event::Chunk { text, dirty, .. } => {
                entries.push(("text", text.as_str().into()));
                entries.push(("dirty", (*dirty).into()));
            }
            Event::Close { value, .. } => entries.push(("value", value.clone())),
            Event::Malformed { text, reason, .. } => {
                entries.push(("text", text.as_str().into()));
                entries.push(("reason", reason.as_str().into()));
            }
            Event::CallStart { index, name, id, .. } => {
                entries.push(("index", (*index).into()));
                entries.push(("name", name.as_str().into()));
                entries.extend(id.as_ref().map(|id| ("id", id.as_str().into())));
            }
            Event::CallArguments { index, delta, .. } => {
                entries.push(("index", (*index).into()));
                entries.push(("delta", delta.as_str().into()));
            }
            Event::Problem(problem) => {
                let Value::Object(entries_of_problem) = problem.to_value() else { return Value::Null };
                let kind = ("type".to_owned(), self.kind().into());
                return Value::Object(std::iter::once(kind).chain(entries_of_problem).collect());
            }
        }
        Value::Object(entries.into_iter().collect())
    }
}
