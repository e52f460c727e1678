use std::sync::Arc;

use super::error::{ParseError, ParseErrorKind, Stage};
use super::event::{Event, EventRef, Span};
use super::message::Message;
use super::plan::{Plan, Watch};
use super::scan::{Buffer, Delimited, Exhausted, Scan, Scanned};
use crate::content::coerce::Tools;
use crate::content::{Capture, Mode};
use crate::json::Object;
use crate::pattern::{Pattern, TooMuchWork};
use crate::template::Template;

/// How to parse.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whose answer to give where the reference's depends on how the text is cut.
    pub mode: Mode,
    /// The tools whose JSON schemas say what types the arguments of calls have.
    pub tools: Option<Arc<Tools>>,
}

/// Reads one message of a model, piece by piece.
#[derive(Clone, Debug)]
pub struct Parser {
    plan: Arc<Plan>,
    mode: Mode,
    tools: Option<Arc<Tools>>,
    buffer: Buffer,
    scan: Scan,
    /// The first byte that is neither shown nor part of a delimiter.
    position: usize,
    /// Where the searches begin.
    from: usize,
    region: Option<Region>,
    /// Whether the last step ended, as the reference's does, at a match of nothing that leads nowhere.
    stalled: bool,
    /// Whether the values of the regions that close are of no interest.
    skims: bool,
    failed: bool,
    message: Message,
    stage: Stage,
    prefix_length: usize,
    initial_events: Vec<Event>,
}

/// The region the parser is in.
#[derive(Clone, Debug)]
struct Region {
    field: usize,
    /// Where its body begins.
    body: usize,
    captures: Vec<Capture>,
}

/// A message that is complete.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Finished {
    /// The message.
    pub message: Object,
    /// The required fields that are absent.
    pub missing: Vec<String>,
    /// The last events.
    pub events: Vec<Event>,
}

/// The text a parser holds back, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held<'p> {
    /// The text.
    pub text: &'p str,
    /// Where it begins, counted as a [`Span`] is.
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
    /// Where it may have begun, counted as a [`Span`] is.
    pub start: usize,
}

impl Parser {
    /// Begins a message. `prefix` is the prompt the model was given, up to where it wrote; what follows the last start
    /// anchor in it belongs to the message.
    pub fn new(template: &Template, prefix: &str, options: Options) -> Result<Self, ParseError> {
        let prefix = truncated(template.start_anchor().pattern(), prefix)?;
        let plan = Plan::new(template);
        let mut parser = Self {
            scan: Scan::new(&plan, options.mode),
            message: Message::new(template.defaults()),
            plan: Arc::new(plan),
            mode: options.mode,
            tools: options.tools,
            buffer: Buffer::default(),
            position: 0,
            from: 0,
            region: None,
            stalled: false,
            skims: false,
            failed: false,
            stage: Stage::Prefix,
            prefix_length: prefix.len(),
            initial_events: Vec::new(),
        };
        if !prefix.is_empty() {
            let mut events = Vec::new();
            parser.buffer.push(prefix);
            parser.step(false, &mut |event| events.push(event.to_owned()))?;
            parser.initial_events = events;
        }
        parser.stage = Stage::Feed;
        Ok(parser)
    }

    /// What the prefix itself opened and wrote.
    pub fn initial_events(&self) -> &[Event] {
        &self.initial_events
    }

    /// How many bytes of the prefix belong to the message: the text begins at this place.
    pub fn prefix_length(&self) -> usize {
        self.prefix_length
    }

    /// Takes more of the text and gives the events it brings.
    pub fn feed(&mut self, text: &str) -> Result<Vec<Event>, ParseError> {
        let mut events = Vec::new();
        self.feed_into(text, &mut |event| events.push(event.to_owned()))?;
        Ok(events)
    }

    /// Takes more of the text and hands the events it brings to a sink, without allocating for each.
    pub fn feed_into(&mut self, text: &str, sink: &mut impl FnMut(EventRef<'_>)) -> Result<(), ParseError> {
        self.check_usable()?;
        self.buffer.push(text);
        let watch = watched(&self.plan, self.region.as_ref());
        if self.scan.glance(watch, text, self.buffer.end()) {
            self.release(self.buffer.end(), sink);
            if self.mode == Mode::Reference {
                self.from = self.position;
            }
            return Ok(());
        }
        self.step(false, sink)
    }

    /// Takes more of the text only to stand behind it: what it brings is not told, and the message lacks it.
    ///
    /// For stable mode, in which no value that can or cannot be read changes what follows.
    pub(crate) fn skim(&mut self, text: &str) -> Result<(), ParseError> {
        self.skims = true;
        let taken = self.feed_into(text, &mut |_| {});
        self.skims = false;
        taken
    }

    /// Ends the text: what was held is settled, and the message is complete.
    pub fn finish(mut self) -> Result<Finished, ParseError> {
        let mut events = Vec::new();
        if self.mode == Mode::Reference {
            self.stage = Stage::Finalize;
        }
        self.step(true, &mut |event| events.push(event.to_owned()))?;
        if !self.stalled {
            self.release(self.buffer.end(), &mut |event| events.push(event.to_owned()));
        }
        let end = self.buffer.end();
        self.close(Span::new(end, end), &mut |event| events.push(event.to_owned()))?;
        let fields = self.plan.template.fields();
        let absent = fields.iter().filter(|field| !field.optional && !self.message.has(field));
        let missing: Vec<String> = absent.map(|field| field.name.clone()).collect();
        if !missing.is_empty() && self.mode == Mode::Reference {
            return Err(self.error(ParseErrorKind::Missing(missing)));
        }
        Ok(Finished { message: self.message.finish(self.plan.template.defaults()), missing, events })
    }

    /// The text that is held back, and the delimiters it could be part of.
    pub fn held(&self) -> Held<'_> {
        let watch = watched(&self.plan, self.region.as_ref());
        let pending = watch.delimiters.iter().filter_map(|&index| {
            let start = self.scan.pending(index).filter(|&start| start >= self.position)?;
            let delimiter = self.plan.delimiters.get(index)?;
            let field = &self.plan.fields.get(delimiter.field)?.name;
            Some(Pending { field, closes: delimiter.closes, pattern: delimiter.pattern.source(), start })
        });
        Held {
            text: self.buffer.slice(self.position, self.buffer.end()),
            start: self.position,
            pending: pending.collect(),
        }
    }

    /// The field whose region the parser is in.
    pub fn current_field(&self) -> Option<&str> {
        let region = self.region.as_ref()?;
        self.plan.fields.get(region.field).map(|field| &*field.name)
    }

    fn check_usable(&self) -> Result<(), ParseError> {
        if self.failed { Err(self.error(ParseErrorKind::Failed)) } else { Ok(()) }
    }

    /// Shows and settles all that can be.
    fn step(&mut self, ended: bool, sink: &mut impl FnMut(EventRef<'_>)) -> Result<(), ParseError> {
        self.check_usable()?;
        self.stalled = false;
        while !self.stalled {
            let watch = watched(&self.plan, self.region.as_ref());
            let scanned = self.scan.next(&self.plan, watch, &self.buffer, self.from, ended);
            match scanned {
                Ok(Scanned::Next(next)) => self.commit(next, sink)?,
                Ok(Scanned::Free(place)) => {
                    self.release(place, sink);
                    if self.mode == Mode::Reference {
                        self.from = self.position;
                    }
                    break;
                }
                Err(Exhausted { delimiter }) => {
                    let pattern = self.plan.delimiters.get(delimiter).map(|d| d.pattern.source().to_owned());
                    self.failed = true;
                    return Err(self.error(ParseErrorKind::TooMuchWork { pattern: pattern.unwrap_or_default() }));
                }
            }
        }
        let needed = self.region.as_ref().map_or(self.position, |region| region.body.min(self.position));
        self.buffer.trim(needed, self.plan.reach_behind);
        Ok(())
    }

    /// Acts on a delimiter.
    fn commit(&mut self, next: Delimited, sink: &mut impl FnMut(EventRef<'_>)) -> Result<(), ParseError> {
        let Some(delimiter) = self.plan.delimiters.get(next.delimiter) else { return Ok(()) };
        let (field, opens) = (delimiter.field, !delimiter.closes);
        let is_empty = next.start == next.end;
        let implicit = self.plan.implicit == Some(field);
        if is_empty && implicit && self.region.is_none() && next.start == self.position {
            if self.mode == Mode::Reference {
                self.stalled = true;
            } else {
                self.scan.pass_over(&self.plan, next);
            }
            return Ok(());
        }
        if is_empty && opens && self.scan.take_open(next) {
            self.scan.pass_over(&self.plan, next);
            return Ok(());
        }
        self.release(next.start, sink);
        let span = Span::new(next.start, next.end);
        let captures = if opens { self.captures(next) } else { Vec::new() };
        self.close(if opens { Span::new(next.start, next.start) } else { span }, sink)?;
        (self.position, self.from) = (next.end, next.end);
        if opens {
            if let Some(plan) = self.plan.fields.get(field) {
                sink(EventRef::Open { field: &plan.name, captures: &captures, span });
            }
            self.region = Some(Region { field, body: next.end, captures });
        }
        Ok(())
    }

    fn captures(&self, open: Delimited) -> Vec<Capture> {
        let Some(delimiter) = self.plan.delimiters.get(open.delimiter) else { return Vec::new() };
        let groups = delimiter.pattern.named_groups().iter();
        let taken = groups.filter_map(|(name, group)| {
            let (start, end) = self.scan.group(open.delimiter, *group)?;
            Some(Capture { name: name.clone(), text: self.buffer.slice(start, end).to_owned() })
        });
        taken.collect()
    }

    /// Shows the text up to a place: it belongs to the region the parser is in.
    #[inline]
    fn release(&mut self, place: usize, sink: &mut impl FnMut(EventRef<'_>)) {
        if place <= self.position {
            return;
        }
        let start = std::mem::replace(&mut self.position, place);
        let index = match (&self.region, self.plan.implicit) {
            (Some(region), _) => region.field,
            (None, Some(field)) => {
                self.region = Some(Region { field, body: start, captures: Vec::new() });
                if let Some(field) = self.plan.fields.get(field) {
                    sink(EventRef::Open { field: &field.name, captures: &[], span: Span::new(start, start) });
                }
                field
            }
            (None, None) => return,
        };
        if let Some(field) = self.plan.fields.get(index) {
            let text = self.buffer.slice(start, place);
            sink(EventRef::Chunk { field: &field.name, text, dirty: field.dirty, span: Span::new(start, place) });
        }
    }

    /// Closes the region the parser is in, where it is in one; `span` is what closes it.
    fn close(&mut self, span: Span, sink: &mut impl FnMut(EventRef<'_>)) -> Result<(), ParseError> {
        let Some(region) = self.region.take().filter(|_| !self.skims) else { return Ok(()) };
        let plan = self.plan.clone();
        let (Some(field), Some(known)) = (plan.template.fields().get(region.field), plan.fields.get(region.field))
        else {
            return Ok(());
        };
        let body = Span::new(region.body, self.position);
        let text = self.buffer.slice(body.start, body.end);
        match self.message.close(field, text, &region.captures, self.tools.as_deref(), self.mode) {
            Ok(value) => sink(EventRef::Close { field: &known.name, value: &value, span, body }),
            Err(failure) if self.mode == Mode::Reference || failure.exhausted => {
                let (field, text) = (field.name.clone(), text.to_owned());
                self.failed = true;
                return Err(self.error(ParseErrorKind::Malformed { field, text, reason: failure.reason }));
            }
            Err(failure) => {
                sink(EventRef::Malformed { field: &known.name, text, reason: &failure.reason, span, body });
            }
        }
        Ok(())
    }

    fn error(&self, kind: ParseErrorKind) -> ParseError {
        ParseError { stage: self.stage, kind }
    }
}

/// What is watched for in a region, or outside of all.
fn watched<'p>(plan: &'p Plan, region: Option<&Region>) -> &'p Watch {
    region
        .filter(|region| plan.implicit != Some(region.field))
        .and_then(|region| plan.fields.get(region.field))
        .map_or(&plan.outside, |field| &field.inside)
}

/// What follows the last start anchor in the prompt, and all of it where there is none.
fn truncated<'t>(anchor: &Pattern, prefix: &'t str) -> Result<&'t str, ParseError> {
    let mut end = 0;
    for found in anchor.matches(prefix) {
        match found {
            Ok(found) => end = found.span().1,
            Err(TooMuchWork) => {
                let kind = ParseErrorKind::TooMuchWork { pattern: anchor.source().to_owned() };
                return Err(ParseError { stage: Stage::Prefix, kind });
            }
        }
    }
    Ok(prefix.get(end..).unwrap_or(prefix))
}
