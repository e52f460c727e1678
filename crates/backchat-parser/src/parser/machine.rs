//! The streaming machine: `feed_into` takes chunks of text, `finish` ends it, and both pass events to a sink in the text's order.

use std::sync::Arc;

use super::Finished;
use super::calls::{GrowingCalls, More};
use super::error::{Cause, ParseError, Stage};
use super::event::{Event, EventRef};
use super::message::Message;
use super::options::{ClosersInStrings, Options, Reasoning};
use super::plan::{FieldPlan, Glance, Plan, Watch};
use super::problem::Problem;
use super::recovery::{Ahead, Context, Flow, Gate, Ledger};
use super::region::{Closer, Ended, Origin, Region};
use super::scan::{Buffer, Delimited, Exhausted, Scan, Scanned};
use super::signals::Signals;
use super::span::Span;
use super::spare::Buffers;
use crate::content::coerce::Tools;
use crate::content::recovery::{Policies, ProblemKind, RecoveryPolicy};
use crate::content::{Capture, Captures, Mode};
use crate::template::{Regions, Template};
use backchat_core::json::Value;

/// Reads the text of one message.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    pub(super) template: Template,
    /// The delimiters to watch for, which all parsers of a template share.
    pub(super) plan: Arc<Plan>,
    pub(super) mode: Mode,
    pub(super) tools: Option<Arc<Tools>>,
    pub(super) closers_in_strings: ClosersInStrings,
    pub(super) signals: Signals,
    pub(super) ledger: Ledger,
    /// Why text is held, if a policy may hold any.
    pub(super) gate: Option<Box<Gate>>,
    /// A summary of each field that has had a region.
    pub(super) ended: Vec<Ended>,
    pub(super) buffer: Buffer,
    pub(super) scan: Scan,
    /// The first byte that is neither shown nor part of a delimiter.
    pub(super) position: usize,
    /// The place from which searches run.
    pub(super) from: usize,
    pub(super) region: Option<Region>,
    /// Whether the last step stopped, like the reference, at an empty match that makes no progress.
    pub(super) stalled: bool,
    /// Whether to skip computing the values of closed regions.
    pub(super) skims: bool,
    pub(super) failed: bool,
    pub(super) grow_calls: bool,
    /// How many calls have begun.
    pub(super) calls: usize,
    pub(super) message: Message,
    pub(super) stage: Stage,
    /// Whether ids are expected, so that text is refused.
    pub(super) expects_ids: bool,
}

impl Machine {
    /// Reads the part of a prompt that belongs to the message; returns its length and its events, too.
    pub fn after(template: &Template, prefix: &str, options: Options) -> Result<(Self, usize, Vec<Event>), ParseError> {
        let is_plain = options.reasoning == Reasoning::Kept && !options.tools_off;
        let treated = (!is_plain).then(|| template.treating(|field| options.regions_of(field)));
        let template = treated.as_ref().unwrap_or(template);
        let plan = template.prepared(Plan::new);
        let (prefix, anchored) = plan.anchor.rest(prefix)?;
        let Buffers { searches, text, ended } = plan.spare.take();
        let mut machine = Self {
            scan: Scan::new(&plan, options.mode, searches),
            message: Message::new(template.defaults()),
            template: template.clone(),
            plan,
            mode: options.mode,
            tools: options.tools,
            closers_in_strings: options.closers_in_strings,
            signals: Signals::default(),
            ledger: Ledger::new(
                if options.mode == Mode::Reference { Policies::none() } else { options.recover },
                options.validate,
            ),
            gate: None,
            ended,
            buffer: Buffer::new(text),
            position: 0,
            from: 0,
            region: None,
            stalled: false,
            skims: false,
            failed: false,
            grow_calls: options.grow_calls && options.mode == Mode::Stable,
            calls: 0,
            stage: Stage::Prefix,
            expects_ids: false,
        };
        if !anchored && !prefix.is_empty() {
            machine.signals.no_anchor = true;
            if machine.mode == Mode::Stable {
                machine.ledger.report(Problem::new(ProblemKind::NoAnchor, Span::new(0, 0)), &mut |_| {});
            }
        }
        let mut events = Vec::new();
        if !prefix.is_empty() {
            machine.buffer.push(prefix);
            machine.step(false, &mut |event| events.push(event.to_owned()))?;
            if !is_plain {
                machine.leave_prefix(&mut events);
            }
            // A push would reserve room for several, and there is rarely more than one.
            events.shrink_to_fit();
        }
        machine.stage = Stage::Feed;
        machine.begin_recovery();
        Ok((machine, prefix.len(), events))
    }

    /// Starts holding text from here on, if a policy may require it.
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

    /// Feeds more text and passes the events to a sink, without allocating for each.
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
        // Text that is released whole need not be copied out of the buffer.
        let whole = clear == end && end - text.len() == self.position;
        self.release_text(clear, whole.then_some(text), sink);
        if self.mode == Mode::Reference {
            self.from = self.position;
        }
        Ok(())
    }

    /// The end of the held and new text that cannot be part of a watched delimiter; `None` if the text has a byte that
    /// may identify one.
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

    /// Ends the text: held text is decided, and the message is complete.
    pub fn finish(mut self, sink: &mut dyn FnMut(EventRef<'_>)) -> Result<Finished, ParseError> {
        if self.mode == Mode::Reference {
            self.stage = Stage::Finalize;
        }
        self.step(true, sink)?;
        if !self.stalled {
            self.release(self.buffer.end(), sink);
        }
        let end = self.buffer.end();
        self.close(Closer::none_at(end), sink)?;
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
            self.ledger.report(Problem::of(ProblemKind::MissingField, Span::new(end, end), field), sink);
        }
        let notes = self.signals.notes(&self.plan);
        let message = self.message.finish(self.template.defaults());
        let (malformed, problems) = (self.signals.malformed, self.ledger.finish());
        let (searches, text) = (self.scan.into_searches(), self.buffer.into_text());
        self.plan.spare.leave(Buffers { searches, text, ended: self.ended });
        Ok(Finished { message, missing, malformed, problems, notes, events: Vec::new(), prefix_length: 0 })
    }

    fn check_usable(&self) -> Result<(), ParseError> {
        if self.failed { Err(self.error(Cause::Failed)) } else { Ok(()) }
    }

    /// Releases and decides as much as possible.
    #[inline(never)]
    fn step(&mut self, ended: bool, sink: &mut dyn FnMut(EventRef<'_>)) -> Result<(), ParseError> {
        self.check_usable()?;
        if self.expects_ids {
            self.fail();
            return Err(self.error(Cause::TextForIds));
        }
        self.stalled = false;
        while !self.stalled {
            match self.with_gate(|machine, gate| machine.follow_trial(gate, ended, sink))? {
                Flow::Goes => {}
                Flow::Again => continue,
                Flow::Waits => break,
            }
            let watch = watched(&self.plan, self.region.as_ref());
            let scanned = self.scan.next(&self.plan, watch, &self.buffer, self.from, ended);
            if self.gate.is_some()
                && let Some((limit, next)) = scanned.as_ref().ok().map(Scanned::limit)
            {
                let ahead = Ahead { limit, next, ended };
                match self.with_gate(|machine, gate| machine.guard(gate, ahead, sink))? {
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
        self.forget_read_text(ended);
        Ok(())
    }

    /// Drops the text that neither the open region nor a decision needs.
    fn forget_read_text(&mut self, ended: bool) {
        let region = self.region.as_ref();
        let begun = self.gate.as_ref().map(|gate| gate.begun(region)).or(region.map(|region| region.body));
        let mut needed = begun.unwrap_or(self.position).min(self.position);
        if self.ledger.looks_ahead() {
            let tools = self.tools.as_deref().filter(|tools| !tools.is_empty());
            let context = Context { plan: &self.plan, template: &self.template, tools };
            needed = needed.min(self.ledger.look_ahead(self.buffer.view(ended), &context).unwrap_or(needed));
        }
        if self.gate.is_some() {
            // A decision may be due at any byte.
            self.scan.wake();
        }
        self.buffer.trim(needed, self.plan.reach_behind);
    }

    /// Acts on a delimiter.
    fn commit(&mut self, next: Delimited, sink: &mut dyn FnMut(EventRef<'_>)) -> Result<(), ParseError> {
        let Some(delimiter) = self.plan.delimiters.get(next.delimiter) else { return Ok(()) };
        let (field, opens) = (delimiter.field, !delimiter.closes);
        let is_empty = next.start == next.end;
        let implicit = self.plan.implicit == Some(field);
        if is_empty && implicit && self.region.is_none() && next.start == self.position {
            self.stalled = true;
            return Ok(());
        }
        if is_empty && opens && !self.scan.insert_taken(next) {
            self.scan.pass_over(&self.plan, next);
            return Ok(());
        }
        self.release(next.start, sink);
        if !opens && self.is_in_string() {
            // The closer is text; the search continues after its first character.
            self.from = self.buffer.after(next.start);
            return Ok(());
        }
        let span = Span::new(next.start, next.end);
        let is_as_written = self.plan.fields.get(field).is_some_and(|plan| plan.regions == Regions::AsWritten);
        if is_as_written {
            return self.commit_as_written(field, opens, span, sink);
        }
        let captures = self.scan.captures(&self.plan, next, &self.buffer);
        if opens {
            self.close(Closer::none_at(next.start), sink)?;
            self.open(field, span, captures, sink);
        } else {
            self.close(Closer::of(span, captures), sink)?;
        }
        (self.position, self.from) = (next.end, next.end);
        Ok(())
    }

    /// Begins a region that a delimiter opens.
    fn open(&mut self, field: usize, span: Span, captures: Vec<Capture>, sink: &mut dyn FnMut(EventRef<'_>)) {
        self.end_outside();
        let mut growing = None;
        if let Some(plan) = self.plan.fields.get(field).filter(|plan| plan.regions != Regions::Dropped) {
            sink(EventRef::Open { field: &plan.name, captures: &captures, span });
            growing = self.growing_calls(field, &captures);
            if let Some(growing) = &mut growing {
                growing.begin(&mut self.calls, sink);
            }
        }
        self.region = Some(Region { captures, growing, opener: span, ..Region::new(field, span.end, Origin::Opened) });
    }

    /// Acts on a delimiter that is part of the region's text.
    fn commit_as_written(
        &mut self,
        field: usize,
        opens: bool,
        span: Span,
        sink: &mut dyn FnMut(EventRef<'_>),
    ) -> Result<(), ParseError> {
        if opens {
            self.close(Closer { continues: true, ..Closer::none_at(span.start) }, sink)?;
            self.region = Some(Region::new(field, span.start, Origin::Opened));
            if let Some(plan) = self.plan.fields.get(field) {
                sink(EventRef::Open { field: &plan.name, captures: &[], span });
            }
            self.release(span.end, sink);
        } else {
            self.release(span.end, sink);
            self.close(Closer::none_at(span.end), sink)?;
        }
        (self.position, self.from) = (span.end, span.end);
        Ok(())
    }

    /// Drops the prefix's part of regions that are kept as written. An open one begins here.
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
            events.push(Event::Open { field: plan.name.clone(), captures: Captures::default(), span });
        }
    }

    /// Whether the body so far ends inside a string, and closers in strings are text.
    fn is_in_string(&mut self) -> bool {
        let Some(region) = self.region.as_mut().filter(|_| self.closers_in_strings == ClosersInStrings::Text) else {
            return false;
        };
        let Some(field) = self.template.fields().get(region.field) else { return false };
        !field.content.quotes().is_empty()
            && region.strings.is_open_after(self.buffer.slice(region.body, self.position), field)
    }

    /// The reader of the calls of a region that begins, if it may have calls.
    fn growing_calls(&self, field: usize, captures: &[Capture]) -> Option<Box<GrowingCalls>> {
        if !self.grow_calls || self.skims {
            return None;
        }
        let (field, plan) = (self.template.fields().get(field)?, self.plan.fields.get(field)?);
        let may_have_calls = field.transform.is_some() || plan.dirty;
        // A call that a policy may recover is sent whole, because nothing that was reported is revised.
        let shape = plan.calls.as_ref().filter(|_| self.ledger.policies.is_empty());
        may_have_calls.then(|| Box::new(GrowingCalls::new(field, &plan.name, shape, captures)))
    }

    /// Releases the text up to a position to the current region.
    pub(super) fn release(&mut self, place: usize, sink: &mut dyn FnMut(EventRef<'_>)) {
        self.release_text(place, None, &mut |event| sink(event));
    }

    /// Releases the text up to a position; the caller may pass it to avoid a copy.
    #[inline(always)]
    fn release_text(&mut self, place: usize, text: Option<&str>, sink: &mut impl FnMut(EventRef<'_>)) {
        if place <= self.position {
            return;
        }
        let start = std::mem::replace(&mut self.position, place);
        if self.region.is_none()
            && let Some(field) = self.plan.implicit
        {
            self.begin(field, start, Origin::Opened, sink);
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

    /// Begins a region that no delimiter opens.
    #[inline(never)]
    pub(super) fn begin(&mut self, field: usize, start: usize, origin: Origin, sink: &mut dyn FnMut(EventRef<'_>)) {
        self.region = Some(Region::new(field, start, origin));
        if let Some(field) = self.plan.shown.get(field) {
            sink(EventRef::Open { field: &field.name, captures: &[], span: Span::new(start, start) });
        }
    }

    /// Reads more text of the region's calls.
    #[inline(never)]
    fn grow(&mut self, start: usize, end: usize, sink: &mut dyn FnMut(EventRef<'_>)) {
        let Some(Region { field, body, growing: Some(growing), .. }) = &mut self.region else { return };
        let Some(field) = self.template.fields().get(*field) else { return };
        let more = More { body: self.buffer.slice(*body, end), text: self.buffer.slice(start, end) };
        growing.grow(field, more, self.tools.as_deref(), &mut self.calls, sink);
    }

    /// Ends text outside all regions, if there was any.
    fn end_outside(&mut self) {
        if self.signals.end_outside(&self.plan, self.template.start_anchor().pattern()) {
            self.ledger.go_on();
        }
    }

    /// Decides the problems that wait for the end of the text.
    fn settle_problems(&mut self, sink: &mut dyn FnMut(EventRef<'_>)) {
        if self.mode == Mode::Reference {
            return;
        }
        self.ledger.settle(self.has_calls(), sink);
        let content = self.template.field("content").filter(|field| field.content.is_text());
        let is_lost = content.filter(|field| self.message.value(field).is_none_or(Value::is_empty));
        let pieces = self.signals.take_outside();
        let is_asked = self.ledger.policies.contains(RecoveryPolicy::OutsideText);
        for piece in &pieces {
            let problem = Problem::new(ProblemKind::TextOutside, piece.span);
            let problem = match is_lost {
                Some(_) => problem.read_by(RecoveryPolicy::OutsideText, is_asked),
                None => problem,
            };
            self.ledger.report(problem, sink);
        }
        let Some(field) = is_lost.filter(|_| is_asked) else { return };
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return };
        let text = pieces.iter().map(|piece| piece.text.trim()).collect::<Vec<_>>().join("\n");
        let body = Span::new(first.span.start, last.span.end);
        let (start, end) = (Span::new(body.start, body.start), Span::new(body.end, body.end));
        let name: Arc<str> = field.name.as_str().into();
        sink(EventRef::Open { field: &name, captures: &[], span: start });
        sink(EventRef::Chunk { field: &name, text: &text, dirty: false, span: body });
        if let Ok(value) = self.message.insert(field, Value::from(text.as_str()), &Closer::none_at(end.start)) {
            sink(EventRef::Close { field: &name, value: &value, captures: &[], span: end, body });
        }
    }

    /// Makes the parser unusable: `step` fails, and the fast path is disabled.
    pub(super) fn fail(&mut self) {
        self.failed = true;
        self.scan.wake();
    }

    pub(super) fn error(&self, cause: Cause) -> ParseError {
        ParseError { stage: self.stage, cause }
    }
}

/// The delimiters watched for in a region, or outside of all.
#[inline]
pub(super) fn watched<'p>(plan: &'p Plan, region: Option<&Region>) -> &'p Watch {
    region
        .filter(|region| plan.implicit != Some(region.field))
        .and_then(|region| plan.fields.get(region.field))
        .map_or(&plan.outside, |field| &field.inside)
}
