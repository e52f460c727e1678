//! Runs the parser and records its events.

use std::fmt;
use std::sync::Arc;

use super::compact_value::CompactValue;
use super::recording::{
    Closed, Entry, Feed, HeldSpan, Hold, Kind, Opened, Outcome, Pending, Recording, Recovery, narrow, narrow_field,
};
use backchat_core::text::slice;
use backchat_parser::content::coerce::Tools;
use backchat_parser::parser::{EventRef, Mode, Options, ParseError, Parser, Span};
use backchat_parser::template::Template;

/// A run to record.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// The template.
    pub template: &'a Template,
    /// The prompt that the output continues.
    pub prefix: &'a str,
    /// Which answer to give.
    pub mode: Mode,
    /// The tools whose schemas give the types of arguments.
    pub tools: Option<Arc<Tools>>,
    /// The recovery options.
    pub recovery: Recovery,
}

impl Run<'_> {
    /// The parser of the run, after the prompt.
    pub(crate) fn parser(&self) -> Result<Parser, ParseError> {
        let Recovery { policies, validate } = self.recovery;
        let options = Options::default().mode(self.mode).tools(self.tools.clone());
        Parser::new(self.template, self.prefix, options.recover(policies).validate(validate))
    }
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
    /// Parses the feeds and records the events.
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
        Self::record(run, text, ends, true)
    }

    /// The same for a text that may still grow: its end is not final.
    pub fn of_open_text(
        run: &Run<'_>,
        text: Arc<str>,
        ends: impl IntoIterator<Item = usize>,
    ) -> Result<Self, TooLarge> {
        Self::record(run, text, ends, false)
    }

    fn record(
        run: &Run<'_>,
        text: Arc<str>,
        ends: impl IntoIterator<Item = usize>,
        is_whole: bool,
    ) -> Result<Self, TooLarge> {
        if !fits(&text, run.template) {
            return Err(TooLarge);
        }
        let mut recorder = Recorder::new(run, text.clone());
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

fn fits(text: &str, template: &Template) -> bool {
    u32::try_from(text.len()).is_ok() && u16::try_from(template.fields().len()).is_ok()
}

/// A recording of an output that still arrives.
pub struct Growing {
    recorder: Recorder,
    /// None once it has failed.
    parser: Option<Parser>,
}

impl Growing {
    /// Begins with the prompt.
    pub fn new(run: &Run<'_>) -> Result<Self, TooLarge> {
        if !fits(run.prefix, run.template) {
            return Err(TooLarge);
        }
        let mut recorder = Recorder::new(run, run.prefix.into());
        recorder.recording.outcome = Outcome::Open;
        let parser = recorder.begin(run);
        Ok(Self { recorder, parser })
    }

    /// Parses a piece; does nothing once a piece has failed. Each call copies the text so far, so pieces must grow with
    /// the text to keep up, as those of a pipe with a slow reader do.
    pub fn feed(&mut self, piece: &str) -> Result<(), TooLarge> {
        let Some(parser) = &mut self.parser else { return Ok(()) };
        let recording = &mut self.recorder.recording;
        let text: Arc<str> = [&*recording.text, piece].concat().into();
        if !fits(&text, &recording.template) {
            return Err(TooLarge);
        }
        let end = text.len();
        recording.text = text;
        if let Err(error) = self.recorder.feed(parser, piece, end) {
            self.recorder.fail(error, end);
            self.parser = None;
        }
        Ok(())
    }

    /// The recording so far.
    pub fn recording(&self) -> &Recording {
        &self.recorder.recording
    }

    /// Ends the output.
    pub fn finish(mut self) -> Recording {
        if let Some(parser) = self.parser.take() {
            let end = self.recorder.recording.text.len();
            self.recorder.finish(parser, end);
        }
        self.recorder.recording
    }
}

pub(super) struct Recorder {
    pub recording: Recording,
    /// The text held after this feed.
    pub pending: Vec<Pending>,
}

impl Recorder {
    pub fn new(run: &Run<'_>, text: Arc<str>) -> Self {
        let recording = Recording {
            template: run.template.clone(),
            mode: run.mode,
            recovery: run.recovery,
            text,
            origin: run.prefix.len(),
            output: run.prefix.len(),
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
            doubts: Vec::new(),
        };
        Self { recording, pending: Vec::new() }
    }

    fn run(&mut self, run: &Run<'_>, text: &str, ends: impl IntoIterator<Item = usize>, is_whole: bool) {
        let output = self.recording.output;
        let Some(mut parser) = self.begin(run) else { return };
        let mut start = output;
        for end in ends {
            if let Err(error) = self.feed(&mut parser, slice(text, start..end), end) {
                return self.fail(error, end);
            }
            start = end;
        }
        if is_whole { self.finish(parser, start) } else { self.recording.outcome = Outcome::Open }
    }

    /// Feeds the prompt to the parser and records the events. `None` if it could not be parsed.
    fn begin(&mut self, run: &Run<'_>) -> Option<Parser> {
        let output = self.recording.output;
        match run.parser() {
            Ok(parser) => {
                self.recording.origin = output - parser.prefix_length();
                for event in parser.initial_events().to_vec() {
                    self.take(event.borrowed());
                }
                self.held(&parser, output);
                Some(parser)
            }
            Err(error) => {
                self.recording.outcome = Outcome::Failed(error);
                self.fed(output, output);
                None
            }
        }
    }

    /// Records that the feed up to a position could not be parsed.
    fn fail(&mut self, error: ParseError, end: usize) {
        self.recording.outcome = Outcome::Failed(error);
        self.fed(end, self.last_end());
    }

    /// Ends the text at this position, and records the events.
    fn finish(&mut self, parser: Parser, end: usize) {
        match parser.finish() {
            Ok(finished) => {
                finished.events.iter().for_each(|event| self.take(event.borrowed()));
                self.recording.outcome = Outcome::Finished { missing: finished.missing };
                self.recording.problems = finished.problems;
                self.recording.doubts = finished.notes;
            }
            Err(error) => self.recording.outcome = Outcome::Failed(error),
        }
        self.fed(end, end);
    }

    /// Feeds the parser up to a position of the text, and records the events.
    pub fn feed(&mut self, parser: &mut Parser, feed: &str, end: usize) -> Result<(), ParseError> {
        parser.feed_into(feed, &mut |event| self.take(event))?;
        self.held(parser, end);
        Ok(())
    }

    /// Where the last event ended.
    fn last_end(&self) -> usize {
        self.recording.entries.last().map_or(self.recording.origin, |entry| entry.end as usize)
    }

    /// Records the state of the parser after a feed: its position and the held text.
    fn held(&mut self, parser: &Parser, end: usize) {
        let origin = self.recording.origin;
        let held = parser.held();
        let settled = origin + held.start;
        let fields = self.recording.template.fields();
        let pending = held.pending.iter().map(|pending| {
            let field = fields.iter().position(|field| field.name == pending.field).unwrap_or(fields.len());
            Pending::new(field, pending.closes, origin + pending.start)
        });
        if !self.pending.iter().copied().eq(pending.clone()) {
            self.pending.clear();
            self.pending.extend(pending);
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
            // A problem of a region is recorded with its end; other events exist only with growing calls.
            _ => return,
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
            EventRef::Close { value, captures, body, .. } => {
                let body = place(body.start)..place(body.end);
                let (value, captures) = (Ok(CompactValue::new(value)), captures.into());
                recording.closes.push(Closed { event: index, start, body, value, captures });
            }
            EventRef::Malformed { reason, body, .. } => {
                let body = place(body.start)..place(body.end);
                let (value, captures) = (Err(reason.into()), Box::default());
                recording.closes.push(Closed { event: index, start, body, value, captures });
            }
            _ => {}
        }
        let joins = kind == Kind::Chunk && recording.entries.last().is_some_and(|last| last.kind == Kind::Chunk);
        if !joins {
            recording.rows.push(index);
        }
        recording.entries.push(entry);
    }
}
