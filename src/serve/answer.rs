//! One choice of an answer: text of the engine in, deltas of the message out, and the data for the record.
//!
//! The deltas of a field, joined, are its value: the parser trims a region when it closes, so white space at its
//! beginning is dropped here, and at its end it is held until text follows.

use std::ops::Range;

use super::reply::End;
use backchat_core::json::{Object, Value};
use backchat_core::python;
use backchat_parser::parser::{EventRef, ParseError, Parser, Problem};
use backchat_parser::template::{ContentSpec, Field};
use backchat_probe::probe::REASONING_KEYS;

const CALLS: &str = "tool_calls";

/// The most text of one answer, in bytes.
const MOST_TEXT: usize = 16 << 20;

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
    /// While they are written.
    #[default]
    Growing,
    /// Once they are complete. A malformed call is sent as content in both cases.
    Whole,
}

/// One choice as it is written.
#[derive(Debug)]
pub struct Answer {
    parser: Option<Parser>,
    state: State,
    /// The lengths of the pieces in code points, and when each arrived.
    chunks: Vec<(u32, u32)>,
    /// The message as the response template reads it, once the answer is over.
    message: Object,
    problems: Vec<Problem>,
}

/// The deltas so far.
#[derive(Debug, Default)]
struct State {
    /// All text of the engine.
    text: String,
    /// How many bytes of the prompt the parser reads before it.
    prefix: usize,
    fields: Vec<TextField>,
    /// White space held at the end of the open region's text.
    space: String,
    is_blank: bool,
    /// Where the open region begins.
    opened: usize,
    calls: usize,
    calls_before: usize,
    delivery: CallDelivery,
    /// The calls of the open region, if they are sent once it is complete.
    waiting: Vec<WaitingCall>,
    /// Whether the open region's calls were cut off, so that the rest of it gives no deltas.
    skips: bool,
    /// Whether the engine ended the answer at its limit.
    is_cut: bool,
}

/// A call that is not sent yet.
#[derive(Debug)]
struct WaitingCall {
    id: Option<String>,
    name: String,
    arguments: String,
}

/// How a field of text becomes a value.
#[derive(Debug)]
struct TextField {
    name: String,
    strips: bool,
    join: String,
    regions: usize,
}

impl TextField {
    fn new(field: &Field) -> Option<Self> {
        let ContentSpec::Text { strip } = field.content else { return None };
        let join = field.join.clone().unwrap_or_default();
        Some(Self { name: field.name.clone(), strips: strip, join, regions: 0 })
    }
}

impl Answer {
    /// Begins an answer. The parser has the prompt. A region that the prompt opened belongs to the answer, unless it
    /// `continues` a message that the client already has.
    pub fn new(parser: Parser, continues: bool, delivery: CallDelivery, sink: &mut impl FnMut(Delta<'_>)) -> Self {
        let fields = parser.template().fields().iter().filter_map(TextField::new).collect();
        let mut state = State { prefix: parser.prefix_length(), fields, is_blank: true, delivery, ..State::default() };
        for event in parser.initial_events() {
            if continues { state.take(event.borrowed(), &mut |_| {}) } else { state.take(event.borrowed(), sink) }
        }
        Self { parser: Some(parser), state, chunks: Vec::new(), message: Object::new(), problems: Vec::new() }
    }

    /// Feeds a piece of the engine's text, which arrived after this many milliseconds. Fails if the text is too long,
    /// or exceeds the step limit of a pattern.
    pub fn feed(&mut self, piece: &str, after_ms: u32, sink: &mut impl FnMut(Delta<'_>)) -> Result<(), String> {
        let Some(parser) = &mut self.parser else { return Ok(()) };
        if self.state.text.len() + piece.len() > MOST_TEXT {
            return Err(format!("the answer is longer than {} MiB", MOST_TEXT >> 20));
        }
        self.state.text.push_str(piece);
        self.chunks.push((u32::try_from(piece.chars().count()).unwrap_or(u32::MAX), after_ms));
        let state = &mut self.state;
        parser.feed_into(piece, &mut |event| state.take(event, sink)).map_err(|error| broken(&error))
    }

    /// Ends the answer. Fails if the text exceeds the step limit of a pattern.
    pub fn finish(&mut self, end: End, sink: &mut impl FnMut(Delta<'_>)) -> Result<(), String> {
        let Some(parser) = self.parser.take() else { return Ok(()) };
        self.state.is_cut = end == End::Length;
        let state = &mut self.state;
        let finished = parser.finish_into(&mut |event| state.take(event, sink)).map_err(|error| broken(&error))?;
        self.message = finished.message;
        self.problems = finished.problems;
        Ok(())
    }

    /// The finish reason in OpenAI's protocol.
    pub fn finish_reason(&self) -> &'static str {
        match () {
            () if self.state.is_cut => "length",
            () if self.state.calls > 0 => "tool_calls",
            () => "stop",
        }
    }

    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The message with the response template's field names; that of the text so far if the answer was interrupted.
    pub fn message(&self) -> Object {
        self.parser.as_ref().map_or_else(|| self.message.clone(), Parser::message)
    }

    /// All text of the engine.
    pub fn text(&self) -> &str {
        &self.state.text
    }

    /// The lengths of the pieces in code points, and the milliseconds after which they arrived.
    pub fn chunks(&self) -> &[(u32, u32)] {
        &self.chunks
    }
}

fn broken(error: &ParseError) -> String {
    format!("the answer cannot be parsed: {error}")
}

impl State {
    fn take(&mut self, event: EventRef<'_>, sink: &mut impl FnMut(Delta<'_>)) {
        match event {
            EventRef::Open { field, span, .. } => self.open(field, span.start, sink),
            EventRef::Chunk { field, text, dirty: false, .. } => self.add(field, text, sink),
            EventRef::Problem(problem) if self.is_cut && problem.at_end && problem.field.as_deref() == Some(CALLS) => {
                self.skips = true;
                self.withdraw();
            }
            EventRef::Malformed { field, span, .. } if &**field == CALLS => {
                self.withdraw();
                // The client gets the raw text in place of a malformed call, unless the call was only truncated.
                if self.calls == self.calls_before && !self.is_cut {
                    let raw = self.raw(self.opened..span.end).to_owned();
                    self.open("content", span.end, sink);
                    self.add("content", &raw, sink);
                }
            }
            _ if self.skips => {}
            EventRef::CallStart { index, name, id, .. } => {
                self.calls += 1;
                match self.delivery {
                    CallDelivery::Growing => sink(Delta::Call { index, id, name }),
                    CallDelivery::Whole => {
                        let (id, name) = (id.map(str::to_owned), name.to_owned());
                        self.waiting.push(WaitingCall { id, name, arguments: String::new() });
                    }
                }
            }
            EventRef::CallArguments { index, delta, .. } => match self.waiting.last_mut() {
                Some(call) => call.arguments.push_str(delta),
                None => sink(Delta::Arguments { index, text: delta }),
            },
            EventRef::Close { field, .. } if &**field == CALLS => {
                // Calls that were withdrawn have no number.
                let first = self.calls - self.waiting.len();
                for (index, call) in (first..).zip(self.waiting.drain(..)) {
                    sink(Delta::Call { index, id: call.id.as_deref(), name: &call.name });
                    sink(Delta::Arguments { index, text: &call.arguments });
                }
            }
            _ => {}
        }
    }

    /// Drops the unsent calls of the open region.
    fn withdraw(&mut self) {
        self.calls -= self.waiting.len();
        self.waiting.clear();
    }

    /// The text between two positions of the parser's input.
    fn raw(&self, place: Range<usize>) -> &str {
        let at = |place: usize| place.saturating_sub(self.prefix);
        self.text.get(at(place.start)..at(place.end)).unwrap_or_default()
    }

    fn open(&mut self, name: &str, start: usize, sink: &mut impl FnMut(Delta<'_>)) {
        self.space.clear();
        self.is_blank = true;
        self.skips = false;
        self.opened = start;
        self.calls_before = self.calls;
        if let Some(field) = self.fields.iter_mut().find(|field| field.name == name) {
            field.regions += 1;
            if !field.strips {
                self.is_blank = false;
            }
            if field.regions > 1 && !field.join.is_empty() {
                send(name, &field.join, sink);
            }
        }
    }

    fn add(&mut self, name: &str, text: &str, sink: &mut impl FnMut(Delta<'_>)) {
        let Some(field) = self.fields.iter().find(|field| field.name == name) else { return };
        if !field.strips {
            return send(name, text, sink);
        }
        let text = if self.is_blank { text.trim_start_matches(python::space::is_space) } else { text };
        let kept = text.trim_end_matches(python::space::is_space);
        if !kept.is_empty() {
            self.is_blank = false;
            if !self.space.is_empty() {
                send(name, &std::mem::take(&mut self.space), sink);
            }
            send(name, kept, sink);
        }
        if !self.is_blank {
            self.space.push_str(text.get(kept.len()..).unwrap_or_default());
        }
    }
}

/// Sends the delta of a field that the protocol has; other fields are only recorded.
fn send(name: &str, text: &str, sink: &mut impl FnMut(Delta<'_>)) {
    if REASONING_KEYS.contains(&name) {
        sink(Delta::Reasoning(text));
    } else if name == "content" {
        sink(Delta::Content(text));
    }
}

/// The problems, for the record and clients.
pub fn problems_to_value(problems: &[Problem], more: &[Value]) -> Value {
    Value::List(problems.iter().map(Problem::to_value).chain(more.iter().cloned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_parser::parser::Options;
    use backchat_parser::template::Template;

    const TEMPLATE: &str = r#"{
        "version": 1, "defaults": {"role": "assistant"}, "start_anchor": "<bot>",
        "fields": {
            "thinking": {"open": "<t>", "close": "</t>"},
            "tool_calls": {"open": "<call>", "close": "</call>", "repeats": true, "content": "json",
                "transform": {"type": "function", "function": {"name": "{content.name}", "arguments": "{content.arguments}"}}},
            "content": {"close": "<end>"}
        }
    }"#;

    /// What a client assembles from a text in pieces of this size: reasoning, content, calls; and the finish reason.
    fn assembled(text: &str, size: usize, end: End) -> (String, String, Vec<(String, String)>, &'static str) {
        assembled_by(CallDelivery::Growing, text, size, end).0
    }

    type Assembled = (String, String, Vec<(String, String)>, &'static str);

    /// The same, and how many deltas of arguments there were.
    fn assembled_by(delivery: CallDelivery, text: &str, size: usize, end: End) -> (Assembled, usize) {
        let template = Template::load(TEMPLATE).unwrap().template;
        let (mut reasoning, mut content, mut calls) = (String::new(), String::new(), Vec::new());
        let mut pieces = 0;
        let mut sink = |delta: Delta<'_>| match delta {
            Delta::Reasoning(text) => reasoning.push_str(text),
            Delta::Content(text) => content.push_str(text),
            Delta::Call { index, name, .. } => {
                assert_eq!(index, calls.len());
                calls.push((name.to_owned(), String::new()));
            }
            Delta::Arguments { index, text } => {
                pieces += 1;
                calls[index].1.push_str(text);
            }
        };
        let parser = Parser::new(&template, "<bot>", Options::default().grow_calls(true)).unwrap();
        let mut answer = Answer::new(parser, false, delivery, &mut sink);
        let characters: Vec<char> = text.chars().collect();
        for piece in characters.chunks(size) {
            answer.feed(&piece.iter().collect::<String>(), 1, &mut sink).unwrap();
        }
        answer.finish(end, &mut sink).unwrap();
        assert_eq!(answer.text(), text);
        assert_eq!(answer.chunks().iter().map(|(length, _)| *length as usize).sum::<usize>(), text.chars().count());
        let reason = answer.finish_reason();
        ((reasoning, content, calls, reason), pieces)
    }

    #[test]
    fn joined_deltas_are_the_message_however_the_text_is_cut() {
        let call = r#"<call>{"name": "pay", "arguments": {"sum": 1000}}</call>"#;
        let text = format!("<t>\n Hm. Yes \n</t>\n\nWell,  then. \n{call}{call}<end>\n");
        let pay = ("pay".to_owned(), "{\"sum\": 1000}".to_owned());
        for size in [1, 2, 3, 5, 1000] {
            let (reasoning, content, calls, reason) = assembled(&text, size, End::Stop);
            assert_eq!((reasoning.as_str(), content.as_str()), ("Hm. Yes", "Well,  then."), "in pieces of {size}");
            assert_eq!((calls, reason), (vec![pay.clone(); 2], "tool_calls"), "in pieces of {size}");
        }
    }

    #[test]
    fn a_malformed_call_is_content() {
        let broken = r#"<call>{"name" "pay"}</call>"#;
        for size in [1, 4, 1000] {
            let (_, content, calls, reason) = assembled(&format!("{broken}<end>"), size, End::Stop);
            assert_eq!((content.as_str(), calls.len(), reason), (broken, 0, "stop"), "in pieces of {size}");
        }
    }

    #[test]
    fn calls_may_be_sent_whole() {
        let call = r#"<call>{"name": "pay", "arguments": {"sum": 1000}}</call>"#;
        let broken = r#"<call>{"name": "pay", "arguments": {"sum" 1}}</call>"#;
        let unended = r#"<call>{"name": "pay", "arguments": {"sum": 1"#;
        let pay = ("pay".to_owned(), "{\"sum\": 1000}".to_owned());
        let whole = |text: &str, size, end| assembled_by(CallDelivery::Whole, text, size, end);
        for size in [1, 4, 1000] {
            let ((_, content, calls, reason), pieces) = whole(&format!("Hm.{call}{broken}{call}"), size, End::Stop);
            // Text after a call does not belong to the content before it, so only the malformed call is added.
            assert_eq!(content, format!("Hm.{broken}"), "in pieces of {size}");
            assert_eq!((calls, reason, pieces), (vec![pay.clone(); 2], "tool_calls", 2), "in pieces of {size}");
            let ((_, content, calls, reason), _) = whole(&format!("{call}{unended}"), size, End::Length);
            assert_eq!((content.as_str(), calls, reason), ("", vec![pay.clone()], "length"), "in pieces of {size}");
        }
    }

    #[test]
    fn an_answer_cut_at_the_limit_is_never_whole() {
        let text = r#"<t>Hm</t>Well.<call>{"name": "pay", "arguments": {"sum": 1000}}</call>"#;
        for end in 0..text.len() {
            let (_, content, calls, reason) = assembled(&text[..end], 3, End::Length);
            // The beginning of a marker is text until the rest of it comes.
            let (said, marker) = content.split_at(content.find('<').unwrap_or(content.len()));
            assert!("Well.".starts_with(said) && text[..end].ends_with(marker), "{}", &text[..end]);
            assert_eq!(reason, "length", "{}", &text[..end]);
            for (_, arguments) in calls {
                let is_whole = backchat_core::json::read(&arguments).is_ok();
                assert!(!is_whole || text[..end].ends_with('}') || text[..end].contains("}<"), "{}", &text[..end]);
                assert!("{\"sum\": 1000}".starts_with(&arguments), "{}", &text[..end]);
            }
        }
    }
}
