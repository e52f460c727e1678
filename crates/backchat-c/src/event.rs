//! Events as the header has them: lent to a callback, or kept until the next call.

use std::ffi::c_void;

use crate::argument::bc_text;
use backchat_parser::parser::{Event, EventRef, Span};

/// A region began. `start` and `end` are its delimiter; `captures` are those of the delimiter.
pub const BC_EVENT_OPEN: u32 = 0;
/// More of a region's text, in `text`. `dirty` is 1 if it is the raw text of a structured value.
pub const BC_EVENT_CHUNK: u32 = 1;
/// A region ended: `value` is its value as JSON, `body_start` and `body_end` its body.
pub const BC_EVENT_CLOSE: u32 = 2;
/// A region ended that gives no value: `text` is its text, `detail` why. The message is as if it had not been there.
pub const BC_EVENT_MALFORMED: u32 = 3;
/// A call began, with the number `index` and the name `text`; `detail` is its id if the model wrote one.
pub const BC_EVENT_CALL_START: u32 = 4;
/// More of the JSON text of the arguments of the call `index`, in `text`.
pub const BC_EVENT_CALL_ARGUMENTS: u32 = 5;
/// Something went wrong with a region: `text` is the kind of problem, `value` the problem as JSON.
pub const BC_EVENT_PROBLEM: u32 = 6;

/// A named group of the delimiter of a region.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bc_capture {
    pub name: bc_text,
    pub text: bc_text,
}

/// An event. Its texts are valid until the callback returns, or until the next call with the parser if it was kept.
/// Later versions may add kinds, which should be skipped, and members at the end.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bc_event {
    /// `BC_EVENT_...`
    pub kind: u32,
    /// 1 if `text` is the raw text of a structured value.
    pub dirty: u32,
    /// The field; empty for a problem of none.
    pub field: bc_text,
    pub text: bc_text,
    pub detail: bc_text,
    /// JSON.
    pub value: bc_text,
    /// The number of the call, from 0.
    pub index: usize,
    /// The place in the parser's input, in bytes: the part of the prefix that belongs to the message
    /// (`bc_parser_prefix_length`), then the text.
    pub start: usize,
    pub end: usize,
    pub body_start: usize,
    pub body_end: usize,
    pub captures: *const bc_capture,
    pub capture_count: usize,
}

/// Takes an event; anything but 0 stops the report. It must return: no `longjmp`, no exception.
pub type bc_callback = Option<unsafe extern "C" fn(event: *const bc_event, user: *mut c_void) -> i32>;

/// Texts that an event is shown with, but does not have.
#[derive(Debug, Default)]
pub struct Scratch {
    json: String,
    captures: Vec<bc_capture>,
}

impl bc_event {
    /// An event about a field, at a place.
    #[inline(always)]
    fn new(kind: u32, field: &str, span: Span) -> Self {
        let none = bc_text::none();
        Self {
            kind,
            dirty: 0,
            field: bc_text::of(field),
            text: none,
            detail: none,
            value: none,
            index: 0,
            start: span.start,
            end: span.end,
            body_start: 0,
            body_end: 0,
            captures: std::ptr::null(),
            capture_count: 0,
        }
    }

    /// The event of a chunk, which needs no other texts.
    #[inline(always)]
    pub fn of_chunk(event: EventRef<'_>) -> Option<Self> {
        let EventRef::Chunk { field, text, dirty, span } = event else { return None };
        Some(Self { text: bc_text::of(text), dirty: dirty.into(), ..Self::new(BC_EVENT_CHUNK, field, span) })
    }

    /// An event, as long as it and the scratch live unchanged. `None` if this version of the header lacks its kind.
    pub fn of(event: EventRef<'_>, scratch: &mut Scratch) -> Option<Self> {
        let Scratch { json, captures: kept } = scratch;
        json.clear();
        kept.clear();
        let field = event.field();
        if let EventRef::Open { captures, .. } | EventRef::Close { captures, .. } = event {
            let shown = captures.iter();
            kept.extend(
                shown.map(|capture| bc_capture { name: bc_text::of(&capture.name), text: bc_text::of(&capture.text) }),
            );
        }
        let nowhere = Span::default();
        let mut shown = match event {
            EventRef::Chunk { .. } => return Self::of_chunk(event),
            EventRef::Open { span, .. } => Self::new(BC_EVENT_OPEN, field, span),
            EventRef::Close { value, span, body, .. } => {
                value.write_to(json);
                let place = Self::new(BC_EVENT_CLOSE, field, span);
                Self { value: bc_text::of(json), body_start: body.start, body_end: body.end, ..place }
            }
            EventRef::Malformed { text, reason, span, body, .. } => {
                let place = Self::new(BC_EVENT_MALFORMED, field, span);
                let (text, detail) = (bc_text::of(text), bc_text::of(reason));
                Self { text, detail, body_start: body.start, body_end: body.end, ..place }
            }
            EventRef::CallStart { index, name, id, .. } => {
                let detail = id.map_or(bc_text::none(), bc_text::of);
                Self { index, text: bc_text::of(name), detail, ..Self::new(BC_EVENT_CALL_START, field, nowhere) }
            }
            EventRef::CallArguments { index, delta, .. } => {
                Self { index, text: bc_text::of(delta), ..Self::new(BC_EVENT_CALL_ARGUMENTS, field, nowhere) }
            }
            EventRef::Problem(problem) => {
                problem.to_value().write_to(json);
                let (text, value) = (bc_text::of(problem.kind.as_str()), bc_text::of(json));
                Self { text, value, ..Self::new(BC_EVENT_PROBLEM, field, problem.span) }
            }
            _ => return None,
        };
        if !kept.is_empty() {
            (shown.captures, shown.capture_count) = (kept.as_ptr(), kept.len());
        }
        Some(shown)
    }
}

/// Events that are kept until the next call, in memory that does not move.
#[derive(Debug, Default)]
pub struct Kept {
    events: Vec<Event>,
    scratches: Vec<Scratch>,
    shown: Vec<bc_event>,
    pointers: Vec<*const bc_event>,
}

impl Kept {
    #[inline]
    pub fn clear(&mut self) {
        if !self.events.is_empty() {
            self.pointers.clear();
            self.shown.clear();
            self.events.clear();
        }
    }

    #[inline]
    pub fn push(&mut self, event: EventRef<'_>) {
        self.events.push(event.to_owned());
    }

    /// Pointers to the events since `clear`. They are made here, because a push moves events.
    pub fn pointers(&mut self) -> &[*const bc_event] {
        if self.pointers.is_empty() {
            self.scratches.resize_with(self.events.len().max(self.scratches.len()), Scratch::default);
            let pairs = self.events.iter().zip(&mut self.scratches);
            self.shown.extend(pairs.filter_map(|(event, scratch)| bc_event::of(event.borrowed(), scratch)));
            self.pointers.extend(self.shown.iter().map(std::ptr::from_ref));
        }
        &self.pointers
    }
}
