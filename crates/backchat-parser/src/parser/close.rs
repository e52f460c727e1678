//! Closes regions: the text becomes a value of the message, and problems are reported.

use super::error::{Cause, ParseError};
use super::event::EventRef;
use super::machine::Machine;
use super::message::{self, NoValue};
use super::plan::{FieldPlan, Plan};
use super::problem::Problem;
use super::recovery::{Context, LaterCloser, Stretch};
use super::region::{Closer, Ended, Origin, Region, count, ended_of};
use super::scan::{Buffer, Scan};
use super::signals::Malformed;
use super::span::Span;
use crate::content::recovery::{self, Deviation, ProblemKind, ReadCalls, RecoveryPolicy, Request};
use crate::content::{self, Capture, Mode};
use crate::parser::error::Stage;
use crate::template::{Field, Regions, Template};
use backchat_core::json::Value;

struct Closing<'c> {
    region: Region,
    field: &'c Field,
    plan: &'c FieldPlan,
    body: Span,
    closer: Closer,
    /// Whether the end of the text ends it.
    at_end: bool,
    /// Its index among the regions of its field.
    number: usize,
    /// The index of its first call in the message.
    first_call: usize,
}

impl Closing<'_> {
    fn text<'b>(&self, buffer: &'b Buffer) -> &'b str {
        buffer.slice(self.body.start, self.body.end)
    }

    fn problem(&self, found: Deviation) -> Problem {
        let inside =
            |range: std::ops::Range<usize>| Span::new(self.body.start + range.start, self.body.start + range.end);
        let span = match found.kind {
            ProblemKind::FalseOpener => self.region.opener,
            _ => found.range.map_or(self.body, inside),
        };
        let is_text =
            self.field.content.takes_any_text() && found.kind == ProblemKind::ArgumentsNotObject && !found.is_fixed;
        Problem {
            at_end: self.at_end && is_text,
            call: found.call.map(|call| self.first_call + call),
            region: Some(self.number),
            path: found.path,
            reason: found.reason,
            policies: found.fix,
            is_recovered: found.is_fixed,
            ..Problem::of(found.kind, span, &self.field.name)
        }
    }

    /// The problem that a policy has recovered in the region.
    fn recovered(&self) -> Option<Problem> {
        let of = |kind, span, policy| {
            let problem = Problem { call: Some(self.first_call), ..Problem::of(kind, span, &self.field.name) };
            Some(problem.read_by(policy, true))
        };
        match self.region.origin {
            Origin::Opened => None,
            Origin::Bare => of(ProblemKind::BareCall, self.body, RecoveryPolicy::MissingCallOpener),
            Origin::ClosedLater { first } => {
                let span = Span::new(self.body.start, first);
                of(ProblemKind::Malformed, span, RecoveryPolicy::ClosersInStrings)
            }
        }
    }
}

impl Machine {
    /// Closes the region the parser is in, if any.
    pub(super) fn close(&mut self, closer: Closer, sink: &mut dyn FnMut(EventRef<'_>)) -> Result<(), ParseError> {
        let Some(mut region) = self.region.take().filter(|_| !self.skims) else { return Ok(()) };
        let (plan, template) = (self.plan.clone(), self.template.clone());
        let (Some(field), Some(known)) = (template.fields().get(region.field), plan.fields.get(region.field)) else {
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
        Capture::add_closing(&mut region.captures, &closer.captures);
        let body = Span::new(region.body, self.position);
        let text = self.buffer.slice(body.start, body.end);
        let may_close = plan.implicit == Some(region.field) && plan.may_close(text);
        if may_close {
            self.signals.look_for_marks(&plan, text);
        }
        if self.mode == Mode::Stable
            && self.is_left_over(&region, field, body, closer.span.end)
            && let Ok(value) = content::region_value(field, text, &region.captures, self.mode)
        {
            // The reference reads no further. The events have the text, and the message keeps its value.
            let Closer { span, captures, .. } = &closer;
            sink(EventRef::Close { field: &known.name, value: &value, captures, span: *span, body });
            return Ok(());
        }
        let number = count(&mut self.ended, region.field);
        let at_end = self.ends_with_text(region.field, closer.span);
        let calls = self.message.value(field).and_then(Value::as_list).filter(|_| field.repeats);
        let first_call = calls.map_or(0, <[Value]>::len);
        let closing = Closing { region, field, plan: known, body, closer, at_end, number, first_call };
        let unclosed = self.look_at_end(&closing, &plan, &template, may_close, sink);
        let is_cut = unclosed.as_ref().is_some_and(|problem| problem.at_end);
        let (read, later) = self.read_body(&closing, &plan, is_cut);
        self.settle(closing, read, later, unclosed, sink)
    }

    /// Reports problems of text and reasoning; returns the problem of a region that nothing closed.
    fn look_at_end(
        &mut self,
        closing: &Closing<'_>,
        plan: &Plan,
        template: &Template,
        may_close: bool,
        sink: &mut dyn FnMut(EventRef<'_>),
    ) -> Option<Problem> {
        if self.mode == Mode::Reference {
            return None;
        }
        let mut unclosed = self.unclosed(closing);
        let tools = self.tools.as_deref().filter(|tools| !tools.is_empty());
        let context = Context { plan, template, tools };
        let (body, closer, view) = (closing.body, closing.closer.span, self.buffer.view(true));
        if plan.implicit == Some(closing.region.field) {
            let stretch = Stretch { body, closer, may_close, has_false_opener: false };
            self.ledger.end_stretch(stretch, view, &context, sink);
            return unclosed;
        }
        self.ledger.go_on();
        if plan.roles.reasoning == Some(closing.region.field) {
            self.ledger.end_reasoning(body, closer, &mut unclosed, view, &context);
        }
        unclosed
    }

    /// The problem of a region that ends without one of its field's own closers. Its call is the first that the region
    /// would add.
    fn unclosed(&self, closing: &Closing<'_>) -> Option<Problem> {
        let closer = self.buffer.slice(closing.closer.span.start, closing.closer.span.end).trim();
        let is_turn_mark = || self.plan.turn_marks.iter().any(|mark| mark == closer);
        let is_unclosed = closing.plan.needs_closer && (closing.at_end || is_turn_mark());
        is_unclosed.then(|| Problem {
            call: Some(closing.first_call),
            at_end: closing.at_end,
            region: Some(closing.number),
            ..Problem::of(ProblemKind::Unclosed, closing.body, &closing.field.name)
        })
    }

    /// Reads the text of a region, and finds the closer that may be the right one. `is_cut`: the end of the text cut
    /// it.
    fn read_body(&self, closing: &Closing<'_>, plan: &Plan, is_cut: bool) -> (ReadCalls, Option<LaterCloser>) {
        let Closing { region, field, body, closer, at_end, .. } = closing;
        let text = closing.text(&self.buffer);
        let Some(call) = plan.roles.call(region.field).filter(|_| self.mode == Mode::Stable) else {
            let value = message::value_of(field, text, &region.captures, self.tools.as_deref(), self.mode);
            return (
                ReadCalls { value: value.map(Some).map_err(Box::new), deviations: Vec::new(), is_unfinished: is_cut },
                None,
            );
        };
        let request = Request {
            tools: self.tools.as_deref().filter(|tools| !tools.is_empty()),
            policies: self.ledger.policies,
            validate: self.ledger.validate,
            is_delimited: !at_end,
            is_cut,
            is_bare: region.origin == Origin::Bare,
        };
        let mut read = recovery::read(field, &call.form, text, &region.captures, request);
        let mut later = None;
        let begin = self.buffer.slice(body.start, closer.span.end).trim_start();
        if region.origin == Origin::Opened && region.opener.end == body.start && !call.can_begin_with(begin) {
            // After a false opener the rest is not a body.
            read.deviations = vec![Deviation::of_opener()];
        } else if !at_end && read.value.is_err() {
            later = LaterCloser::find(call, text, closer.span.start);
        }
        (read, later)
    }

    /// Adds the value of a region to the message, or rejects the region.
    fn settle(
        &mut self,
        closing: Closing<'_>,
        read: ReadCalls,
        later: Option<LaterCloser>,
        unclosed: Option<Problem>,
        sink: &mut dyn FnMut(EventRef<'_>),
    ) -> Result<(), ParseError> {
        let ReadCalls { value, deviations, is_unfinished } = read;
        let Closing { field, plan, body, closer: Closer { span, .. }, .. } = closing;
        let value = match value {
            Ok(Some(value)) => value,
            Ok(None) => {
                let (text, reason) =
                    (closing.text(&self.buffer), "the end of the text cuts the call, which is dropped");
                sink(EventRef::Malformed { field: &plan.name, text, reason, span, body });
                if let Some(problem) = unclosed.map(|problem| Problem { call: None, ..problem }) {
                    self.ledger.report(problem.read_by(RecoveryPolicy::DropUnfinished, true), sink);
                }
                return Ok(());
            }
            Err(reason) => return self.reject(&closing, (*reason).into(), deviations, later, sink),
        };
        let replaces = self.has_value(closing.region.field) && !field.repeats;
        let before = if replaces { self.message.value(field).cloned() } else { None };
        let value = match self.message.insert(field, value, &closing.closer) {
            Ok(value) => value,
            Err(failure) => return self.reject(&closing, failure, deviations, later, sink),
        };
        let is_false = deviations.first().is_some_and(|found| found.kind == ProblemKind::FalseOpener);
        for problem in deviations.into_iter().map(|found| closing.problem(found)).chain(closing.recovered()) {
            self.ledger.report(problem, sink);
        }
        let replaced = ended_of(&mut self.ended, closing.region.field);
        if let Some(before) = before.filter(|before| !before.is_empty() && *before != *value) {
            self.signals.note_lost(closing.region.field, &before);
            if let Some(Ended { body, .. }) = replaced.as_deref().filter(|_| self.mode == Mode::Stable) {
                self.ledger.report(Problem::of(ProblemKind::ValueReplaced, *body, &field.name), sink);
            }
        }
        if let Some(ended) = replaced.filter(|_| !field.repeats && !value.is_empty()) {
            (ended.has_value, ended.body) = (true, body);
        }
        if let Some(problem) = unclosed.filter(|_| !is_false) {
            let call = last_call(&value).map(|last| problem.call.unwrap_or(0) + last);
            let problem = Problem { call, ..problem };
            let is_dropped = is_unfinished && call.is_some();
            let problem = if is_dropped { problem.read_by(RecoveryPolicy::DropUnfinished, false) } else { problem };
            self.ledger.report(problem, sink);
        }
        if let Some(growing) = closing.region.growing {
            growing.finish(&value, &mut self.calls, sink);
        }
        let captures = &closing.closer.captures;
        sink(EventRef::Close { field: &plan.name, value: &value, captures, span, body });
        Ok(())
    }

    fn reject(
        &mut self,
        closing: &Closing<'_>,
        failure: NoValue,
        deviations: Vec<Deviation>,
        later: Option<LaterCloser>,
        sink: &mut dyn FnMut(EventRef<'_>),
    ) -> Result<(), ParseError> {
        let Closing { plan, body, at_end, number, .. } = *closing;
        let span = closing.closer.span;
        let field = closing.field.name.clone();
        let text = closing.text(&self.buffer);
        if self.mode == Mode::Reference || failure.exhausted {
            let text = text.to_owned();
            self.fail();
            return Err(self.error(Cause::Malformed { field, text, reason: failure.reason }));
        }
        sink(EventRef::Malformed { field: &plan.name, text, reason: &failure.reason, span, body });
        let tells_why = |found: &Deviation| matches!(found.kind, ProblemKind::Malformed | ProblemKind::FalseOpener);
        let problem = match deviations.into_iter().find(|found| !found.is_fixed).filter(tells_why) {
            Some(found) => Problem { call: None, ..closing.problem(found) },
            None => Problem { region: Some(number), ..Problem::of(ProblemKind::Malformed, body, &field) },
        };
        let is_false = problem.kind == ProblemKind::FalseOpener;
        let problem = match is_false {
            true => problem,
            false => Problem { at_end, reason: Some(failure.reason.clone()), ..problem },
        };
        let text = text.to_owned();
        self.signals.malformed.push(Malformed { field, text, reason: failure.reason });
        let later = later.filter(|_| !is_false && problem.policies.is_empty());
        self.ledger.report_or_defer(problem, later, sink);
        Ok(())
    }

    /// Whether a region is white space at whose start the implicit field's close matched nothing, as `<end>|$` does
    /// before a newline that ends the text: it must not replace an existing value.
    fn is_left_over(&self, region: &Region, field: &Field, body: Span, end: usize) -> bool {
        self.plan.implicit == Some(region.field)
            && !field.repeats
            && self.has_value(region.field)
            && self.buffer.slice(body.start, body.end).trim().is_empty()
            && (self.plan.closer(region.field))
                .is_some_and(|closer| Scan::has_empty_match(closer, &self.buffer, body.start, end))
    }

    /// Whether the end of the text ended a region: without a delimiter, or with one that more text would have undone.
    fn ends_with_text(&self, field: usize, span: Span) -> bool {
        // At the end of the text, only a match of the end itself is empty.
        if span.start == span.end {
            return span.end == self.buffer.end();
        }
        // `$` matches before a newline that ends the text, too.
        let is_last = matches!(self.buffer.slice(span.end, self.buffer.end()), "" | "\n");
        let needs_end = |closer| Scan::needs_end(closer, &self.buffer, span.start);
        is_last && self.plan.closer(field).is_some_and(needs_end)
    }

    fn has_value(&self, field: usize) -> bool {
        self.ended.iter().any(|ended| ended.field == field && ended.has_value)
    }
}

/// The last call among those of a region's value, if it has calls.
fn last_call(value: &Value) -> Option<usize> {
    let (last, place) = match value {
        Value::List(calls) => (calls.last()?, calls.len() - 1),
        one => (one, 0),
    };
    last.get("function").map(|_| place)
}
