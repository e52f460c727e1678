//! The steps of a parser with policies: they hold text, and decide it before it is released and delimiters count.
//!
//! Nothing is released beyond the position of an open decision, and released text is never revised.

use super::bare_call::{self, BareCall, has_bare_calls};
use super::call_run::{CallRun, Run};
use super::gate::{Flow, Gate, Trial};
use super::later_closer::LaterCloser;
use super::markers::{follow_tail, is_distinctive, is_in_prose, trimmed};
use super::stretch::{STARTS, starts};
use super::{Context, NoResult, Verdict};
use crate::content::recovery::{ProblemKind, RecoveryPolicy};
use crate::parser::error::ParseError;
use crate::parser::event::EventRef;
use crate::parser::machine::Parser;
use crate::parser::plan::DelimiterPlan;
use crate::parser::problem::Problem;
use crate::parser::region::Origin;
use crate::parser::scan::Delimited;
use crate::parser::span::Span;
use crate::pattern::SearchResult;

/// How many runs of calls are tried in a reasoning.
const RUNS: usize = 64;

impl Parser {
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

    fn asks(&self, policy: RecoveryPolicy) -> bool {
        self.ledger.policies.contains(policy)
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
        let plan = self.plan.clone();
        let tools = self.tools.clone().filter(|tools| !tools.is_empty());
        let template = self.template.clone();
        let context = Context { plan: &plan, template: &template, tools: tools.as_deref() };
        let start = trial.start();
        let (view, is_cut) = self.buffer.view(ended).within_hold(start);
        let end = view.end();
        let is_bare = self.buffer.slice(stretch, self.position.max(stretch)).trim().is_empty();
        let may_be_all = is_bare && self.ledger.is_at_first() && !self.ledger.has_malformed;
        let acted = match trial {
            Trial::BareCall(trial) => match trial.look(view, &context, may_be_all) {
                Ok(found) => Some(self.take_bare_call(start, found, end, sink)?),
                Err(NoResult::Waits) if !is_cut => return Ok(Flow::Waits),
                _ => None,
            },
            Trial::Calls(trial) => match trial.look(view, &context) {
                // A call in a closed reasoning may be a rehearsal: only the tools say whether it is one of theirs.
                Ok(run) if run.is_closed && context.tools.is_none() => None,
                Ok(run) => Some(self.take_calls(gate, start, run, sink)?),
                Err(NoResult::Waits) if !is_cut => return Ok(Flow::Waits),
                _ => None,
            },
            Trial::Stray { field, marker, at } => match follow_tail(&plan, view, at, true) {
                Ok(()) => {
                    let (field, marker) = (*field, *marker);
                    Some(self.drop_stray(field, marker, end, sink)?)
                }
                Err(NoResult::Waits) if !is_cut => return Ok(Flow::Waits),
                _ => None,
            },
            Trial::InString(trial) => match trial.look(view, &context) {
                Ok((closer, after)) => {
                    self.release(closer, sink);
                    if let Some(region) = &mut self.region {
                        region.origin = Origin::ClosedLater { first: start };
                    }
                    Some(self.close_by(closer, after, sink)?)
                }
                Err(NoResult::Waits) if !is_cut => return Ok(Flow::Waits),
                _ => {
                    gate.closes_at = Some(start);
                    None
                }
            },
        };
        gate.trial = None;
        match acted {
            Some(place) => gate.begin_stretch(place),
            None => gate.from = self.buffer.after(start),
        }
        Ok(Flow::Again)
    }

    /// Examines a scan's result before it counts: text up to a limit, and the delimiter there.
    pub(in crate::parser) fn guard(
        &mut self,
        gate: &mut Gate,
        limit: usize,
        next: Option<Delimited>,
        ended: bool,
        sink: &mut dyn FnMut(EventRef<'_>),
    ) -> Result<Flow, ParseError> {
        if let Some((at, to)) = gate.cut {
            if limit < at {
                return Ok(Flow::Goes);
            }
            gate.cut = None;
            self.release(at, sink);
            gate.begin_stretch(self.close_by(at, to, sink)?);
            return Ok(Flow::Again);
        }
        if let Some(start) = gate.first {
            let flow = self.look_for_first(gate, start, limit, next, ended, sink)?;
            if flow != Flow::Goes {
                return Ok(flow);
            }
        }
        if let Some((start, flow)) = self.candidate(gate, limit, ended) {
            self.release(start, sink);
            return Ok(flow);
        }
        match next {
            Some(next) => self.guard_delimiter(gate, next, ended, sink),
            None => Ok(Flow::Goes),
        }
    }

    /// The first position before a limit that needs a decision, which becomes the gate's trial, or at which one may
    /// begin that more text decides.
    fn candidate(&mut self, gate: &mut Gate, limit: usize, ended: bool) -> Option<(usize, Flow)> {
        let plan = self.plan.clone();
        let field = self.region.as_ref().map(|region| region.field);
        let stretch = gate.begun(self.region.as_ref());
        let shown = self.region.as_ref().map_or(self.position, |region| region.body);
        let from = gate.from.max(shown).max(self.from.min(limit));
        let view = self.buffer.view(ended);
        let mut waits = None;
        let mut first: Option<(usize, Trial)> = None;
        let mut offer = |start: usize, trial: Trial| {
            if first.as_ref().is_none_or(|(before, _)| start < *before) {
                first = Some((start, trial));
            }
        };
        if field.is_some() && field == plan.roles.reasoning {
            let is_asked = self.asks(RecoveryPolicy::CallsInReasoning) && gate.runs < RUNS && !self.has_calls();
            for (index, delimiter) in plan.delimiters.iter().enumerate() {
                let opens_calls = !delimiter.closes && plan.roles.call(delimiter.field).is_some();
                let Some(search) = gate.searches.get_mut(index).filter(|_| is_asked && opens_calls) else { continue };
                match view.find(&delimiter.pattern, search, from) {
                    SearchResult::Match { start, end } if start < limit && end > start => {
                        offer(start, Trial::Calls(CallRun::new(start)));
                    }
                    SearchResult::Waits { start } if start < limit => waits = Some(waits.unwrap_or(start).min(start)),
                    _ => {}
                }
            }
        } else if field == plan.implicit || field.is_none() && plan.implicit.is_some() {
            let has_tools = self.tools.as_ref().is_some_and(|tools| !tools.is_empty());
            let is_asked = self.asks(RecoveryPolicy::MissingCallOpener) && has_tools && gate.starts < STARTS;
            if is_asked && plan.roles.calls.iter().any(has_bare_calls) {
                // The byte before decides whether a line begins.
                let text = view.slice(stretch, limit);
                if let Some(start) = starts(text, from - stretch).next() {
                    offer(stretch + start, Trial::BareCall(BareCall::new(stretch + start)));
                }
            }
            let is_asked = self.asks(RecoveryPolicy::StrayClosers) && !gate.has_stray && !self.ledger.has_false_opener;
            for (index, delimiter) in plan.delimiters.iter().enumerate() {
                let closes_calls = delimiter.closes && plan.roles.call(delimiter.field).is_some();
                let search = gate.searches.get_mut(index).filter(|_| is_asked && closes_calls);
                let (Some(search), Some(passed)) = (search, gate.passed.get_mut(index)) else { continue };
                loop {
                    match view.find(&delimiter.pattern, search, from.max(*passed)) {
                        SearchResult::Match { start, end } if start < limit && end > start => {
                            let marker = view.slice(start, end);
                            // A closer may include the blanks before it.
                            let own = trimmed(start, marker);
                            if is_distinctive(&plan, marker) && !is_in_prose(view.slice(stretch, own.start), true) {
                                offer(own.start, Trial::Stray { field: delimiter.field, marker: own, at: own.end });
                            } else {
                                *passed = end;
                                continue;
                            }
                        }
                        SearchResult::Waits { start } if start < limit => {
                            waits = Some(waits.unwrap_or(start).min(start))
                        }
                        _ => {}
                    }
                    break;
                }
            }
        }
        let waits = waits.filter(|_| !ended);
        match first.filter(|(start, _)| waits.is_none_or(|waits| *start < waits)) {
            Some((start, trial)) => {
                match trial {
                    Trial::BareCall(_) => gate.starts += 1,
                    Trial::Calls(_) => gate.runs += 1,
                    Trial::Stray { .. } => gate.has_stray = true,
                    Trial::InString(_) => {}
                }
                (gate.trial, gate.from) = (Some(trial), start);
                Some((start, Flow::Again))
            }
            None => waits.map(|start| (start, Flow::Waits)),
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
        let plan = self.plan.clone();
        let Some(delimiter) = plan.delimiters.get(next.delimiter) else { return Ok(Flow::Goes) };
        let Some(call) = plan.roles.call(delimiter.field) else { return Ok(Flow::Goes) };
        if delimiter.closes {
            let is_open = self.region.as_ref().filter(|region| region.field == delimiter.field);
            let is_asked =
                self.asks(RecoveryPolicy::ClosersInStrings) && call.is_json && gate.closes_at != Some(next.start);
            let Some(region) = is_open.filter(|_| is_asked) else { return Ok(Flow::Goes) };
            let body = self.buffer.slice(region.body, next.start.max(region.body));
            let Some(later) = LaterCloser::find(delimiter.field, body, next.start) else { return Ok(Flow::Goes) };
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
        self.report_false_opener(delimiter.field, Span::new(next.start, next.end), true, sink);
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
        self.close(Span::new(start, end), sink)?;
        (self.position, self.from) = (end, end);
        Ok(end)
    }

    fn take_bare_call(
        &mut self,
        start: usize,
        found: bare_call::FoundCall,
        end: usize,
        sink: &mut dyn FnMut(EventRef<'_>),
    ) -> Result<usize, ParseError> {
        self.ledger.is_decided = self.region.is_some();
        self.close(Span::new(start, start), sink)?;
        self.begin(found.field, start, Origin::Bare, sink);
        let (closer, after) = found.closer.unwrap_or((found.end, end));
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
        self.close(Span::new(start, start), sink)?;
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
        limit: usize,
        next: Option<Delimited>,
        ended: bool,
        sink: &mut dyn FnMut(EventRef<'_>),
    ) -> Result<Flow, ParseError> {
        let plan = self.plan.clone();
        let Some(field) = plan.roles.reasoning else { return Ok(Flow::Goes) };
        let found = self.first_closer(gate, field, start, limit, next, ended);
        if let Ok((marker, after)) = found {
            gate.first = None;
            self.close(Span::new(start, start), sink)?;
            self.begin(field, start, Origin::Opened, sink);
            self.release(marker.start, sink);
            let problem = Problem::of(ProblemKind::StrayMarker, marker, plan.name(field));
            self.ledger.report(problem.read_by(RecoveryPolicy::MissingReasoningOpener, true), sink);
            gate.begin_stretch(self.close_by(marker.start, after, sink)?);
            return Ok(Flow::Again);
        }
        let (_, is_cut) = self.buffer.view(ended).within_hold(start);
        if (next.is_none() || found == Err(NoResult::Waits)) && !ended && !is_cut {
            return Ok(Flow::Waits);
        }
        gate.first = None;
        gate.from = start;
        Ok(Flow::Goes)
    }

    /// The closer of the reasoning that precedes every other marker, and the place after it.
    fn first_closer(
        &self,
        gate: &mut Gate,
        field: usize,
        start: usize,
        limit: usize,
        next: Option<Delimited>,
        ended: bool,
    ) -> Verdict<(Span, usize)> {
        let (view, _) = self.buffer.view(ended).within_hold(start);
        let mut delimiters = self.plan.delimiters.iter().zip(&mut gate.searches);
        let closer = delimiters.find(|(delimiter, _)| delimiter.closes && delimiter.field == field);
        let Some((DelimiterPlan { pattern, .. }, search)) = closer else { return Err(NoResult::IsNot) };
        let has_text = |end: usize| !view.slice(start, end).trim().is_empty();
        let mut at = gate.from.max(start);
        loop {
            let (from, end) = match self.buffer.view(ended).find(pattern, search, at) {
                SearchResult::Match { start, end } if start < limit.min(view.end()) && start < end => (start, end),
                SearchResult::Waits { start } if start < limit => {
                    gate.from = at;
                    return Err(NoResult::Waits);
                }
                _ => break,
            };
            let marker = view.slice(from, end.min(view.end()));
            let span = trimmed(from, marker);
            if is_distinctive(&self.plan, marker)
                && has_text(from)
                && !is_in_prose(view.slice(start, span.start), false)
            {
                return Ok((span, end));
            }
            at = end;
        }
        gate.from = at;
        // One that is part of the implicit field's closer counts anywhere.
        let consumed = || {
            let next = next.filter(|next| next.start < view.end() && has_text(next.start))?;
            let delimiter = self.plan.delimiters.get(next.delimiter)?;
            let is_implicit = delimiter.closes && self.plan.implicit == Some(delimiter.field);
            let found = pattern.find_at(self.buffer.slice(next.start, next.end), 0).ok()?.filter(|_| is_implicit)?;
            is_distinctive(&self.plan, found.text())
                .then(|| (trimmed(next.start + found.span().0, found.text()), next.end))
        };
        consumed().ok_or(NoResult::IsNot)
    }
}
