//! Runs the parser and keeps what it says.

use std::fmt;
use std::sync::Arc;

use super::compact_value::CompactValue;
use super::recording::{
    Closed, Entry, Feed, HeldSpan, Hold, Kind, Opened, Outcome, Pending, Recording, narrow, narrow_field,
};
use super::recovery::Recovery;
use crate::content::coerce::Tools;
use crate::parser::{EventRef, Mode, Options, ParseError, Parser, Span};
use crate::template::Template;
use crate::text::slice;

/// A run to record.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// The template.
    pub template: &'a Template,
    /// The prompt that the output continues.
    pub prefix: &'a str,
    /// Whose answer to give.
    pub mode: Mode,
    /// The tools whose schemas say what types arguments have.
    pub tools: Option<Arc<Tools>>,
    /// How text is read that departs from the format.
    pub recovery: Recovery,
}

/// A text of more than 4 GB, or a template of more than 65,535 fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("more than 4 GB of prompt and output, or more than 65,535 fields, cannot be replayed")
    }
}

impl std::error::Error for TooLarge {}

impl Recording {
    /// Parses the feeds and keeps what happens.
    pub fn new<'t>(run: &Run<'_>, feeds: impl IntoIterator<Item = &'t str>) -> Result<Self, TooLarge> {
        let mut text = run.prefix.to_owned();
        let mut ends = Vec::new();
        for feed in feeds {
            text.push_str(feed);
            ends.push(text.len());
        }
        Self::of_text(run, text.into(), ends)
    }

    /// Parses a text that holds the prompt and then the output, cut at the places where the feeds of the output end.
    pub fn of_text(run: &Run<'_>, text: Arc<str>, ends: impl IntoIterator<Item = usize>) -> Result<Self, TooLarge> {
        Self::of(run, text, ends, true)
    }

    /// The same of a text of which more may come: its end is not its end for good.
    pub fn of_open_text(
        run: &Run<'_>,
        text: Arc<str>,
        ends: impl IntoIterator<Item = usize>,
    ) -> Result<Self, TooLarge> {
        Self::of(run, text, ends, false)
    }

    fn of(
        run: &Run<'_>,
        text: Arc<str>,
        ends: impl IntoIterator<Item = usize>,
        is_whole: bool,
    ) -> Result<Self, TooLarge> {
        if u32::try_from(text.len()).is_err() || u16::try_from(run.template.fields().len()).is_err() {
            return Err(TooLarge);
        }
        let mut recorder = Recorder::new(run.template, run.mode, run.recovery, text.clone(), run.prefix.len());
        recorder.run(run, &text, ends, is_whole);
        let mut recording = recorder.recording;
        recording.feeds.shrink_to_fit();
        recording.held_spans.shrink_to_fit();
        recording.entries.shrink_to_fit();
        recording.rows.shrink_to_fit();
        recording.opens.shrink_to_fit();
        recording.closes.shrink_to_fit();
        recording.holds.shrink_to_fit();
        recording.pending.shrink_to_fit();
        Ok(recording)
    }
}

pub(super) struct Recorder {
    pub recording: Recording,
    /// The text held after this feed.
    pub pending: Vec<Pending>,
}

impl Recorder {
    pub fn new(template: &Template, mode: Mode, recovery: Recovery, text: Arc<str>, output: usize) -> Self {
        let recording = Recording {
            template: template.clone(),
            mode,
            recovery,
            text,
            origin: output,
            output,
            feeds: Vec::new(),
            held_spans: Vec::new(),
            entries: Vec::new(),
            rows: Vec::new(),
            opens: Vec::new(),
            closes: Vec::new(),
            holds: Vec::new(),
            pending: Vec::new(),
            outcome: Outcome::Finished { missing: Vec::new() },
            problems: Vec::new(),
        };
        Self { recording, pending: Vec::new() }
    }

    fn run(&mut self, run: &Run<'_>, text: &str, ends: impl IntoIterator<Item = usize>, is_whole: bool) {
        let output = self.recording.output;
        let options = run.recovery.of(Options::default().mode(run.mode).tools(run.tools.clone()));
        let mut parser = match Parser::new(run.template, run.prefix, options) {
            Ok(parser) => parser,
            Err(error) => {
                self.recording.outcome = Outcome::Failed(error);
                return self.fed(output, output);
            }
        };
        self.recording.origin = output - parser.prefix_length();
        for event in parser.initial_events().to_vec() {
            self.take(event.borrowed());
        }
        self.held(&parser, output);
        let mut start = output;
        for end in ends {
            if let Err(error) = self.feed(&mut parser, slice(text, start..end), end) {
                self.recording.outcome = Outcome::Failed(error);
                return self.fed(end, self.last_end());
            }
            start = end;
        }
        if !is_whole {
            self.recording.outcome = Outcome::Open;
            return;
        }
        match parser.finish() {
            Ok(finished) => {
                finished.events.iter().for_each(|event| self.take(event.borrowed()));
                self.recording.outcome = Outcome::Finished { missing: finished.missing };
                self.recording.problems = finished.problems;
            }
            Err(error) => self.recording.outcome = Outcome::Failed(error),
        }
        self.fed(start, start);
    }

    /// Gives the parser a feed, which ends at a place of the text, and keeps what happens.
    pub fn feed(&mut self, parser: &mut Parser, feed: &str, end: usize) -> Result<(), ParseError> {
        parser.feed_into(feed, &mut |event| self.take(event))?;
        self.held(parser, end);
        Ok(())
    }

    /// Where the last event ended.
    fn last_end(&self) -> usize {
        self.recording.entries.last().map_or(self.recording.origin, |entry| entry.end as usize)
    }

    /// Keeps the state of the parser after a feed: how far it is, and what it holds.
    fn held(&mut self, parser: &Parser, end: usize) {
        let origin = self.recording.origin;
        let held = parser.held();
        let settled = origin + held.start;
        let mut same = 0;
        let mut count = 0;
        for pending in &held.pending {
            let fields = self.recording.template.fields();
            let field = fields.iter().position(|field| field.name == pending.field).unwrap_or(fields.len());
            let pending = Pending::new(field, pending.closes, origin + pending.start);
            same += usize::from(self.pending.get(count) == Some(&pending));
            match self.pending.get_mut(count) {
                Some(before) => *before = pending,
                None => self.pending.push(pending),
            }
            count += 1;
        }
        if same < count || self.pending.len() > count {
            self.pending.truncate(count);
            let hold = Hold { feed: narrow(self.recording.feeds.len()), first: narrow(self.recording.pending.len()) };
            self.recording.holds.push(hold);
            self.recording.pending.extend_from_slice(&self.pending);
        }
        self.fed(end, settled);
    }

    fn fed(&mut self, end: usize, settled: usize) {
        let events = narrow(self.recording.entries.len());
        if settled != end {
            let feed = narrow(self.recording.feeds.len());
            self.recording.held_spans.push(HeldSpan { feed, settled: narrow(settled) });
        }
        self.recording.feeds.push(Feed { end: narrow(end), events });
    }

    #[inline]
    fn take(&mut self, event: EventRef<'_>) {
        let recording = &mut self.recording;
        let index = narrow(recording.entries.len());
        let place = |place: usize| narrow(recording.origin + place);
        let (kind, field, span) = match event {
            EventRef::Open { field, span, .. } => (Kind::Open, field, span),
            EventRef::Chunk { field, span, .. } => (Kind::Chunk, field, span),
            EventRef::Close { field, span, .. } => (Kind::Close, field, span),
            EventRef::Malformed { field, span, .. } => (Kind::Malformed, field, span),
            // What it says of a region is in the region's end; only a parser that is asked to grow calls gives the others.
            EventRef::Problem(_) | EventRef::CallStart { .. } | EventRef::CallArguments { .. } => return,
        };
        let Span { start, end } = span;
        let fields = recording.template.fields();
        let field = fields.iter().position(|known| *known.name == **field).unwrap_or(fields.len());
        let entry = Entry { end: place(end), field: narrow_field(field), kind };
        let start = place(start);
        match event {
            EventRef::Open { captures, .. } => {
                recording.opens.push(Opened { event: index, start, captures: captures.into() });
            }
            EventRef::Chunk { .. }
            | EventRef::Problem(_)
            | EventRef::CallStart { .. }
            | EventRef::CallArguments { .. } => {}
            EventRef::Close { value, body, .. } => {
                let body = place(body.start)..place(body.end);
                recording.closes.push(Closed { event: index, start, body, value: Ok(CompactValue::new(value)) });
            }
            EventRef::Malformed { reason, body, .. } => {
                let body = place(body.start)..place(body.end);
                recording.closes.push(Closed { event: index, start, body, value: Err(reason.into()) });
            }
        }
        let joins = kind == Kind::Chunk && recording.entries.last().is_some_and(|last| last.kind == Kind::Chunk);
        if !joins {
            recording.rows.push(index);
        }
        recording.entries.push(entry);
    }
}
