//! The parser of one message: `feed` takes chunks, `finish` ends the text, and both return events in the text's order.

use super::Finished;
use super::error::ParseError;
use super::event::{Event, EventRef};
use super::events::Events;
use super::machine::{Machine, watched};
use super::options::Options;
use super::token_feed::TokenFeed;
use crate::template::Template;
use backchat_core::json::Object;

/// Reads one message of a model, piece by piece.
#[derive(Clone, Debug)]
pub struct Parser {
    pub(super) machine: Machine,
    pub(super) prefix_length: usize,
    pub(super) initial_events: Vec<Event>,
    /// The input of a parser of ids.
    pub(super) ids: Option<Box<TokenFeed>>,
}

/// The text a parser holds, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held<'p> {
    /// The text.
    pub text: &'p str,
    /// Its start, counted like a [`Span`](super::Span).
    pub start: usize,
    /// The delimiters it could be part of.
    pub pending: Vec<Pending<'p>>,
}

/// A delimiter that may have begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending<'p> {
    /// The field.
    pub field: &'p str,
    /// Whether it closes the field rather than opening it.
    pub closes: bool,
    /// The delimiter as a pattern.
    pub pattern: &'p str,
    /// Its possible start, counted like a [`Span`](super::Span).
    pub start: usize,
}

/// Feeds a parser text only as lookahead: its events are not reported, and the message lacks it.
///
/// For stable mode only, in which a value never affects how the following text is parsed.
pub fn skim(parser: &mut Parser, text: &str) -> Result<(), ParseError> {
    parser.machine.skims = true;
    let taken = parser.feed_into(text, &mut |_| {});
    parser.machine.skims = false;
    taken
}

impl Parser {
    /// Begins a message. `prefix` is the prompt up to the model's output; the text after its last start anchor belongs
    /// to the message.
    pub fn new(template: &Template, prefix: &str, options: Options) -> Result<Self, ParseError> {
        let (machine, prefix_length, initial_events) = Machine::after(template, prefix, options)?;
        Ok(Self { machine, prefix_length, initial_events, ids: None })
    }

    /// The template it parses with: the given one, adapted to the options.
    pub fn template(&self) -> &Template {
        &self.machine.template
    }

    /// The events of the prefix itself.
    pub fn initial_events(&self) -> &[Event] {
        &self.initial_events
    }

    /// The number of bytes of the prefix that belong to the message: the text begins at this place.
    pub fn prefix_length(&self) -> usize {
        self.prefix_length
    }

    /// Feeds more text and returns the events.
    #[inline]
    pub fn feed(&mut self, text: &str) -> Result<Events, ParseError> {
        let mut events = Events::default();
        self.feed_into(text, &mut |event| events.push(event.to_owned()))?;
        Ok(events)
    }

    /// Feeds more text and passes the events to a sink, without allocating for each.
    #[inline]
    pub fn feed_into(&mut self, text: &str, sink: &mut impl FnMut(EventRef<'_>)) -> Result<(), ParseError> {
        self.machine.feed_into(text, sink)
    }

    /// Ends the text: held text is decided, and the message is complete.
    pub fn finish(self) -> Result<Finished, ParseError> {
        let mut events = Vec::new();
        let finished = self.finish_into(&mut |event| events.push(event.to_owned()))?;
        Ok(Finished { events, ..finished })
    }

    /// Ends the text and passes the last events to a sink, without copying their values.
    pub fn finish_into(self, sink: &mut impl FnMut(EventRef<'_>)) -> Result<Finished, ParseError> {
        self.finish_ids(sink)
    }

    fn finish_ids(mut self, sink: &mut dyn FnMut(EventRef<'_>)) -> Result<Finished, ParseError> {
        if self.ids.is_some() {
            self.end_tokens_into(sink)?;
        }
        let Self { mut machine, prefix_length, ids, .. } = self;
        let Some(mut feed) = ids else {
            return machine.finish(sink).map(|finished| Finished { prefix_length, ..finished });
        };
        machine.expects_ids = false;
        machine.scan.swap_quiet(&mut feed.quiet);
        let finished = machine.finish(&mut |event| feed.show(event, sink))?;
        Ok(feed.finish(Finished { prefix_length, ..finished }))
    }

    /// The held text, and the delimiters it could be part of.
    pub fn held(&self) -> Held<'_> {
        let Machine { plan, scan, buffer, position, region, .. } = &self.machine;
        let position = *position;
        let watch = watched(plan, region.as_ref());
        let pending = watch.delimiters.iter().filter_map(|&index| {
            let start = scan.pending(plan, index, buffer, position).filter(|&start| start >= position)?;
            let delimiter = plan.delimiters.get(index)?;
            let field = &plan.fields.get(delimiter.field)?.name;
            Some(Pending { field, closes: delimiter.closes, pattern: delimiter.pattern.source(), start })
        });
        Held { text: buffer.slice(position, buffer.end()), start: position, pending: pending.collect() }
    }

    /// The message so far: the values of the regions that have closed, and the defaults.
    pub fn message(&self) -> Object {
        let message = self.machine.message.clone().finish(self.machine.template.defaults());
        match &self.ids {
            Some(feed) => feed.object(&message),
            None => message,
        }
    }

    /// The field whose region the parser is in.
    pub fn current_field(&self) -> Option<&str> {
        let region = self.machine.region.as_ref()?;
        self.machine.plan.fields.get(region.field).map(|field| &*field.name)
    }
}
