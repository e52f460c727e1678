//! The steps of a machine with policies: they hold text, and decide it before it is released and delimiters count.
//!
//! Nothing is released beyond the position of an open decision, and released text is never revised.

use std::ops::Range;

use super::bare_call::FoundCall;
use super::call_run::Run;
use super::gate::{Ahead, Flow, Gate};
use super::later_closer::LaterCloser;
use super::trial::{Found, Trial};
use super::{Context, NoResult};
use crate::content::recovery::{ProblemKind, RecoveryPolicy};
use crate::parser::error::ParseError;
use crate::parser::event::EventRef;
use crate::parser::machine::Machine;
use crate::parser::problem::Problem;
use crate::parser::region::{Closer, Origin};
use crate::parser::scan::Delimited;
use crate::parser::span::Span;

impl Machine {
    /// Runs a step with the gate, if a policy may hold text; without one, every match counts.
    pub(in crate::parser) fn with_gate(
        &mut self,
        step: impl FnOnce(&mut Self, &mut Gate) -> Result<Flow, ParseError>,
    ) -> Result<Flow, ParseError> {
        let Some(mut gate) = self.gate.take() else { return Ok(Flow::Goes) };
        let flow = step(self, &mut gate);
        self.gate = Some(gate);
        flow
    }

    pub(super) fn asks(&self, policy: RecoveryPolicy) -> bool {
        self.ledger.policies.contains(policy)
    }

    /// What decisions know besides the text.
    pub(in crate::parser) fn context(&self) -> Context<'_> {
        let tools = self.tools.as_deref().filter(|tools| !tools.is_empty());
        Context { plan: &self.plan, template: &self.template, tools }
    }

    /// Continues the open decision, if there is one.
    pub(in crate::parser) fn follow_trial(
        &mut self,
        gate: &mut Gate,
        ended: bool,
        sink: &mut dyn FnMut(EventRef<'_>),
    ) -> Result<Flow, ParseError> {
        let stretch = gate.begun(self.region.as_ref());
        let Some(trial) = &mut gate.trial else { return Ok(Flow::Goes) };
        let start = trial.start();
        let (view, is_cut) = self.buffer.view(ended).within_hold(start);
        let end = view.end();
        let is_bare = self.buffer.slice(stretch, self.position.max(stretch)).trim().is_empty();
        let may_be_all = is_bare && self.ledger.is_at_first() && !self.ledger.has_malformed;
        let verdict = trial.look(view, &self.context(), may_be_all);
        match verdict {
            Ok(found) => {
                let place = self.act_on(found, gate, start..end, sink)?;
                gate.trial = None;
                gate.begin_stretch(place);
            }
            Err(NoResult::Waits) if !is_cut => return Ok(Flow::Waits),
            Err(_) => {
                if let Trial::InString(_) = trial {
                    gate.closes_at = Some(start);
                }
                gate.trial = None;
                gate.from = self.buffer.after(start);
            }
        }
        Ok(Flow::Again)
    }

    /// Acts on what a decision found in the text that it held; returns the place from which parsing continues.
    fn act_on(
        &mut self,
        found: Found,
        gate: &mut Gate,
        held: Range<usize>,
        sink: &mut dyn FnMut(EventRef<'_>),
    ) -> Result<usize, ParseError> {
        match found {
            Found::BareCall(call) => self.take_bare_call(held, call, sink),
            Found::Calls(run) => self.take_calls(gate, held.start, run, sink),
            Found::Stray { field, marker } => self.drop_stray(field, marker, held.end, sink),
            Found::Closer { start, end } => {
                self.release(start, sink);
                if let Some(region) = &mut self.region {
                    region.origin = Origin::ClosedLater { first: held.start };
                }
                self.close_by(start, end, sink)
            }
        }
    }

    /// Examines a scan's result before it counts: text up to a limit, and the delimiter there.
    pub(in crate::parser) fn guard(
        &mut self,
        gate: &mut Gate,
        ahead: Ahead,
        sink: &mut dyn FnMut(EventRef<'_>),
    ) -> Result<Flow, ParseError> {
        if let Some((at, to)) = gate.cut {
            if ahead.limit < at {
                return Ok(Flow::Goes);
            }
            gate.cut = None;
            self.release(at, sink);
            gate.begin_stretch(self.close_by(at, to, sink)?);
            return Ok(Flow::Again);
        }
        if let Some(start) = gate.first {
            let flow = self.look_for_first(gate, start, ahead, sink)?;
            if flow != Flow::Goes {
                return Ok(flow);
            }
        }
        if let Some((start, flow)) = self.candidate(gate, ahead.limit, ahead.ended) {
            self.release(start, sink);
            return Ok(flow);
        }
        match ahead.next {
            Some(next) => self.guard_delimiter(gate, next, ahead.ended, sink),
            None => Ok(Flow::Goes),
        }
    }

    /// Examines a delimiter before it counts.
    fn guard_delimiter(
        &mut self,
        gate: &mut Gate,
        next: Delimited,
        ended: bool,
        sink: &mut dyn FnMut(EventRef<'_>),
    ) -> Result<Flow, ParseError> {
        let Some(delimiter) = self.plan.delimiters.get(next.delimiter) else { return Ok(Flow::Goes) };
        let (field, closes) = (delimiter.field, delimiter.closes);
        let Some(call) = self.plan.roles.call(field) else { return Ok(Flow::Goes) };
        if closes {
            let is_open = self.region.as_ref().filter(|region| region.field == field);
            let is_asked = self.asks(RecoveryPolicy::ClosersInStrings) && gate.closes_at != Some(next.start);
            let Some(region) = is_open.filter(|_| is_asked) else { return Ok(Flow::Goes) };
            let body = self.buffer.slice(region.body, next.start.max(region.body));
            let Some(later) = LaterCloser::find(call, body, next.start) else { return Ok(Flow::Goes) };
            self.release(next.start, sink);
            gate.trial = Some(Trial::InString(later));
            return Ok(Flow::Again);
        }
        if !self.asks(RecoveryPolicy::FalseOpeners) || next.start == next.end {
            return Ok(Flow::Goes);
        }
        let (view, is_cut) = self.buffer.view(ended).within_hold(next.start);
        let begin = view.from(view.after_blanks(next.end.min(view.end())));
        let may_be_fence = begin.len() < 3 && "```".starts_with(begin);
        if may_be_fence && !view.is_whole() && !is_cut {
            self.release(next.start, sink);
            return Ok(Flow::Waits);
        }
        if call.can_begin_with(begin) {
            return Ok(Flow::Goes);
        }
        self.release(next.start, sink);
        self.report_false_opener(field, Span::new(next.start, next.end), true, sink);
        self.ledger.has_false_opener = true;
        self.from = next.end;
        gate.from = gate.from.max(next.end);
        Ok(Flow::Again)
    }

    /// An opener of calls that no value follows.
    pub(in crate::parser) fn report_false_opener(
        &mut self,
        field: usize,
        span: Span,
        is_recovered: bool,
        sink: &mut dyn FnMut(EventRef<'_>),
    ) {
        let problem = Problem::of(ProblemKind::FalseOpener, span, self.plan.name(field));
        self.ledger.report(problem.read_by(RecoveryPolicy::FalseOpeners, is_recovered), sink);
    }

    pub(in crate::parser) fn has_calls(&self) -> bool {
        let fields = self.plan.roles.calls.iter().filter_map(|call| self.template.fields().get(call.field));
        fields.into_iter().any(|field| self.message.value(field).is_some_and(|value| !value.is_empty()))
    }

    /// Closes the region with the delimiter between two places, and continues after it.
    fn close_by(&mut self, start: usize, end: usize, sink: &mut dyn FnMut(EventRef<'_>)) -> Result<usize, ParseError> {
        let closer = self.region.as_ref().and_then(|region| self.plan.closer(region.field));
        let captures = closer.map(|closer| self.buffer.view(true).captures_at(closer, start)).unwrap_or_default();
        self.close(Closer::of(Span::new(start, end), captures), sink)?;
        (self.position, self.from) = (end, end);
        Ok(end)
    }

    fn take_bare_call(
        &mut self,
        held: Range<usize>,
        found: FoundCall,
        sink: &mut dyn FnMut(EventRef<'_>),
    ) -> Result<usize, ParseError> {
        self.ledger.is_decided = self.region.is_some();
        self.close(Closer::none_at(held.start), sink)?;
        self.begin(found.field, held.start, Origin::Bare, sink);
        let (closer, after) = found.closer.unwrap_or((found.end, held.end));
        self.release(closer, sink);
        self.close_by(closer, after, sink)
    }

    fn take_calls(
        &mut self,
        gate: &mut Gate,
        start: usize,
        run: Run,
        sink: &mut dyn FnMut(EventRef<'_>),
    ) -> Result<usize, ParseError> {
        let span = Span::new(start, run.end);
        let problem = Problem::of(ProblemKind::CallInReasoning, span, self.plan.name(run.field));
        let problem = Problem { call: Some(0), ..problem.read_by(RecoveryPolicy::CallsInReasoning, true) };
        self.close(Closer::none_at(start), sink)?;
        self.ledger.report(problem, sink);
        self.from = start;
        gate.cut = (run.calls_end < run.after).then_some((run.calls_end, run.after));
        Ok(start)
    }

    fn drop_stray(
        &mut self,
        field: usize,
        marker: Span,
        end: usize,
        sink: &mut dyn FnMut(EventRef<'_>),
    ) -> Result<usize, ParseError> {
        let problem = Problem::of(ProblemKind::StrayMarker, marker, self.plan.name(field));
        self.ledger.report(problem.read_by(RecoveryPolicy::StrayClosers, true), sink);
        self.ledger.is_decided = self.region.is_some();
        self.close_by(marker.start, end, sink)
    }

    /// Searches the start of the text for a closer of the reasoning: then the prompt opened it.
    fn look_for_first(
        &mut self,
        gate: &mut Gate,
        start: usize,
        ahead: Ahead,
        sink: &mut dyn FnMut(EventRef<'_>),
    ) -> Result<Flow, ParseError> {
        let Some(field) = self.plan.roles.reasoning else { return Ok(Flow::Goes) };
        let found = self.first_closer(gate, field, start, ahead);
        if let Ok((marker, after)) = found {
            gate.first = None;
            self.close(Closer::none_at(start), sink)?;
            self.begin(field, start, Origin::Opened, sink);
            self.release(marker.start, sink);
            let problem = Problem::of(ProblemKind::StrayMarker, marker, self.plan.name(field));
            self.ledger.report(problem.read_by(RecoveryPolicy::MissingReasoningOpener, true), sink);
            gate.begin_stretch(self.close_by(marker.start, after, sink)?);
            return Ok(Flow::Again);
        }
        let (_, is_cut) = self.buffer.view(ahead.ended).within_hold(start);
        if (ahead.next.is_none() || found == Err(NoResult::Waits)) && !ahead.ended && !is_cut {
            return Ok(Flow::Waits);
        }
        gate.first = None;
        gate.from = start;
        Ok(Flow::Goes)
    }
}
