//! Deltas of a chat message from events: the joined deltas of a field are its value, and no delta is revised.
//!
//! The parser trims a region when it closes, so white space at its beginning is dropped here, and at its end it is held
//! until text follows.

#[cfg(test)]
mod tests;
mod write;

use std::ops::Range;

use crate::parser::{ClosedCall, EventRef, Parser, Trimmed, closed_calls};
use crate::template::Field;
use backchat_core::REASONING_KEYS;
use backchat_core::json::{self, Value};

pub use write::ReasoningName;

const CALLS: &str = "tool_calls";
/// The arguments of a call for which the model wrote null.
const NO_ARGUMENTS: &str = "{}";

/// A delta of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delta<'d> {
    Reasoning(&'d str),
    Content(&'d str),
    /// A call begins.
    Call {
        index: usize,
        /// The id that the model wrote, if it did.
        id: Option<&'d str>,
        name: &'d str,
    },
    /// More of the JSON text of the arguments of a call.
    Arguments {
        index: usize,
        text: &'d str,
    },
}

/// When calls are sent to a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallDelivery {
    /// While they are written, once their arguments begin as an object. Other arguments, such as the text of an object,
    /// are sent once they are complete.
    #[default]
    Growing,
    /// Once they are complete. A malformed call is sent as content in both cases.
    Whole,
    /// Once it is known that they are not malformed: complete, or cut off at the engine's limit. For answers that are sent
    /// as a whole.
    Settled,
}

/// The state of one message as it is written.
#[derive(Debug, Default)]
pub struct Deltas {
    /// All text of the answer.
    text: String,
    /// Where the text begins in spans.
    prefix: usize,
    /// Whether the client has the part of the prompt that belongs to the message.
    skips_prompt: bool,
    fields: Vec<TextField>,
    /// Where the open region begins.
    opened: usize,
    calls: usize,
    calls_before: usize,
    delivery: CallDelivery,
    /// The calls of the open region that are not sent yet.
    waiting: Vec<WaitingCall>,
    /// Whether the open region's calls were cut off, so that the rest of it gives no deltas.
    skips: bool,
    /// Whether the engine ended the answer at its limit.
    is_cut: bool,
    /// Where a malformed region of calls ends that the limit may have cut off.
    undecided: Option<usize>,
    /// Whether the open region is reasoning.
    is_reasoning: bool,
}

/// A call that is not sent yet.
#[derive(Debug)]
struct WaitingCall {
    id: Option<String>,
    name: String,
    arguments: String,
}

impl WaitingCall {
    /// A call of a region's value; `None` if its arguments are no object, nor the text of one.
    fn of(call: ClosedCall<'_>) -> Option<Self> {
        let arguments = match call.arguments {
            Value::Null => NO_ARGUMENTS.to_owned(),
            Value::Object(_) => call.arguments.to_string(),
            Value::String(text) if json::read(text).is_ok_and(|read| read.as_object().is_some()) => text.to_string(),
            _ => return None,
        };
        Some(Self { id: call.id.map(str::to_owned), name: call.name.to_owned(), arguments })
    }
}

/// How a field of text becomes a value.
#[derive(Debug)]
struct TextField {
    name: String,
    strips: bool,
    /// Whether it is trimmed as a whole, rather than region by region.
    strips_joined: bool,
    trimmed: Trimmed,
    join: String,
    regions: usize,
}

impl TextField {
    fn new(field: &Field) -> Option<Self> {
        let strips_joined = field.strips_joined;
        let strips = field.content.strips_text()? || strips_joined;
        let join = field.join.clone().unwrap_or_default();
        let name = field.name.clone();
        Some(Self { name, strips, strips_joined, trimmed: Trimmed::default(), join, regions: 0 })
    }
}

impl Deltas {
    /// The deltas of what this parser reads.
    pub fn new(parser: &Parser, delivery: CallDelivery) -> Self {
        let fields = parser.template().fields().iter().filter_map(TextField::new).collect();
        // The kept text of ids has the part of the prompt that belongs to the message.
        let prefix = if parser.kept_text().is_some() { 0 } else { parser.prefix_length() };
        Self { prefix, fields, delivery, ..Self::default() }
    }

    /// Adds text that is about to be fed.
    pub fn add_text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds the text of ids that were fed, from the parser's kept text.
    pub fn add_kept(&mut self, kept: &str) {
        self.text.push_str(kept.get(self.text.len()..).unwrap_or_default());
    }

    /// Declares that the client has what the prompt holds of the message: neither the white space at its end nor text in
    /// which a delimiter may have begun is sent.
    pub fn skip_prompt(&mut self) {
        self.fields.iter_mut().for_each(|field| drop(field.trimmed.take_held()));
        self.skips_prompt = true;
    }

    /// All text of the answer.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Declares that the engine ended the answer at its limit.
    pub fn cut_off(&mut self) {
        self.is_cut = true;
    }

    /// Whether reasoning is being written.
    pub fn is_reasoning(&self) -> bool {
        self.is_reasoning
    }

    /// The finish reason in OpenAI's protocol.
    pub fn finish_reason(&self) -> &'static str {
        match () {
            () if self.is_cut => "length",
            () if self.calls > 0 => "tool_calls",
            () => "stop",
        }
    }

    /// The deltas of an event.
    pub fn take(&mut self, event: EventRef<'_>, sink: &mut dyn FnMut(Delta<'_>)) {
        if let Some(end) = self.undecided.take() {
            let is_cut = matches!(event, EventRef::Problem(problem) if problem.at_end);
            self.reject(end, is_cut, sink);
        }
        match event {
            EventRef::Open { field, span, .. } => self.open(field, span.start, sink),
            EventRef::Chunk { field, text, dirty: false, span } => {
                let known = if self.skips_prompt { self.prefix.saturating_sub(span.start) } else { 0 };
                self.add(field, text.get(known..).unwrap_or_default(), sink);
            }
            EventRef::Problem(problem) if self.is_cut && problem.at_end && problem.field.as_deref() == Some(CALLS) => {
                self.skips = true;
                self.withdraw(true, sink);
            }
            // Whether the limit cut a region off that has a close, the problem that follows tells: more text might undo it.
            EventRef::Malformed { field, span, .. } if &**field == CALLS => {
                match self.is_cut && span.start < span.end {
                    true => self.undecided = Some(span.end),
                    false => self.reject(span.end, self.is_cut, sink),
                }
            }
            _ if self.skips => {}
            EventRef::CallStart { name, id, .. } => {
                self.calls += 1;
                let (id, name) = (id.map(str::to_owned), name.to_owned());
                self.waiting.push(WaitingCall { id, name, arguments: String::new() });
            }
            EventRef::CallArguments { delta, .. } => self.grow(delta, sink),
            EventRef::Close { field, value, span, .. } if &**field == CALLS => self.close_calls(value, span.end, sink),
            EventRef::Close { field, span, .. } => self.close(field, span.start < span.end),
            _ => {}
        }
    }

    /// Adds to the arguments of the last call. A call is sent once they begin as an object; if an earlier call of the region
    /// waits for its end, later ones wait, too.
    fn grow(&mut self, delta: &str, sink: &mut dyn FnMut(Delta<'_>)) {
        let is_first = self.waiting.len() == 1;
        let Some(call) = self.waiting.last_mut() else {
            return sink(Delta::Arguments { index: self.calls.saturating_sub(1), text: delta });
        };
        call.arguments.push_str(delta);
        if is_first && self.delivery == CallDelivery::Growing && call.arguments.starts_with('{') {
            self.send_waiting(sink);
        }
    }

    /// Rejects the open region of calls, which ends here. The client gets its raw text, unless it was only truncated.
    fn reject(&mut self, end: usize, is_cut: bool, sink: &mut dyn FnMut(Delta<'_>)) {
        self.withdraw(is_cut, sink);
        if self.calls == self.calls_before && !is_cut {
            let raw = self.raw(self.opened..end).to_owned();
            self.open("content", end, sink);
            self.add("content", &raw, sink);
        }
    }

    /// Ends the open region of calls, whose value is known. Calls that wait are those of the value, which has the last of a
    /// key that came twice, and ids that came after the name.
    fn close_calls(&mut self, value: &Value, end: usize, sink: &mut dyn FnMut(Delta<'_>)) {
        let sent = self.calls - self.calls_before - self.waiting.len();
        match closed_calls(value).map(|call| WaitingCall::of(call?)).collect::<Option<Vec<_>>>() {
            Some(calls) => {
                self.waiting = calls.into_iter().skip(sent).collect();
                self.calls = self.calls_before + sent + self.waiting.len();
                self.send_waiting(sink);
            }
            // No client can take such a call.
            None => self.reject(end, false, sink),
        }
    }

    /// Sends the calls of the open region that wait.
    fn send_waiting(&mut self, sink: &mut dyn FnMut(Delta<'_>)) {
        // Calls that were withdrawn have no number.
        let first = self.calls - self.waiting.len();
        for (index, call) in (first..).zip(self.waiting.drain(..)) {
            sink(Delta::Call { index, id: call.id.as_deref(), name: &call.name });
            if !call.arguments.is_empty() {
                sink(Delta::Arguments { index, text: &call.arguments });
            }
        }
    }

    /// Drops the unsent calls of the open region. If the limit cut them off, sends them instead, unless only complete calls
    /// are delivered.
    fn withdraw(&mut self, is_cut: bool, sink: &mut dyn FnMut(Delta<'_>)) {
        if is_cut && self.delivery != CallDelivery::Whole {
            // Incomplete arguments that are not an object have no prefix that a client could use.
            let others = self.waiting.iter_mut().filter(|call| !call.arguments.starts_with('{'));
            others.for_each(|call| call.arguments.clear());
            return self.send_waiting(sink);
        }
        self.calls -= self.waiting.len();
        self.waiting.clear();
    }

    /// The text between two positions of the parser's input.
    fn raw(&self, place: Range<usize>) -> &str {
        let at = |place: usize| place.saturating_sub(self.prefix);
        self.text.get(at(place.start)..at(place.end)).unwrap_or_default()
    }

    fn open(&mut self, name: &str, start: usize, sink: &mut dyn FnMut(Delta<'_>)) {
        self.skips = false;
        self.opened = start;
        self.calls_before = self.calls;
        self.is_reasoning = REASONING_KEYS.contains(&name);
        if let Some(field) = self.fields.iter_mut().find(|field| field.name == name) {
            field.regions += 1;
            if !field.strips_joined {
                field.trimmed = Trimmed::default();
            }
            if field.regions > 1 && !field.join.is_empty() {
                send(name, &field.join, sink);
            }
        }
    }

    /// Ends a region of text. What follows one that its own delimiter closes is a text of its own.
    fn close(&mut self, name: &str, is_delimited: bool) {
        self.is_reasoning = false;
        if let Some(field) = self.fields.iter_mut().find(|field| is_delimited && field.name == name) {
            field.trimmed = Trimmed::default();
        }
    }

    fn add(&mut self, name: &str, text: &str, sink: &mut dyn FnMut(Delta<'_>)) {
        let Some(field) = self.fields.iter_mut().find(|field| field.name == name) else { return };
        if !field.strips {
            return send(name, text, sink);
        }
        let (before, kept) = field.trimmed.add(text);
        for text in [before.as_str(), kept].into_iter().filter(|text| !text.is_empty()) {
            send(name, text, sink);
        }
    }
}

/// Sends the delta of a field that the protocol has; other fields are only recorded.
fn send(name: &str, text: &str, sink: &mut dyn FnMut(Delta<'_>)) {
    if REASONING_KEYS.contains(&name) {
        sink(Delta::Reasoning(text));
    } else if name == "content" {
        sink(Delta::Content(text));
    }
}
