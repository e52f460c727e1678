//! Parsers of ids: they read the letters that a [`TokenFeed`] writes, and map their results back to the text.

use super::error::{Cause, ParseError};
use super::event::EventRef;
use super::events::Events;
use super::interface::Parser;
use super::kept_text::IdSpans;
use super::machine::Machine;
use super::options::Options;
use super::part::part;
use super::plan::Glance;
use super::span::Span;
use super::token_feed::TokenFeed;
use super::token_template::TokenTemplate;
use crate::content::Mode;
use crate::tokens::TextStream;

impl Parser {
    /// Begins a message whose text comes as token ids. The ids of the prompt and of the answer are one stream, so a
    /// character may begin in one and end in the other.
    pub fn with_tokens(tokens: &TokenTemplate, prompt_ids: &[u32], options: Options) -> Result<Self, ParseError> {
        let mut feed = Box::new(TokenFeed::new(tokens, TextStream::new(tokens.tokens()), &options));
        let prefix = feed.prompt_text(prompt_ids);
        Self::with_feed(tokens, feed, &prefix, options)
    }

    /// The same after a prompt without ids. Markers spelled in it count as markers.
    pub fn with_tokens_after(tokens: &TokenTemplate, prefix: &str, options: Options) -> Result<Self, ParseError> {
        let feed = Box::new(TokenFeed::new(tokens, TextStream::after(tokens.tokens(), prefix), &options));
        Self::with_feed(tokens, feed, &tokens.letters().spell(prefix), options)
    }

    /// A parser after a prefix in letters.
    fn with_feed(
        tokens: &TokenTemplate,
        mut feed: Box<TokenFeed>,
        prefix: &str,
        options: Options,
    ) -> Result<Self, ParseError> {
        let mut parser = Self::new(tokens.template(), prefix, options)?;
        feed.note(part(prefix, prefix.len() - parser.prefix_length..prefix.len()), 0);
        parser.prefix_length = feed.place(parser.prefix_length);
        let mut events = Vec::with_capacity(parser.initial_events.len());
        for event in &parser.initial_events {
            feed.show(event.borrowed(), &mut |event| events.push(event.to_owned()));
        }
        parser.initial_events = events;
        parser.machine.scan.swap_quiet(&mut feed.quiet);
        parser.machine.expects_ids = true;
        parser.ids = Some(feed);
        Ok(parser)
    }

    /// Feeds more ids and returns the events.
    pub fn feed_tokens(&mut self, ids: &[u32]) -> Result<Events, ParseError> {
        let mut events = Events::default();
        self.feed_tokens_into(ids, &mut |event| events.push(event.to_owned()))?;
        Ok(events)
    }

    /// Feeds more ids and passes the events to a sink, without allocating for each.
    #[inline]
    pub fn feed_tokens_into(&mut self, ids: &[u32], sink: &mut impl FnMut(EventRef<'_>)) -> Result<(), ParseError> {
        match ids {
            [id] if self.show_plain(*id, sink) => Ok(()),
            _ => self.feed_any_tokens(ids, sink),
        }
    }

    /// The fast path for an id whose text is released at once and whole, as most are; false if it does not apply.
    #[inline(always)]
    fn show_plain(&mut self, id: u32, sink: &mut impl FnMut(EventRef<'_>)) -> bool {
        let Self { machine, ids: Some(feed), .. } = self else { return false };
        let Some(region) = &machine.region else { return false };
        let (Some(text), Some(field)) = (feed.plain(id), machine.plan.shown.get(region.field)) else { return false };
        let start = machine.buffer.end();
        let is_held = !feed.quiet || machine.position < start;
        if is_held || region.growing.is_some() || machine.scan.glance(text) != Glance::Clear {
            return false;
        }
        machine.buffer.push(text);
        let end = start + text.len();
        machine.scan.skip_to(end);
        machine.position = end;
        if machine.mode == Mode::Reference {
            machine.from = end;
        }
        let span = feed.span_at_end(Span::new(start, end));
        sink(EventRef::Chunk { field: &field.name, text, dirty: field.dirty, span });
        feed.count();
        true
    }

    #[inline(never)]
    fn feed_any_tokens(&mut self, ids: &[u32], sink: &mut dyn FnMut(EventRef<'_>)) -> Result<(), ParseError> {
        self.with_ids(|machine, feed| {
            if let [id] = ids
                && let Some(text) = feed.plain(*id)
            {
                let done = machine.feed_into(text, &mut |event| feed.show(event, sink));
                feed.count();
                return done;
            }
            let text = feed.text(ids, machine.buffer.end());
            feed_letters(machine, feed, text, sink)
        })
    }

    /// Runs a closure with the ids, in which the machine reads letters.
    fn with_ids(
        &mut self,
        work: impl FnOnce(&mut Machine, &mut TokenFeed) -> Result<(), ParseError>,
    ) -> Result<(), ParseError> {
        let Self { machine, ids: Some(feed), .. } = self else {
            return Err(self.machine.error(Cause::IdsForText));
        };
        machine.expects_ids = false;
        machine.scan.swap_quiet(&mut feed.quiet);
        let done = work(machine, feed);
        machine.scan.swap_quiet(&mut feed.quiet);
        machine.expects_ids = true;
        done
    }

    /// The text so far, from where the message begins, of a parser of ids with [`Options::keep_text`].
    pub fn kept_text(&self) -> Option<&str> {
        self.ids.as_ref()?.kept().map(|kept| kept.text.as_str())
    }

    /// The span of each id's text, of a parser of ids with [`Options::keep_text`].
    pub fn id_spans(&self) -> Option<&IdSpans> {
        self.ids.as_ref()?.kept().map(|kept| &kept.ids)
    }

    /// The text that an id would add; empty for a parser of text.
    pub fn text_of_next(&self, id: u32) -> String {
        self.ids.as_ref().map_or_else(String::new, |feed| feed.text_of_next(id))
    }

    /// Feeds text without ids. Markers spelled in it count as markers, as in a prompt.
    pub fn feed_spelled(&mut self, text: &str) -> Result<Events, ParseError> {
        let mut events = Events::default();
        self.with_ids(|machine, feed| {
            let letters = feed.spelled(text, machine.buffer.end());
            feed_letters(machine, feed, letters, &mut |event| events.push(event.to_owned()))
        })?;
        Ok(events)
    }

    /// Ends the ids, as [`finish`](Self::finish) does first: an incomplete character becomes U+FFFD.
    pub fn end_tokens(&mut self) -> Result<Events, ParseError> {
        let mut events = Events::default();
        self.end_tokens_into(&mut |event| events.push(event.to_owned()))?;
        Ok(events)
    }

    pub(super) fn end_tokens_into(&mut self, sink: &mut dyn FnMut(EventRef<'_>)) -> Result<(), ParseError> {
        self.with_ids(|machine, feed| {
            let letters = feed.end(machine.buffer.end());
            feed_letters(machine, feed, letters, sink)
        })
    }
}

/// Takes text in letters.
fn feed_letters(
    machine: &mut Machine,
    feed: &mut TokenFeed,
    letters: String,
    sink: &mut dyn FnMut(EventRef<'_>),
) -> Result<(), ParseError> {
    let done = match letters.as_str() {
        "" => Ok(()),
        letters => machine.feed_into(letters, &mut |event| feed.show(event, sink)),
    };
    feed.give_back(letters);
    done
}
