//! The streaming parser: `feed` takes chunks, `finish` ends the text, and both return events in the text's order.

use std::sync::Arc;

use super::calls::{Growth, News};
use super::error::{Cause, ParseError, Stage};
use super::event::{Event, EventRef};
use super::events::Events;
use super::finished::Finished;
use super::message::{self, Message};
use super::part::part;
use super::plan::{DelimiterPlan, FieldPlan, Glance, Plan, Watch};
use super::problem::Problem;
use super::recovery::{Ending, Flow, Gate, Known, LaterCloser, Ledger, Stretch};
use super::scan::{Buffer, Delimited, Exhausted, Scan, Scanned};
use super::signals::{Malformed, Signals};
use super::span::Span;
use super::strings::Strings;
use super::token_feed::{Prompt, TokenFeed};
use super::token_template::TokenTemplate;
use crate::content::coerce::Tools;
use crate::content::recovery::{self, Deviation, Policies, ProblemKind, RecoveryPolicy, Request};
use crate::content::{self, Capture, Mode};
use crate::json::{Object, Value};
use crate::template::{ContentSpec, Field, Regions, Template};

/// How to parse: `Options::default().grow_calls(true)`.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub(crate) mode: Mode,
    pub(crate) tools: Option<Arc<Tools>>,
    pub(crate) closers_in_strings: ClosersInStrings,
    pub(crate) grow_calls: bool,
    pub(crate) reasoning: Reasoning,
    pub(crate) tools_off: bool,
    pub(crate) stop_ids: Option<Arc<[u32]>>,
    pub(crate) recover: Policies,
    pub(crate) validate: bool,
}

impl Options {
    /// Whose answer to give where the reference's depends on how the text is cut.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// The tools whose JSON schemas say what types the arguments of calls have.
    #[must_use]
    pub fn tools(mut self, tools: impl Into<Option<Arc<Tools>>>) -> Self {
        self.tools = tools.into();
        self
    }

    /// The meaning of a closing mark inside a JSON string.
    #[must_use]
    pub fn closers_in_strings(mut self, meaning: ClosersInStrings) -> Self {
        self.closers_in_strings = meaning;
        self
    }

    /// The policies that read what departs from the format, in stable mode; see [`RecoveryPolicy`]. Each acts at a problem of its
    /// kind, which stays in the list; a text without problems is read the same with all of them.
    #[must_use]
    pub fn recover(mut self, policies: Policies) -> Self {
        self.recover = policies;
        self
    }

    /// Whether the arguments of calls are checked against the schemas of their tools.
    #[must_use]
    pub fn validate(mut self, validate: bool) -> Self {
        self.validate = validate;
        self
    }

    /// What becomes of the reasoning: the fields `reasoning_content`, `reasoning` and `thinking`.
    #[must_use]
    pub fn reasoning(mut self, reasoning: Reasoning) -> Self {
        self.reasoning = reasoning;
        self
    }

    /// Whether calls stay in the content, as the model wrote them.
    #[must_use]
    pub fn tools_off(mut self, off: bool) -> Self {
        self.tools_off = off;
        self
    }

    /// The ids that end the answer of a parser of ids: what follows the first of them is not read.
    #[must_use]
    pub fn stop_ids(mut self, ids: impl Into<Arc<[u32]>>) -> Self {
        self.stop_ids = Some(ids.into());
        self
    }

    /// What a parser does with the regions of a field.
    fn regions_of(&self, field: &Field) -> Regions {
        match (field.name.as_str(), self.reasoning) {
            ("tool_calls", _) if self.tools_off => Regions::AsWritten,
            ("reasoning_content" | "reasoning" | "thinking", Reasoning::InContent) => Regions::AsWritten,
            ("reasoning_content" | "reasoning" | "thinking", Reasoning::Dropped) => Regions::Dropped,
            _ => Regions::Read,
        }
    }

    /// Whether events report calls as they grow, in stable mode: the name as soon as it is certain, then the arguments
    /// piece by piece. A call that cannot be reported early comes whole, before its region closes.
    #[must_use]
    pub fn grow_calls(mut self, grow: bool) -> Self {
        self.grow_calls = grow;
        self
    }
}

/// The meaning of a closing marker inside a string of a region read as JSON, as in `{"text": "</call>"}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ClosersInStrings {
    /// It ends the region, as in transformers.
    #[default]
    Ends,
    /// It is part of the string.
    Text,
}

/// What becomes of the model's reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reasoning {
    /// It is a field of the message.
    #[default]
    Kept,
    /// It is part of the content, as the model wrote it, with its delimiters.
    InContent,
    /// It is in neither the message nor the events.
    Dropped,
}

/// Reads one message of a model, piece by piece.
#[derive(Clone, Debug)]
pub struct Parser {
    pub(super) template: Template,
    /// The delimiters to watch for, which all parsers of a template share.
    pub(super) plan: Arc<Plan>,
    pub(super) mode: Mode,
    pub(super) tools: Option<Arc<Tools>>,
    pub(super) closers_in_strings: ClosersInStrings,
    pub(super) signals: Signals,
    /// The problems so far.
    pub(super) ledger: Ledger,
    /// What text is held back for, if a policy may hold any.
    pub(super) gate: Option<Box<Gate>>,
    /// What is known of the fields that have had a region.
    ended: Vec<Ended>,
    pub(super) buffer: Buffer,
    pub(super) scan: Scan,
    /// The first byte that is neither shown nor part of a delimiter.
    pub(super) position: usize,
    /// Where the searches begin.
    pub(super) from: usize,
    pub(super) region: Option<Region>,
    /// Whether the last step ended, as the reference's does, at a match of nothing that leads nowhere.
    pub(super) stalled: bool,
    /// Whether the values of the regions that close are of no interest.
    pub(super) skims: bool,
    pub(super) failed: bool,
    pub(super) grow_calls: bool,
    /// How many calls have begun.
    pub(super) calls: usize,
    pub(super) message: Message,
    pub(super) stage: Stage,
    pub(super) prefix_length: usize,
    pub(super) initial_events: Vec<Event>,
    /// The ids, if that is what the parser reads; absent while they are being read.
    pub(super) ids: Option<Box<TokenFeed>>,
}

/// The regions of one field that have ended.
#[derive(Clone, Copy, Debug)]
struct Ended {
    field: usize,
    count: usize,
    /// Whether one of them gave a value that is not empty, which another could replace, and its body.
    has_value: bool,
    body: Span,
}

/// The region the parser is in.
#[derive(Clone, Debug)]
pub(super) struct Region {
    pub field: usize,
    /// Where its body begins.
    pub body: usize,
    pub origin: Origin,
    captures: Vec<Capture>,
    strings: Strings,
    /// Its calls, if they are reported as they grow.
    growth: Option<Box<Growth>>,
    opener: Span,
}

/// What a policy did to a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Nothing: a delimiter opened it, and the first that can closes it.
    Opened,
    /// It has no opener.
    Bare,
    /// It was not closed by the first closer, which begins here.
    ClosedLater { first: usize },
}

impl Region {
    pub fn new(field: usize, body: usize, origin: Origin) -> Self {
        Self {
            field,
            body,
            origin,
            captures: Vec::new(),
            strings: Strings::default(),
            growth: None,
            opener: Span::new(body, body),
        }
    }
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
    /// Begins a message. `prefix` is the prompt the model was given, up to where it wrote; the text after the last
    /// start anchor in it belongs to the message.
    pub fn new(template: &Template, prefix: &str, options: Options) -> Result<Self, ParseError> {
        let is_plain = options.reasoning == Reasoning::Kept && !options.tools_off;
        let treated = (!is_plain).then(|| template.treating(|field| options.regions_of(field)));
        let template = treated.as_ref().unwrap_or(template);
        let plan = template.prepared(Plan::new);
        let (prefix, anchored) = plan.anchor.rest(prefix)?;
        let mut parser = Self {
            scan: Scan::new(&plan, options.mode),
            message: Message::new(template.defaults()),
            template: template.clone(),
            plan,
            mode: options.mode,
            tools: options.tools,
            closers_in_strings: options.closers_in_strings,
            signals: Signals::default(),
            ledger: Ledger::new(options.recover, options.validate),
            gate: None,
            ended: Vec::new(),
            buffer: Buffer::default(),
            position: 0,
            from: 0,
            region: None,
            stalled: false,
            skims: false,
            failed: false,
            grow_calls: options.grow_calls && options.mode == Mode::Stable,
            calls: 0,
            stage: Stage::Prefix,
            prefix_length: prefix.len(),
            initial_events: Vec::new(),
            ids: None,
        };
        if !anchored && !prefix.is_empty() {
            parser.signals.note_missing_anchor();
            if parser.mode == Mode::Stable {
                parser.ledger.tell(Problem::new(ProblemKind::NoAnchor, Span::new(0, 0)), &mut |_| {});
            }
        }
        if !prefix.is_empty() {
            let mut events = Vec::new();
            parser.buffer.push(prefix);
            parser.step(false, &mut |event| events.push(event.to_owned()))?;
            if !is_plain {
                parser.leave_prefix(&mut events);
            }
            // A push makes room for several, and there is rarely more than one.
            events.shrink_to_fit();
            parser.initial_events = events;
        }
        parser.stage = Stage::Feed;
        parser.begin_recovery();
        Ok(parser)
    }

    /// Begins a message whose text comes as token ids. `prompt_ids` are those the model was given: they and the answer's
    /// are one stream, so that a character may begin in one and end in the other.
    pub fn with_tokens(tokens: &TokenTemplate, prompt_ids: &[u32], options: Options) -> Result<Self, ParseError> {
        Self::with_prompt(tokens, Prompt::Ids(prompt_ids), options)
    }

    /// The same after a prompt whose ids are not known. What it spells of markers are markers.
    pub fn with_tokens_after(tokens: &TokenTemplate, prefix: &str, options: Options) -> Result<Self, ParseError> {
        Self::with_prompt(tokens, Prompt::Text(prefix), options)
    }

    fn with_prompt(tokens: &TokenTemplate, prompt: Prompt<'_>, options: Options) -> Result<Self, ParseError> {
        let (mut feed, prefix) = TokenFeed::begin(tokens, prompt, options.stop_ids.clone());
        let mut parser = Self::new(tokens.template(), &prefix, options)?;
        feed.note_prefix(part(&prefix, prefix.len() - parser.prefix_length..prefix.len()));
        parser.prefix_length = feed.place(parser.prefix_length);
        let mut events = Vec::with_capacity(parser.initial_events.len());
        for event in &parser.initial_events {
            feed.show(event.borrowed(), &mut |event| events.push(event.to_owned()));
        }
        parser.initial_events = events;
        parser.scan.swap_quiet(&mut feed.quiet);
        parser.ids = Some(Box::new(feed));
        Ok(parser)
    }

    /// The template that it parses with: the given one, with the regions as the options treat them.
    #[cfg(feature = "serve")]
    pub(crate) fn template(&self) -> &Template {
        &self.template
    }

    /// Holds text back from here on, if a policy may ask for it.
    fn begin_recovery(&mut self) {
        let policies = self.ledger.policies;
        let holds = [
            RecoveryPolicy::FalseOpeners,
            RecoveryPolicy::MissingCallOpener,
            RecoveryPolicy::CallsInReasoning,
            RecoveryPolicy::StrayClosers,
            RecoveryPolicy::ClosersInStrings,
            RecoveryPolicy::MissingReasoningOpener,
        ];
        if self.mode == Mode::Reference || !holds.into_iter().any(|policy| policies.contains(policy)) {
            return;
        }
        let mut gate = Gate::new(self.plan.delimiters.len());
        gate.begin_stretch(self.position);
        let is_blank = |region: &Region| {
            let text = self.buffer.slice(region.body, self.position);
            self.plan.implicit == Some(region.field) && text.trim().is_empty()
        };
        let is_at_first = self.ended.is_empty() && self.region.as_ref().is_none_or(is_blank);
        let can_hold = self.plan.implicit.is_some() && policies.contains(RecoveryPolicy::MissingReasoningOpener);
        gate.first = (is_at_first && can_hold).then_some(self.position);
        self.gate = Some(Box::new(gate));
        self.scan.wake();
    }

    /// The events of the prefix itself.
    pub fn initial_events(&self) -> &[Event] {
        &self.initial_events
    }

    /// How many bytes of the prefix belong to the message: the text begins at this place.
    pub fn prefix_length(&self) -> usize {
        self.prefix_length
    }

    /// Takes more of the text and gives the events it brings.
    #[inline]
    pub fn feed(&mut self, text: &str) -> Result<Events, ParseError> {
        let mut events = Events::default();
        self.feed_into(text, &mut |event| events.push(event.to_owned()))?;
        Ok(events)
    }

    /// Takes more of the text and hands the events it brings to a sink, without allocating for each.
    #[inline]
    pub fn feed_into(&mut self, text: &str, sink: &mut impl FnMut(EventRef<'_>)) -> Result<(), ParseError> {
        self.buffer.push(text);
        let end = self.buffer.end();
        if !self.scan.is_quiet(end - text.len() - self.position) {
            return self.step(false, sink);
        }
        let clear = match self.scan.glance(text) {
            Glance::Clear => end,
            _ => match self.clear_part(text) {
                Some(clear) => clear,
                None => return self.step(false, sink),
            },
        };
        self.scan.skip_to(clear);
        // Text that is shown whole need not be cut out of the buffer.
        let whole = clear == end && end - text.len() == self.position;
        self.release_text(clear, whole.then_some(text), sink);
        if self.mode == Mode::Reference {
            self.from = self.position;
        }
        Ok(())
    }

    /// Takes more ids and gives the events they bring.
    pub fn feed_tokens(&mut self, ids: &[u32]) -> Result<Events, ParseError> {
        let mut events = Events::default();
        self.feed_tokens_into(ids, &mut |event| events.push(event.to_owned()))?;
        Ok(events)
    }

    /// Takes more ids and hands the events they bring to a sink, without allocating for each.
    #[inline]
    pub fn feed_tokens_into(&mut self, ids: &[u32], sink: &mut impl FnMut(EventRef<'_>)) -> Result<(), ParseError> {
        let Some(mut feed) = self.ids.take() else { return Err(self.error(Cause::IdsForText)) };
        self.scan.swap_quiet(&mut feed.quiet);
        let done = match feed.plain(ids) {
            Some(text) => {
                let done = self.feed_into(text, &mut |event| feed.show(event, sink));
                feed.count();
                done
            }
            None => self.feed_letters(&mut feed, ids, sink),
        };
        self.scan.swap_quiet(&mut feed.quiet);
        self.ids = Some(feed);
        done
    }

    /// Takes ids whose text depends on those before them, or has letters.
    fn feed_letters(
        &mut self,
        feed: &mut TokenFeed,
        ids: &[u32],
        sink: &mut impl FnMut(EventRef<'_>),
    ) -> Result<(), ParseError> {
        let text = feed.text(ids, self.buffer.end());
        let done = match text.as_str() {
            "" => Ok(()),
            text => self.feed_into(text, &mut |event| feed.show(event, sink)),
        };
        feed.give_back(text);
        done
    }

    /// Up to where new text, and what is held before it, cannot be part of a watched delimiter; `None` if it has what may
    /// identify one.
    #[inline(never)]
    fn clear_part(&self, text: &str) -> Option<usize> {
        let watch = watched(&self.plan, self.region.as_ref());
        let held = self.buffer.slice(self.position, self.buffer.end());
        match watch.look_closely(text) {
            Glance::Clear => Some(self.buffer.end()),
            Glance::MayLead => Some(self.position + watch.run_start(&self.plan.delimiters, held)),
            Glance::Sign => None,
        }
    }

    /// Takes more of the text only as lookahead: its events are not reported, and the message lacks it.
    ///
    /// For stable mode, in which no value that can or cannot be read changes what follows.
    pub(crate) fn skim(&mut self, text: &str) -> Result<(), ParseError> {
        self.skims = true;
        let taken = self.feed_into(text, &mut |_| {});
        self.skims = false;
        taken
    }

    /// Ends the text: held text is settled, and the message is complete.
    pub fn finish(self) -> Result<Finished, ParseError> {
        let mut events = Vec::new();
        let finished = self.finish_into(&mut |event| events.push(event.to_owned()))?;
        Ok(Finished { events, ..finished })
    }

    /// Ends the text and hands the last events to a sink, without a copy of their values.
    pub fn finish_into(mut self, sink: &mut impl FnMut(EventRef<'_>)) -> Result<Finished, ParseError> {
        let Some(mut feed) = self.ids.take() else { return self.finish_text(sink) };
        self.scan.swap_quiet(&mut feed.quiet);
        let text = feed.end(self.buffer.end());
        if !text.is_empty() {
            self.feed_into(&text, &mut |event| feed.show(event, sink))?;
        }
        let finished = self.finish_text(&mut |event| feed.show(event, sink))?;
        Ok(feed.finish(finished))
    }

    fn finish_text(mut self, sink: &mut impl FnMut(EventRef<'_>)) -> Result<Finished, ParseError> {
        if self.mode == Mode::Reference {
            self.stage = Stage::Finalize;
        }
        self.step(true, sink)?;
        if !self.stalled {
            self.release(self.buffer.end(), sink);
        }
        let end = self.buffer.end();
        self.close(Span::new(end, end), sink)?;
        self.end_outside();
        self.settle_problems(sink);
        let fields = self.template.fields();
        let absent = fields.iter().filter(|field| !field.optional && !self.message.has(field));
        let missing: Vec<String> = absent.map(|field| field.name.clone()).collect();
        if !missing.is_empty() && self.mode == Mode::Reference {
            return Err(self.error(Cause::Missing(missing)));
        }
        let stable = self.mode == Mode::Stable;
        for field in missing.iter().filter(|_| stable) {
            self.ledger.tell(Problem::of(ProblemKind::MissingField, Span::new(end, end), field), sink);
        }
        let notes = self.signals.notes(&self.plan);
        let message = self.message.finish(self.template.defaults());
        let (malformed, problems) = (self.signals.malformed, self.ledger.finish());
        let prefix_length = self.prefix_length;
        Ok(Finished { message, missing, malformed, problems, notes, events: Vec::new(), prefix_length })
    }

    /// The text that is held back, and the delimiters it could be part of.
    #[doc(hidden)]
    pub fn held(&self) -> Held<'_> {
        let watch = watched(&self.plan, self.region.as_ref());
        let pending = watch.delimiters.iter().filter_map(|&index| {
            let start = self
                .scan
                .pending(&self.plan, index, &self.buffer, self.position)
                .filter(|&start| start >= self.position)?;
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

    /// The message so far: the values of the regions that have closed, and the defaults.
    pub fn message(&self) -> Object {
        let message = self.message.clone().finish(self.template.defaults());
        match &self.ids {
            Some(feed) => feed.object(&message),
            None => message,
        }
    }

    /// The field whose region the parser is in.
    pub fn current_field(&self) -> Option<&str> {
        let region = self.region.as_ref()?;
        self.plan.fields.get(region.field).map(|field| &*field.name)
    }

    fn check_usable(&self) -> Result<(), ParseError> {
        if self.failed { Err(self.error(Cause::Failed)) } else { Ok(()) }
    }

    /// Shows and settles all that can be.
    #[inline(never)]
    fn step(&mut self, ended: bool, sink: &mut impl FnMut(EventRef<'_>)) -> Result<(), ParseError> {
        self.check_usable()?;
        if self.ids.is_some() {
            self.fail();
            return Err(self.error(Cause::TextForIds));
        }
        self.stalled = false;
        while !self.stalled {
            match self.follow_trial(ended, sink)? {
                Flow::Goes => {}
                Flow::Again => continue,
                Flow::Waits => break,
            }
            let watch = watched(&self.plan, self.region.as_ref());
            let scanned = self.scan.next(&self.plan, watch, &self.buffer, self.from, ended);
            if self.gate.is_some()
                && let Some((limit, next)) = scanned.as_ref().ok().map(Scanned::limit)
            {
                match self.guard(limit, next, ended, sink)? {
                    Flow::Goes => {}
                    Flow::Again => continue,
                    Flow::Waits => break,
                }
            }
            match scanned {
                Ok(Scanned::Next(next)) => {
                    self.commit(next, sink)?;
                    if let Some(gate) = &mut self.gate {
                        gate.begin_stretch(self.position);
                    }
                }
                Ok(Scanned::Free(place)) => {
                    self.release(place, sink);
                    if self.mode == Mode::Reference {
                        self.from = self.position;
                    }
                    break;
                }
                Err(Exhausted { delimiter }) => {
                    let pattern = self.plan.delimiters.get(delimiter).map(|d| d.pattern.source().to_owned());
                    self.fail();
                    return Err(self.error(Cause::TooMuchWork { pattern: pattern.unwrap_or_default() }));
                }
            }
        }
        let mut needed = self.region.as_ref().map_or(self.position, |region| region.body.min(self.position));
        if self.ledger.looks_ahead() {
            let tools = self.tools.as_deref().filter(|tools| !tools.is_empty());
            let known = Known { plan: &self.plan, template: &self.template, tools };
            needed = needed.min(self.ledger.look_ahead(self.buffer.view(ended), &known).unwrap_or(needed));
        }
        if self.gate.is_some() {
            // A decision may be due at any byte.
            self.scan.wake();
        }
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
            self.stalled = true;
            return Ok(());
        }
        if is_empty && opens && self.scan.take_open(next) {
            self.scan.pass_over(&self.plan, next);
            return Ok(());
        }
        self.release(next.start, sink);
        if !opens && self.is_in_string() {
            // It is text, and what counts comes after its first character.
            self.from = self.buffer.after(next.start);
            return Ok(());
        }
        let span = Span::new(next.start, next.end);
        let is_as_written = self.plan.fields.get(field).is_some_and(|plan| plan.regions == Regions::AsWritten);
        if is_as_written {
            return self.commit_as_written(field, opens, span, sink);
        }
        let captures = if opens { self.captures(next) } else { Vec::new() };
        self.close(if opens { Span::new(next.start, next.start) } else { span }, sink)?;
        (self.position, self.from) = (next.end, next.end);
        if opens {
            self.end_outside();
            let mut growth = None;
            if let Some(plan) = self.plan.fields.get(field).filter(|plan| plan.regions != Regions::Dropped) {
                sink(EventRef::Open { field: &plan.name, captures: &captures, span });
                growth = self.growth_of(field, &captures);
                if let Some(growth) = &mut growth {
                    growth.begin(&mut self.calls, &mut |news| sink(news.event(&plan.name)));
                }
            }
            self.region =
                Some(Region { captures, growth, opener: span, ..Region::new(field, next.end, Origin::Opened) });
        }
        Ok(())
    }

    /// Acts on a delimiter that is part of the region's text.
    fn commit_as_written(
        &mut self,
        field: usize,
        opens: bool,
        span: Span,
        sink: &mut impl FnMut(EventRef<'_>),
    ) -> Result<(), ParseError> {
        if opens {
            self.close(Span::new(span.start, span.start), sink)?;
            self.region = Some(Region::new(field, span.start, Origin::Opened));
            if let Some(plan) = self.plan.fields.get(field) {
                sink(EventRef::Open { field: &plan.name, captures: &[], span });
            }
            self.release(span.end, sink);
        } else {
            self.release(span.end, sink);
            self.close(Span::new(span.end, span.end), sink)?;
        }
        (self.position, self.from) = (span.end, span.end);
        Ok(())
    }

    /// Leaves out what the prefix wrote of regions that are taken as the model writes them. One that is open begins here.
    fn leave_prefix(&mut self, events: &mut Vec<Event>) {
        let mut is_left_out = false;
        events.retain(|event| {
            if let Event::Open { field, span, .. } = event {
                let is_as_written = |plan: &&FieldPlan| {
                    plan.regions == Regions::AsWritten && plan.name == *field && span.start < span.end
                };
                is_left_out = self.plan.fields.iter().any(|plan| is_as_written(&plan));
            }
            !is_left_out
        });
        if let Some(region) = &mut self.region
            && let Some(plan) = self.plan.fields.get(region.field)
            && plan.regions == Regions::AsWritten
        {
            region.body = self.position;
            let span = Span::new(self.position, self.position);
            events.push(Event::Open { field: plan.name.clone(), captures: Vec::new(), span });
        }
    }

    /// Whether the body of the region so far ends inside a string in which closing marks are text.
    fn is_in_string(&mut self) -> bool {
        let Some(region) = self.region.as_mut().filter(|_| self.closers_in_strings == ClosersInStrings::Text) else {
            return false;
        };
        let Some(field) = self.template.fields().get(region.field) else { return false };
        matches!(field.content, ContentSpec::Json(_))
            && region.strings.is_open_after(self.buffer.slice(region.body, self.position), &field.content)
    }

    /// Whether a region is white space at whose start the implicit field's close matched nothing, as `<end>|$` does
    /// before a newline that ends the text: it must not take the place of a value that is there.
    fn is_left_over(&self, region: &Region, field: &Field, body: Span, end: usize) -> bool {
        let closes = |delimiter: &&DelimiterPlan| delimiter.closes && delimiter.field == region.field;
        self.plan.implicit == Some(region.field)
            && !field.repeats
            && self.has_value(region.field)
            && self.buffer.slice(body.start, body.end).trim().is_empty()
            && self
                .plan
                .delimiters
                .iter()
                .find(closes)
                .is_some_and(|delimiter| Scan::matches_nothing(delimiter, &self.buffer, body.start, end))
    }

    /// The reader of the calls of a region that begins, if it may have calls.
    fn growth_of(&self, field: usize, captures: &[Capture]) -> Option<Box<Growth>> {
        if !self.grow_calls || self.skims {
            return None;
        }
        let (field, plan) = (self.template.fields().get(field)?, self.plan.fields.get(field)?);
        let may_have_calls = field.transform.is_some() || plan.dirty;
        // What a policy may read otherwise than strictly comes whole, as nothing that was reported is revised.
        let shape = plan.calls.as_ref().filter(|_| self.ledger.policies.is_empty());
        may_have_calls.then(|| Box::new(Growth::new(field, shape, captures)))
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
    pub(super) fn release(&mut self, place: usize, sink: &mut impl FnMut(EventRef<'_>)) {
        self.release_text(place, None, sink);
    }

    /// Shows the text up to a place, which the caller may have at hand.
    #[inline(always)]
    fn release_text(&mut self, place: usize, text: Option<&str>, sink: &mut impl FnMut(EventRef<'_>)) {
        if place <= self.position {
            return;
        }
        let start = std::mem::replace(&mut self.position, place);
        if self.region.is_none()
            && let Some(field) = self.plan.implicit
        {
            self.begin_implicit(field, start, sink);
        }
        if let Some(field) = self.region.as_ref().and_then(|region| self.plan.shown.get(region.field)) {
            let text = text.unwrap_or_else(|| self.buffer.slice(start, place));
            sink(EventRef::Chunk { field: &field.name, text, dirty: field.dirty, span: Span::new(start, place) });
            if self.grow_calls {
                self.grow(start, place, sink);
            }
        } else if self.region.is_none() {
            let keeps = if self.ledger.policies.contains(RecoveryPolicy::OutsideText) { usize::MAX } else { 0 };
            self.signals.add_outside(self.buffer.slice(start, place), start, keeps);
        }
    }

    /// Begins a region of the implicit field.
    #[inline(never)]
    fn begin_implicit(&mut self, field: usize, start: usize, sink: &mut impl FnMut(EventRef<'_>)) {
        self.region = Some(Region::new(field, start, Origin::Opened));
        if let Some(field) = self.plan.shown.get(field) {
            sink(EventRef::Open { field: &field.name, captures: &[], span: Span::new(start, start) });
        }
    }

    /// Reads the text of the region's calls between two places.
    #[inline(never)]
    fn grow(&mut self, start: usize, end: usize, sink: &mut impl FnMut(EventRef<'_>)) {
        let Some(Region { field, body, growth: Some(growth), .. }) = &mut self.region else { return };
        let (Some(plan), Some(field)) = (self.plan.fields.get(*field), self.template.fields().get(*field)) else {
            return;
        };
        let (body, text) = (self.buffer.slice(*body, end), self.buffer.slice(start, end));
        let mut report = |news: News<'_>| sink(news.event(&plan.name));
        growth.grow(field, body, text, self.tools.as_deref(), &mut self.calls, &mut report);
    }

    /// Closes the region the parser is in, if any; `span` is the delimiter that closes it.
    pub(super) fn close(&mut self, span: Span, sink: &mut impl FnMut(EventRef<'_>)) -> Result<(), ParseError> {
        let Some(region) = self.region.take().filter(|_| !self.skims) else { return Ok(()) };
        let plan = self.plan.clone();
        let (Some(field), Some(known)) = (self.template.fields().get(region.field), plan.fields.get(region.field))
        else {
            return Ok(());
        };
        let is_left_out = match known.regions {
            Regions::Read => false,
            // The model did not write the prompt.
            Regions::AsWritten => self.stage == Stage::Prefix,
            Regions::Dropped => true,
        };
        if is_left_out {
            return Ok(());
        }
        let body = Span::new(region.body, self.position);
        let text = self.buffer.slice(body.start, body.end);
        let is_implicit = plan.implicit == Some(region.field);
        if is_implicit && plan.may_close(text) {
            self.signals.look_for_marks(&plan, text);
        }
        if self.mode == Mode::Stable && self.is_left_over(&region, field, body, span.end) {
            // The reference reads nothing from here on. The events hold the text, and the message keeps its value.
            if let Ok(value) = content::region_value(field, text, &region.captures, self.mode) {
                sink(EventRef::Close { field: &known.name, value: &value, span, body });
                return Ok(());
            }
        }
        let number = count(&mut self.ended, region.field);
        let at_end = self.ends_with_text(region.field, span);
        let is_stable = self.mode == Mode::Stable;
        let tools = self.tools.as_deref().filter(|tools| !tools.is_empty());
        let facts = Known { plan: &plan, template: &self.template, tools };
        let mut unclosed =
            self.unclosed(known, field, span, body, at_end).map(|problem| Problem { region: Some(number), ..problem });
        if is_stable && is_implicit {
            let stretch = Stretch { body, closer: span, has_false_opener: false };
            self.ledger.end_stretch(stretch, self.buffer.view(true), &facts, sink);
        } else if is_stable {
            self.ledger.go_on();
            if plan.roles.reasoning == Some(region.field) {
                self.ledger.end_reasoning(body, span, &mut unclosed, self.buffer.view(true), &facts);
            }
        }
        let before = match self.has_value(region.field) && !field.repeats {
            true => self.message.value(field).cloned(),
            false => None,
        };
        let mut told = Vec::new();
        let mut later = None;
        let mut unfinished = unclosed.as_ref().is_some_and(|problem| problem.at_end);
        let read = match plan.roles.call(region.field).filter(|_| is_stable) {
            Some(call) => {
                let request = Request {
                    tools,
                    policies: self.ledger.policies,
                    validate: self.ledger.validate,
                    is_delimited: !at_end,
                    is_cut: unfinished,
                    is_bare: region.origin == Origin::Bare,
                };
                let read = recovery::read(field, call.paths.as_ref(), text, &region.captures, request);
                unfinished = read.is_unfinished;
                told = read.deviations;
                // After an opener that nothing can follow the rest is no body.
                let begin = self.buffer.slice(body.start, span.end).trim_start();
                if region.origin == Origin::Opened && region.opener.end == body.start && !call.can_begin_with(begin) {
                    told.clear();
                    told.push(Deviation::of_opener());
                } else if call.is_json && !at_end && read.value.is_err() {
                    later = LaterCloser::of(region.field, text, span.start);
                }
                read.value.map_err(Into::into)
            }
            None => message::value_of(field, text, &region.captures, self.tools.as_deref(), self.mode).map(Some),
        };
        let first_call =
            self.message.value(field).and_then(Value::as_list).filter(|_| field.repeats).map_or(0, <[_]>::len);
        let problem_of = |found: Deviation| {
            let span = found.range.map_or(body, |range| Span::new(body.start + range.start, body.start + range.end));
            Problem {
                span: if found.kind == ProblemKind::FalseOpener { region.opener } else { span },
                call: found.call.map(|call| first_call + call),
                region: Some(number),
                path: found.path,
                reason: found.reason,
                policies: found.fix,
                is_recovered: found.is_fixed,
                ..Problem::of(found.kind, span, &field.name)
            }
        };
        let read = match read {
            Ok(Some(value)) => self.message.insert(field, value),
            Ok(None) => {
                // The text's end cut the call, and a policy drops it.
                let reason = "the end of the text cuts the call, which is dropped";
                sink(EventRef::Malformed { field: &known.name, text, reason, span, body });
                let problem = unclosed.map(|problem| Problem { call: None, ..problem });
                problem.into_iter().for_each(|problem| {
                    self.ledger.tell(problem.read_by(RecoveryPolicy::DropUnfinished, true), sink);
                });
                return Ok(());
            }
            Err(failure) => Err(failure),
        };
        match read {
            Ok(value) => {
                let is_false = told.first().is_some_and(|found| found.kind == ProblemKind::FalseOpener);
                told.into_iter().for_each(|found| self.ledger.tell(problem_of(found), sink));
                match region.origin {
                    Origin::Opened => {}
                    Origin::Bare => {
                        let problem =
                            Problem { call: Some(first_call), ..Problem::of(ProblemKind::BareCall, body, &field.name) };
                        self.ledger.tell(problem.read_by(RecoveryPolicy::MissingCallOpener, true), sink);
                    }
                    Origin::ClosedLater { first } => {
                        let span = Span::new(body.start, first);
                        let problem = Problem {
                            call: Some(first_call),
                            ..Problem::of(ProblemKind::Malformed, span, &field.name)
                        };
                        self.ledger.tell(problem.read_by(RecoveryPolicy::ClosersInStrings, true), sink);
                    }
                }
                let lost = before.filter(|before| !before.is_empty() && *before != *value);
                let replaced = ended_of(&mut self.ended, region.field);
                if let Some(before) = lost {
                    self.signals.note_lost(region.field, &before);
                    if let Some(Ended { body, .. }) = replaced.as_deref().filter(|_| is_stable) {
                        self.ledger.tell(Problem::of(ProblemKind::ValueReplaced, *body, &field.name), sink);
                    }
                }
                if let Some(ended) = replaced.filter(|_| !field.repeats && !value.is_empty()) {
                    (ended.has_value, ended.body) = (true, body);
                }
                if let Some(problem) = unclosed.filter(|_| !is_false) {
                    let call = last_call(&value).map(|last| problem.call.unwrap_or(0) + last);
                    let problem = Problem { call, ..problem };
                    self.ledger.tell(
                        match unfinished && call.is_some() {
                            true => problem.read_by(RecoveryPolicy::DropUnfinished, false),
                            false => problem,
                        },
                        sink,
                    );
                }
                if let Some(growth) = region.growth {
                    growth.finish(&value, &mut self.calls, &mut |news| sink(news.event(&known.name)));
                }
                sink(EventRef::Close { field: &known.name, value: &value, span, body });
            }
            Err(failure) if self.mode == Mode::Reference || failure.exhausted => {
                let (field, text) = (field.name.clone(), text.to_owned());
                self.fail();
                return Err(self.error(Cause::Malformed { field, text, reason: failure.reason }));
            }
            Err(failure) => {
                sink(EventRef::Malformed { field: &known.name, text, reason: &failure.reason, span, body });
                let (name, text) = (field.name.clone(), text.to_owned());
                let first = told.into_iter().find(|found| !found.is_fixed);
                let problem = match first
                    .filter(|found| matches!(found.kind, ProblemKind::Malformed | ProblemKind::FalseOpener))
                {
                    Some(found) => Problem { call: None, ..problem_of(found) },
                    None => Problem { region: Some(number), ..Problem::of(ProblemKind::Malformed, body, &name) },
                };
                let is_false = problem.kind == ProblemKind::FalseOpener;
                let problem = match is_false {
                    true => problem,
                    false => Problem { at_end, reason: Some(failure.reason.clone()), ..problem },
                };
                self.signals.malformed.push(Malformed { field: name, text, reason: failure.reason });
                let later = later.filter(|_| !is_false && problem.policies.is_empty());
                self.ledger.tell_or_wait(problem, later, sink);
            }
        }
        Ok(())
    }

    /// Text outside of all regions is over, if there was any.
    fn end_outside(&mut self) {
        if self.signals.end_outside(&self.plan, self.template.start_anchor().pattern()) {
            self.ledger.go_on();
        }
    }

    /// Decides the problems that only the end of the text decides.
    fn settle_problems(&mut self, sink: &mut impl FnMut(EventRef<'_>)) {
        if self.mode == Mode::Reference {
            return;
        }
        let has_calls = self.has_calls();
        self.ledger.settle(Ending { has_calls }, sink);
        let content = self.template.field("content").filter(|field| matches!(field.content, ContentSpec::Text { .. }));
        let is_lost = content.filter(|field| self.message.value(field).is_none_or(Value::is_empty));
        let pieces = self.signals.take_outside();
        let is_asked = self.ledger.policies.contains(RecoveryPolicy::OutsideText);
        for piece in &pieces {
            let problem = Problem::new(ProblemKind::TextOutside, piece.span);
            let problem = match is_lost {
                Some(_) => problem.read_by(RecoveryPolicy::OutsideText, is_asked),
                None => problem,
            };
            self.ledger.tell(problem, sink);
        }
        let Some(field) = is_lost.filter(|_| is_asked) else { return };
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return };
        let text = pieces.iter().map(|piece| piece.text.trim()).collect::<Vec<_>>().join("\n");
        let body = Span::new(first.span.start, last.span.end);
        let (start, end) = (Span::new(body.start, body.start), Span::new(body.end, body.end));
        let name: Arc<str> = field.name.as_str().into();
        sink(EventRef::Open { field: &name, captures: &[], span: start });
        sink(EventRef::Chunk { field: &name, text: &text, dirty: false, span: body });
        if let Ok(value) = self.message.insert(field, Value::from(text.as_str())) {
            sink(EventRef::Close { field: &name, value: &value, span: end, body });
        }
    }

    /// Whether the end of the text ended a region: without a delimiter, or by one that more text would have undone.
    fn ends_with_text(&self, field: usize, span: Span) -> bool {
        // A delimiter is never empty at the end of the text unless it is the end that it takes.
        if span.start == span.end {
            return span.end == self.buffer.end();
        }
        // `$` matches before a newline that ends the text, too.
        let is_last = matches!(self.buffer.slice(span.end, self.buffer.end()), "" | "\n");
        let closer = || self.plan.delimiters.iter().find(|closer| closer.closes && closer.field == field);
        is_last && closer().is_some_and(|closer| Scan::needs_end(closer, &self.buffer, span.start))
    }

    fn has_value(&self, field: usize) -> bool {
        self.ended.iter().any(|ended| ended.field == field && ended.has_value)
    }

    /// The problem of a region that ends without one of its field's own closers; its call is the first that the region
    /// would add to the message.
    fn unclosed(&self, plan: &FieldPlan, field: &Field, span: Span, body: Span, at_end: bool) -> Option<Problem> {
        if !plan.needs_closer || self.mode == Mode::Reference {
            return None;
        }
        let closer = self.buffer.slice(span.start, span.end).trim();
        let is_turn_mark = || self.plan.turn_marks.iter().any(|mark| mark == closer);
        let calls = self.message.value(field).and_then(Value::as_list).filter(|_| field.repeats);
        (at_end || is_turn_mark()).then(|| Problem {
            call: Some(calls.map_or(0, <[Value]>::len)),
            at_end,
            ..Problem::of(ProblemKind::Unclosed, body, &field.name)
        })
    }

    /// Makes the parser unusable: `step` refuses, and no text is skipped any more.
    fn fail(&mut self) {
        self.failed = true;
        self.scan.wake();
    }

    fn error(&self, cause: Cause) -> ParseError {
        ParseError { stage: self.stage, cause }
    }
}

/// Counts a region of the field that ends; gives its number.
fn count(all: &mut Vec<Ended>, field: usize) -> usize {
    match all.iter_mut().find(|ended| ended.field == field) {
        Some(ended) => {
            ended.count += 1;
            ended.count - 1
        }
        None => {
            all.push(Ended { field, count: 1, has_value: false, body: Span::default() });
            0
        }
    }
}

/// What is known of a field that has had a region.
fn ended_of(all: &mut [Ended], field: usize) -> Option<&mut Ended> {
    all.iter_mut().find(|ended| ended.field == field)
}

/// The last call among those of a region's value, if it has calls.
fn last_call(value: &Value) -> Option<usize> {
    let (last, place) = match value {
        Value::List(calls) => (calls.last()?, calls.len() - 1),
        one => (one, 0),
    };
    last.get("function").map(|_| place)
}

/// The delimiters watched for in a region, or outside of all.
#[inline]
fn watched<'p>(plan: &'p Plan, region: Option<&Region>) -> &'p Watch {
    region
        .filter(|region| plan.implicit != Some(region.field))
        .and_then(|region| plan.fields.get(region.field))
        .map_or(&plan.outside, |field| &field.inside)
}
