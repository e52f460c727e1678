//! `call-in-reasoning`: a run of complete calls in the reasoning, and whether it reaches its end.

use super::bare_call::strict_request;
use super::growing_body::GrowingBody;
use super::markers::{self, follow_tail};
use super::view::View;
use super::{Context, NoResult, Verdict};
use crate::content::Capture;
use crate::content::recovery::{self, ProblemKind};
use crate::parser::roles::{CallField, Notation};
use crate::pattern::{Search, SearchResult};

#[derive(Clone, Debug)]
pub(in crate::parser) struct CallRun {
    pub start: usize,
    at: usize,
    /// The call whose body is read.
    open: Option<OpenCall>,
    /// The end of the last complete call, and the field of the first one.
    pub complete: Option<(usize, usize)>,
    /// The end of the run, once the reasoning's own closer came after it.
    closed: Option<usize>,
}

#[derive(Clone, Debug)]
struct OpenCall {
    field: usize,
    /// The start of the opener before its body.
    opener: usize,
    body: usize,
    /// Its body, if that shows where it ends.
    grows: Option<GrowingBody>,
    search: Box<Search>,
}

/// A run of calls that reaches the end of the reasoning.
#[derive(Clone, Copy, Debug)]
pub(in crate::parser) struct Run {
    pub field: usize,
    /// The end of the last call, and of the run with the blanks and wrappers after it.
    pub calls_end: usize,
    pub end: usize,
    /// The place from which normal parsing continues.
    pub after: usize,
    /// Whether the reasoning's own closer came.
    pub is_closed: bool,
}

impl CallRun {
    pub fn new(start: usize) -> Self {
        Self { start, at: start, open: None, complete: None, closed: None }
    }

    pub fn look(&mut self, view: View<'_>, context: &Context<'_>) -> Verdict<Run> {
        loop {
            if let Some(end) = self.closed {
                follow_tail(context.plan, view, &mut self.at, false)?;
                return self.run(end, view.end(), true);
            }
            if let Some(run) = self.step(view, context)? {
                return Ok(run);
            }
        }
    }

    fn run(&self, end: usize, after: usize, is_closed: bool) -> Verdict<Run> {
        let (calls_end, field) = self.complete.ok_or(NoResult::IsNot)?;
        Ok(Run { field, calls_end, end, after, is_closed })
    }

    fn step(&mut self, view: View<'_>, context: &Context<'_>) -> Verdict<Option<Run>> {
        if let Some(open) = &mut self.open {
            let (end, field) = (open.end(view, context)?, open.field);
            (self.open, self.at) = (None, end);
            self.complete = Some((end, self.complete.map_or(field, |(_, first)| first)));
            return Ok(None);
        }
        let place = view.after_blanks(self.at);
        if place == view.end() {
            return match view.is_whole() {
                true => self.run(place, place, false).map(Some),
                false => Err(NoResult::Waits),
            };
        }
        let mut waits = false;
        if let Some(closer) = context.plan.roles.reasoning.and_then(|field| context.plan.closer(field)) {
            match view.marker(closer, self.at) {
                Ok((start, end)) if markers::is_own(context.plan, view.slice(start, end)) => {
                    let has_calls = self.complete.is_some();
                    (self.closed, self.at) = (Some(view.after_blanks(start)), end);
                    return if has_calls { Ok(None) } else { Err(NoResult::IsNot) };
                }
                Ok(_) => return self.run(place, place, false).map(Some),
                Err(NoResult::Waits) => waits = true,
                Err(NoResult::IsNot) => {}
            }
        }
        for call in &context.plan.roles.calls {
            match context.plan.opener(call.field).map(|opener| view.marker(opener, self.at)) {
                Some(Ok((opener, body))) => {
                    // What follows reads the run again, and ends a list of calls at its first closer, as this does.
                    let json = call.notation.filter(|notation| *notation == Notation::Json);
                    let grows = json.map(|notation| GrowingBody::new(notation, body));
                    self.open = Some(OpenCall { field: call.field, opener, body, grows, search: Box::default() });
                    self.at = body;
                    return Ok(None);
                }
                Some(Err(NoResult::Waits)) => waits = true,
                _ => {}
            }
        }
        if let Some(closer) = context.plan.implicit.and_then(|field| context.plan.closer(field)) {
            match view.marker(closer, self.at) {
                Ok((_, end)) if self.complete.is_some() => {
                    self.at = end;
                    return Ok(None);
                }
                Err(NoResult::Waits) => waits = true,
                _ => {}
            }
        }
        Err(if waits { NoResult::Waits } else { NoResult::IsNot })
    }
}

impl OpenCall {
    /// Reads the body; returns the end of the call.
    fn end(&mut self, view: View<'_>, context: &Context<'_>) -> Verdict<usize> {
        let call = context.plan.roles.call(self.field).ok_or(NoResult::IsNot)?;
        let place = view.after_blanks(self.body);
        if place == view.end() && !view.is_whole() {
            return Err(NoResult::Waits);
        }
        if !call.can_begin_with(view.from(place)) {
            return Err(NoResult::IsNot);
        }
        let closer = context.plan.closer(self.field).ok_or(NoResult::IsNot)?;
        let is_own = |start, end| markers::is_own(context.plan, view.slice(start, end));
        let (body_end, end) = if let Some(body) = &mut self.grows {
            let body_end = body.end(view)?;
            match view.marker(closer, body_end) {
                Ok((start, end)) if is_own(start, end) => (start, end),
                _ if !call.has_own_closer => (body_end, body_end),
                Err(NoResult::Waits) => return Err(NoResult::Waits),
                _ if view.after_blanks(body_end) == view.end() && !view.is_whole() => return Err(NoResult::Waits),
                _ => return Err(NoResult::IsNot),
            }
        } else {
            match view.find(closer, &mut self.search, self.body) {
                SearchResult::Match { start, end } if is_own(start, end) => (start, end),
                SearchResult::Match { .. } => return Err(NoResult::IsNot),
                _ if view.is_whole() => return Err(NoResult::IsNot),
                _ => return Err(NoResult::Waits),
            }
        };
        let opener = context.plan.opener(self.field).ok_or(NoResult::IsNot)?;
        let mut captures = view.captures_at(opener, self.opener);
        if body_end < end {
            Capture::add_closing(&mut captures, &view.captures_at(closer, body_end));
        }
        let is_whole = is_complete(view.slice(self.body, body_end), &captures, call, context);
        if is_whole { Ok(end) } else { Err(NoResult::IsNot) }
    }
}

/// Whether a body has conforming calls of known tools.
fn is_complete(body: &str, captures: &[Capture], call: &CallField, context: &Context<'_>) -> bool {
    let Some(field) = context.template.fields().get(call.field) else { return false };
    let read = recovery::read(field, &call.form, body, captures, strict_request(context.tools));
    let is_harmless = |kind| matches!(kind, ProblemKind::DuplicateKey | ProblemKind::ArgumentAbsorbed);
    matches!(read.value, Ok(Some(_))) && read.deviations.iter().all(|found| is_harmless(found.kind))
}
