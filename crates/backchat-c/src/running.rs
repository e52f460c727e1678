//! A parser at work: text or ids in; events to the caller, deltas and the message kept.

use std::ffi::c_void;

use crate::chat::Chat;
use crate::chosen::Chosen;
use crate::event::{Kept, Scratch, bc_callback, bc_event};
use crate::failure::Failure;
use crate::status::{BC_FINISHED, BC_INVALID_OPTION, BC_OK, BC_STOPPED, BC_WRONG_INPUT, bc_status};
use backchat_core::json::{Object, Value};
use backchat_parser::parser::{EventRef, Finished, Malformed, ParseError, Parser, Problem};

/// A parser, and what it gave the caller.
#[derive(Debug)]
pub struct Running {
    /// `None` once the message is finished, or parsing failed.
    parser: Option<Parser>,
    reads_ids: bool,
    pub prefix_length: usize,
    /// The message, once it is finished.
    finished: Option<Finished>,
    /// Events of a call without a callback.
    pub kept: Kept,
    scratch: Scratch,
    chat: Option<Chat>,
    /// A JSON text that the caller asked for.
    answer: String,
}

impl Running {
    pub fn new(parser: Parser, reads_ids: bool, chosen: &Chosen) -> Self {
        let chat = Chat::new(&parser, chosen);
        let mut kept = Kept::default();
        parser.initial_events().iter().for_each(|event| kept.push(event.borrowed()));
        Self {
            reads_ids,
            prefix_length: parser.prefix_length(),
            parser: Some(parser),
            finished: None,
            kept,
            scratch: Scratch::default(),
            chat,
            answer: String::new(),
        }
    }

    /// Feeds a piece of the text.
    #[inline(always)]
    pub fn feed(&mut self, piece: &str, target: Target) -> Result<bc_status, Failure> {
        if self.reads_ids {
            return Err(wrong_input("this parser reads ids; feed it with bc_parser_feed_ids"));
        }
        self.kept.clear();
        if let Some(chat) = &mut self.chat {
            chat.add_text(piece);
        }
        let Some(parser) = &mut self.parser else { return Err(finished()) };
        let mut report = Report::new(target, &mut self.kept, &mut self.scratch, self.chat.as_mut());
        let done = parser.feed_into(piece, &mut |event| report.take(event));
        let status = report.status();
        done.map(|()| status).map_err(|error| self.fail(error))
    }

    /// Feeds ids. The text of deltas is that of all ids, so that events wait until it is known.
    pub fn feed_ids(&mut self, ids: &[u32], target: Target) -> Result<bc_status, Failure> {
        if !self.reads_ids {
            return Err(wrong_input("this parser reads text; make it with a template for ids to feed ids"));
        }
        self.kept.clear();
        let Some(parser) = &mut self.parser else { return Err(finished()) };
        if let Some(chat) = &mut self.chat {
            let events = parser.feed_tokens(ids);
            chat.add_kept(parser.kept_text().unwrap_or_default());
            let mut report = Report::new(target, &mut self.kept, &mut self.scratch, Some(chat));
            let done = events.map(|events| events.iter().for_each(|event| report.take(event.borrowed())));
            let status = report.status();
            return done.map(|()| status).map_err(|error| self.fail(error));
        }
        let mut report = Report::new(target, &mut self.kept, &mut self.scratch, None);
        let done = parser.feed_tokens_into(ids, &mut |event| report.take(event));
        let status = report.status();
        done.map(|()| status).map_err(|error| self.fail(error))
    }

    /// Ends the text.
    pub fn finish(&mut self, cut_off: bool, target: Target) -> Result<bc_status, Failure> {
        self.kept.clear();
        let Some(mut parser) = self.parser.take() else { return Err(finished()) };
        let mut report = Report::new(target, &mut self.kept, &mut self.scratch, self.chat.as_mut());
        if let Some(chat) = report.chat.as_mut().filter(|_| cut_off) {
            chat.cut_off();
        }
        if self.reads_ids && report.chat.is_some() {
            let events = parser.end_tokens()?;
            if let Some(chat) = report.chat.as_mut() {
                chat.add_kept(parser.kept_text().unwrap_or_default());
            }
            events.iter().for_each(|event| report.take(event.borrowed()));
        }
        self.finished = Some(parser.finish_into(&mut |event| report.take(event))?);
        Ok(report.status())
    }

    /// Parsing failed, so that nothing more can be fed.
    #[cold]
    fn fail(&mut self, error: ParseError) -> Failure {
        self.parser = None;
        error.into()
    }

    pub fn chat(&mut self) -> Result<&mut Chat, Failure> {
        self.chat
            .as_mut()
            .ok_or_else(|| Failure::new(BC_INVALID_OPTION, "the parser was made without the option `chat`"))
    }

    /// The message, so far or whole.
    pub fn message(&mut self) -> Result<&str, Failure> {
        let so_far = self.parser.as_ref().map(Parser::message);
        let whole = || self.finished.as_ref().map(|finished| finished.message.clone());
        let message = so_far.or_else(whole).ok_or_else(finished)?;
        Ok(self.answer(Value::Object(message)))
    }

    /// What makes the message doubtful; empty if nothing does, or if it is not finished.
    pub fn report(&mut self) -> &str {
        let mut entries = Object::new();
        if let Some(finished) = &self.finished {
            let problem = |problem: &Problem| match problem.to_value() {
                Value::Object(mut entries) => {
                    entries.insert_at(1, "span", Value::List(vec![problem.span.start.into(), problem.span.end.into()]));
                    Value::Object(entries)
                }
                other => other,
            };
            let lists: [(&str, Vec<Value>); 4] = [
                ("missing", finished.missing.iter().map(|name| name.as_str().into()).collect()),
                ("malformed", finished.malformed.iter().map(Malformed::to_value).collect()),
                ("problems", finished.problems.iter().map(problem).collect()),
                ("notes", finished.notes.iter().map(|note| note.as_str().into()).collect()),
            ];
            for (key, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
                entries.insert(key, Value::List(list));
            }
        }
        self.answer(Value::Object(entries))
    }

    fn answer(&mut self, value: Value) -> &str {
        self.answer.clear();
        value.write_to(&mut self.answer);
        &self.answer
    }
}

#[cold]
fn finished() -> Failure {
    Failure::new(BC_FINISHED, "the message is finished, or parsing it failed; make a parser for the next message")
}

#[cold]
pub fn wrong_input(problem: &str) -> Failure {
    Failure::new(BC_WRONG_INPUT, problem)
}

/// Where a caller wants the events of a call: at its callback, or kept.
#[derive(Clone, Copy)]
pub struct Target {
    pub callback: bc_callback,
    pub user: *mut c_void,
}

/// The events of one call on their way to the caller.
struct Report<'r> {
    target: Target,
    is_stopped: bool,
    kept: &'r mut Kept,
    scratch: &'r mut Scratch,
    chat: Option<&'r mut Chat>,
}

impl<'r> Report<'r> {
    #[inline]
    fn new(target: Target, kept: &'r mut Kept, scratch: &'r mut Scratch, chat: Option<&'r mut Chat>) -> Self {
        Self { target, is_stopped: false, kept, scratch, chat }
    }

    #[inline]
    fn take(&mut self, event: EventRef<'_>) {
        if let Some(chat) = &mut self.chat {
            chat.take(event);
        }
        match bc_event::of_chunk(event) {
            Some(chunk) if self.target.callback.is_some() => self.show(&chunk),
            _ => self.take_other(event),
        }
    }

    #[inline(never)]
    fn take_other(&mut self, event: EventRef<'_>) {
        if self.target.callback.is_none() {
            self.kept.push(event);
        } else if let Some(shown) = bc_event::of(event, self.scratch) {
            self.show(&shown);
        }
    }

    #[inline]
    fn show(&mut self, event: &bc_event) {
        if let Some(callback) = self.target.callback.filter(|_| !self.is_stopped) {
            // SAFETY: the caller passes a function of this type, or null.
            self.is_stopped = unsafe { callback(event, self.target.user) } != 0;
        }
    }

    fn status(&self) -> bc_status {
        if self.is_stopped { BC_STOPPED } else { BC_OK }
    }
}
