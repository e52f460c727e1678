//! A recorded parse: the text, feeds and events, stored compactly. It is immutable.

use std::ops::Range;
use std::sync::Arc;

use backchat_core::json::Value;
use backchat_parser::content::Capture;
use backchat_parser::parser::{Mode, ParseError, Policies, Problem};
use backchat_parser::template::{Field, Template};

use super::compact_value::CompactValue;
use backchat_core::text::slice;

/// A recorded parse.
///
/// Positions are bytes of [`text`](Self::text): the whole prompt, then the output. Feed 0 is the prompt, the last feed
/// is the end of the output, which decides held text.
#[derive(Clone, Debug)]
pub struct Recording {
    pub(super) template: Template,
    pub(super) mode: Mode,
    pub(super) recovery: Recovery,
    pub(super) text: Arc<str>,
    /// Where the parser began to read: after the last start anchor of the prompt.
    pub(super) origin: usize,
    /// Where the output begins.
    pub(super) output: usize,
    pub(super) feeds: Vec<Feed>,
    /// The feeds after which text was held.
    pub(super) held_spans: Vec<HeldSpan>,
    pub(super) entries: Vec<Entry>,
    /// The first event of each row: adjacent chunks of a region share one.
    pub(super) rows: Vec<u32>,
    pub(super) opens: Vec<Opened>,
    pub(super) closes: Vec<Closed>,
    pub(super) holds: Vec<Hold>,
    pub(super) pending: Vec<Pending>,
    pub(super) outcome: Outcome,
    /// What went wrong, once the text has ended.
    pub(super) problems: Vec<Problem>,
    /// What makes the answer doubtful, once the text has ended.
    pub(super) doubts: Vec<String>,
}

/// A moment of a recorded parse: how many feeds were given and how many events were taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment {
    /// The last feed that was given.
    pub feed: usize,
    /// How many events were taken.
    pub event: usize,
}

/// The recovery policies, and whether arguments are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// The policies.
    pub policies: Policies,
    /// Whether the arguments of calls are checked against the schemas of their tools.
    pub validate: bool,
}

/// How far the parser was after a feed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feed {
    /// The end of the text that had arrived.
    pub end: u32,
    /// How many events there had been.
    pub events: u32,
}

/// A feed after which text was held.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldSpan {
    pub feed: u32,
    /// The end of the settled text; the text between it and the end of the feed is held.
    pub settled: u32,
}

/// An event: what happened to which field, and up to where. A chunk begins where the event before it ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub end: u32,
    pub field: u16,
    pub kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) struct Opened {
    pub event: u32,
    /// Where its delimiter begins.
    pub start: u32,
    pub captures: Box<[Capture]>,
}

#[derive(Clone, Debug)]
pub(super) struct Closed {
    pub event: u32,
    /// Where its delimiter begins.
    pub start: u32,
    pub body: Range<u32>,
    /// The value, or why there is none.
    pub value: Result<CompactValue, Box<str>>,
    pub captures: Box<[Capture]>,
}

impl Closed {
    pub fn value(&self) -> Option<&CompactValue> {
        self.value.as_ref().ok()
    }

    pub fn body(&self) -> Range<usize> {
        self.body.start as usize..self.body.end as usize
    }
}

/// From a feed on, the delimiters that text is held for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hold {
    pub feed: u32,
    pub first: u32,
}

/// A delimiter that may have begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    field: u16,
    /// Whether it closes the field rather than opening it.
    pub closes: bool,
    start: u32,
}

impl Pending {
    pub(super) fn new(field: usize, closes: bool, start: usize) -> Self {
        Self { field: narrow_field(field), closes, start: narrow(start) }
    }

    /// The field, counted in the order of the template.
    pub fn field(&self) -> usize {
        self.field.into()
    }

    /// Where it may have begun.
    pub fn start(&self) -> usize {
        self.start as usize
    }
}

/// What kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A region began.
    Open,
    /// Text of a region was released.
    Chunk,
    /// A region ended and gave a value.
    Close,
    /// A region ended malformed.
    Malformed,
}

impl Kind {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Open => "region_open",
            Kind::Chunk => "region_chunk",
            Kind::Close => "region_close",
            Kind::Malformed => "region_malformed",
        }
    }

    /// Its short name.
    pub fn short(self) -> &'static str {
        self.name().trim_start_matches("region_")
    }
}

/// How a parse ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// With a message.
    Finished {
        /// The required fields that are absent.
        missing: Vec<String>,
    },
    /// More of the output may come.
    Open,
    /// It failed.
    Failed(ParseError),
}

/// An event of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen<'r> {
    /// What kind of event.
    pub kind: Kind,
    /// The field, counted in the order of the template.
    pub field: usize,
    /// A chunk's text, or a delimiter; empty where a region began or ended without one.
    pub span: Range<usize>,
    /// Of a region that ended: its body.
    pub body: Range<usize>,
    /// Of a region that ended: its value, or why it has none.
    pub value: Option<Result<&'r CompactValue, &'r str>>,
    /// The captures of a delimiter.
    pub captures: &'r [Capture],
}

/// A region that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// The field, counted in the order of the template.
    pub field: usize,
    /// The event that opened it.
    pub opened: usize,
    /// Its body so far.
    pub body: Range<usize>,
}

/// Held text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held<'r> {
    /// Its bytes.
    pub span: Range<usize>,
    /// The delimiters it is held for.
    pub pending: &'r [Pending],
}

impl Recording {
    /// The template that was used.
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// Whose answer it is.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The prompt, then the output.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// A part of the text. The span must belong to this recording; debug builds panic otherwise.
    pub fn slice(&self, span: Range<usize>) -> &str {
        slice(&self.text, span)
    }

    /// Where the parser began to read: after the last start anchor of the prompt.
    pub fn origin(&self) -> usize {
        self.origin
    }

    /// Where the output begins.
    pub fn output_start(&self) -> usize {
        self.output
    }

    /// How the parse ended.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// What went wrong in the text, in its order; empty as long as more of it may come, and in reference mode.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// What makes the answer doubtful, one sentence each; empty as long as more of the text may come.
    pub fn doubts(&self) -> &[String] {
        &self.doubts
    }

    /// The part of the text that a problem is about.
    pub fn problem_span(&self, problem: &Problem) -> Range<usize> {
        let place = |place: usize| (self.origin + place).min(self.text.len());
        place(problem.span.start)..place(problem.span.end)
    }

    /// A field of the template.
    pub fn field(&self, index: usize) -> Option<&Field> {
        self.template.fields().get(index)
    }

    /// The name of a field.
    pub fn field_name(&self, index: usize) -> &str {
        self.field(index).map_or("", |field| &field.name)
    }

    /// How many feeds there are, the prompt and the end included.
    pub fn feed_count(&self) -> usize {
        self.feeds.len()
    }

    /// How many feeds of the output there are.
    pub fn chunk_count(&self) -> usize {
        let end = match &self.outcome {
            Outcome::Finished { .. } => true,
            Outcome::Open => false,
            Outcome::Failed(error) => error.stage() == "finalize",
        };
        self.feeds.len().saturating_sub(1 + usize::from(end))
    }

    /// The text of a feed.
    pub fn feed_span(&self, feed: usize) -> Range<usize> {
        let end = self.feed(feed).end as usize;
        let start = feed.checked_sub(1).map_or(self.origin, |before| self.feed(before).end as usize);
        start..end
    }

    /// How many events there are.
    pub fn event_count(&self) -> usize {
        self.entries.len()
    }

    /// How many of them came from the prompt.
    pub fn initial_count(&self) -> usize {
        self.feed(0).events as usize
    }

    /// An event.
    pub fn event(&self, index: usize) -> Option<Seen<'_>> {
        let entry = self.entries.get(index)?;
        let mut seen = Seen {
            kind: entry.kind,
            field: entry.field.into(),
            span: self.start_of(index)..entry.end as usize,
            body: 0..0,
            value: None,
            captures: &[],
        };
        match entry.kind {
            Kind::Chunk => {}
            Kind::Open => seen.captures = self.opened(index).map_or(&[], |open| &open.captures),
            Kind::Close | Kind::Malformed => {
                let close = self.closed(index)?;
                seen.body = close.body();
                seen.captures = &close.captures;
                seen.value = Some(close.value.as_ref().map_err(|reason| &**reason));
            }
        }
        Some(seen)
    }

    /// The event as transformers writes it.
    pub fn event_value(&self, index: usize) -> Option<Value> {
        let event = self.event(index)?;
        let mut entries: Vec<(&str, Value)> =
            vec![("type", event.kind.name().into()), ("field", self.field_name(event.field).into())];
        match (event.kind, event.value) {
            (Kind::Chunk, _) => {
                entries.push(("text", self.slice(event.span).into()));
                let dirty = self.field(event.field).is_some_and(|field| field.content.is_structured());
                entries.push(("dirty", dirty.into()));
            }
            (_, Some(Ok(value))) => entries.push(("value", value.read())),
            (_, Some(Err(reason))) => {
                entries.push(("text", self.slice(event.body).into()));
                entries.push(("reason", reason.into()));
            }
            (_, None) => {}
        }
        Some(Value::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()))
    }

    /// How many rows there are: adjacent chunks of a region share one.
    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// The events of a row.
    pub fn row(&self, row: usize) -> Range<usize> {
        let at = |row: usize| self.rows.get(row).map_or(self.entries.len(), |event| *event as usize);
        at(row)..at(row + 1)
    }

    /// The row of an event.
    pub fn row_of(&self, event: usize) -> usize {
        self.rows.partition_point(|first| *first as usize <= event).saturating_sub(1)
    }

    /// The text of a row of chunks; of any other event, its delimiter.
    pub fn row_span(&self, row: usize) -> Range<usize> {
        let events = self.row(row);
        let at = |event: usize| self.entries.get(event);
        let start = self.start_of(events.start);
        let end = events.end.checked_sub(1).and_then(at).map_or(start, |entry| entry.end as usize);
        start..end
    }

    /// The region that is open.
    pub fn region(&self, moment: Moment) -> Option<Region> {
        let taken = |event: u32| (event as usize) < moment.event;
        let open = self.opens.partition_point(|open| taken(open.event)).checked_sub(1);
        let opened = self.opens.get(open?)?.event as usize;
        let closed = self.closes.partition_point(|close| taken(close.event)).checked_sub(1);
        if closed.and_then(|closed| self.closes.get(closed)).is_some_and(|close| close.event as usize > opened) {
            return None;
        }
        let entry = self.entries.get(opened)?;
        let start = entry.end as usize;
        let end =
            moment.event.checked_sub(1).and_then(|last| self.entries.get(last)).map_or(start, |last| last.end as usize);
        Some(Region { field: entry.field.into(), opened, body: start..end.max(start) })
    }

    /// The end of the text that has arrived.
    pub fn arrived(&self, moment: Moment) -> usize {
        self.feed(moment.feed).end as usize
    }

    /// The end of the text that is settled: every event about it has happened.
    pub fn settled(&self, moment: Moment) -> usize {
        let feed = self.feed(moment.feed);
        if moment.event >= feed.events as usize {
            return self.settled_after(moment.feed);
        }
        let before = moment.feed.checked_sub(1).map_or(self.origin, |before| self.settled_after(before));
        let last = moment.event.checked_sub(1).and_then(|last| self.entries.get(last));
        last.map_or(before, |last| (last.end as usize).max(before))
    }

    /// Whether more events of the same feed follow.
    pub fn is_inside_feed(&self, moment: Moment) -> bool {
        moment.event < self.feed(moment.feed).events as usize
    }

    /// The held text, and the delimiters it is held for. Inside a feed nothing is held yet.
    pub fn held(&self, moment: Moment) -> Option<Held<'_>> {
        let span = self.settled(moment)..self.arrived(moment);
        if span.is_empty() || self.is_inside_feed(moment) {
            return None;
        }
        Some(Held { span, pending: self.pending_after(moment.feed) })
    }

    /// The delimiters that text is held for after a feed.
    pub(super) fn pending_after(&self, feed: usize) -> &[Pending] {
        let last = self.holds.partition_point(|hold| hold.feed as usize <= feed).checked_sub(1);
        let first = last.and_then(|last| self.holds.get(last)).map_or(0, |hold| hold.first as usize);
        // Holds are kept in order, so those of a later feed never begin before these.
        let pending = self.pending.get(first..self.first_pending(feed + 1) as usize);
        debug_assert!(pending.is_some(), "the holds of a recording are in order");
        pending.unwrap_or(&[])
    }

    /// The index of the first pending delimiter of a feed, or of the next feed that has any.
    pub(super) fn first_pending(&self, feed: usize) -> u32 {
        let at = self.holds.partition_point(|hold| (hold.feed as usize) < feed);
        self.holds.get(at).map_or(narrow(self.pending.len()), |hold| hold.first)
    }

    /// The text held back.
    pub fn held_text(&self, moment: Moment) -> &str {
        self.held(moment).map_or("", |held| self.slice(held.span))
    }

    /// The character of the output at a byte of the text; negative in the prompt.
    pub fn offset_of(&self, byte: usize) -> isize {
        let count = |span: Range<usize>| isize::try_from(self.slice(span).chars().count()).unwrap_or(isize::MAX);
        if byte >= self.output { count(self.output..byte) } else { -count(byte..self.output) }
    }

    /// How many characters of the output come before a byte of the text.
    pub(crate) fn characters_before(&self, byte: usize) -> usize {
        usize::try_from(self.offset_of(byte)).unwrap_or(0)
    }

    /// The byte of the text at a character of the output.
    pub fn byte_at(&self, offset: usize) -> usize {
        let output = self.slice(self.output..self.text.len());
        output.char_indices().nth(offset).map_or(self.text.len(), |(at, _)| self.output + at)
    }

    /// The approximate size in bytes, including the text.
    pub fn size(&self) -> usize {
        fn heap_size<T>(items: &Vec<T>) -> usize {
            items.capacity() * size_of::<T>()
        }
        self.text.len()
            + heap_size(&self.feeds)
            + heap_size(&self.held_spans)
            + heap_size(&self.entries)
            + heap_size(&self.rows)
            + heap_size(&self.opens)
            + heap_size(&self.closes)
            + heap_size(&self.holds)
            + heap_size(&self.pending)
            + self.closes.iter().map(|close| close.value().map_or(0, CompactValue::size)).sum::<usize>()
    }

    /// The start of the text that an event is about.
    fn start_of(&self, event: usize) -> usize {
        let Some(entry) = self.entries.get(event) else { return 0 };
        let start = match entry.kind {
            Kind::Chunk => event.checked_sub(1).and_then(|before| self.entries.get(before)).map(|before| before.end),
            Kind::Open => self.opened(event).map(|open| open.start),
            Kind::Close | Kind::Malformed => self.closed(event).map(|close| close.start),
        };
        start.unwrap_or(entry.end) as usize
    }

    fn opened(&self, event: usize) -> Option<&Opened> {
        let found = self.opens.binary_search_by_key(&event, |open| open.event as usize).ok()?;
        self.opens.get(found)
    }

    pub(super) fn close_index(&self, event: usize) -> Option<usize> {
        self.closes.binary_search_by_key(&event, |close| close.event as usize).ok()
    }

    pub(super) fn closed(&self, event: usize) -> Option<&Closed> {
        self.closes.get(self.close_index(event)?)
    }

    /// The field of a close, counted in the order of the template.
    pub(super) fn field_of(&self, close: &Closed) -> Option<usize> {
        self.entries.get(close.event as usize).map(|entry| entry.field.into())
    }

    pub(super) fn events_before(&self, feed: usize) -> usize {
        feed.checked_sub(1).map_or(0, |before| self.feed(before).events as usize)
    }

    /// The end of the text that was settled after a feed.
    fn settled_after(&self, feed: usize) -> usize {
        let found = self.held_spans.binary_search_by_key(&feed, |held| held.feed as usize).ok();
        let settled = found.and_then(|at| self.held_spans.get(at)).map(|held| held.settled);
        settled.unwrap_or(self.feed(feed).end) as usize
    }

    pub(super) fn feed(&self, index: usize) -> Feed {
        let last = || self.feeds.last().copied();
        self.feeds.get(index).copied().or_else(last).unwrap_or(Feed { end: 0, events: 0 })
    }
}

/// A place in a text of bounded size.
pub(super) fn narrow(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

/// A field's place in a template of bounded size.
pub(super) fn narrow_field(field: usize) -> u16 {
    u16::try_from(field).unwrap_or(u16::MAX)
}
