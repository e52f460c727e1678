//! `call-in-reasoning`: a run of complete calls in the reasoning, and whether it reaches its end.

use super::bare_call::strict_request;
use super::context::{Context, Verdict};
use super::markers::{self, Tail, follow_tail};
use super::view::{At, View};
use crate::content::Capture;
use crate::content::recovery::{self, JsonPrefix, ProblemKind, Progress};
use crate::parser::roles::CallField;
use crate::pattern::{Search, SearchResult};

/// Calls that come one after another.
#[derive(Clone, Debug)]
pub(in crate::parser) struct CallRun {
    pub start: usize,
    at: usize,
    phase: Phase,
    /// Where the last complete call ends, and its first field.
    pub complete: Option<(usize, usize)>,
    /// The end of the run, once the reasoning's own closer came after it.
    closed: Option<usize>,
}

#[derive(Clone, Debug)]
enum Phase {
    Between,
    Body {
        field: usize,
        /// Where the opener before it begins.
        opener: usize,
        from: usize,
        json: JsonPrefix,
        /// Where its JSON ends, once that is known.
        json_end: Option<usize>,
        search: Box<Search>,
    },
}

/// A run of calls that reaches the end of the reasoning.
#[derive(Clone, Copy, Debug)]
pub(in crate::parser) struct Run {
    pub field: usize,
    /// Where the last call ends, and the run with the blanks and wrappers after it.
    pub calls_end: usize,
    pub end: usize,
    /// Where normal parsing continues.
    pub after: usize,
    /// Whether the reasoning's own closer came.
    pub is_closed: bool,
}

impl CallRun {
    pub fn new(start: usize) -> Self {
        Self { start, at: start, phase: Phase::Between, complete: None, closed: None }
    }

    /// Reads on.
    pub fn look(&mut self, view: View<'_>, context: &Context<'_>) -> Verdict<Run> {
        loop {
            if let Some(end) = self.closed {
                return match follow_tail(context.plan, view, &mut self.at, false) {
                    Tail::Ends => self.run(end, view.end(), true),
                    Tail::Waits => Verdict::Waits,
                    Tail::GoesOn => Verdict::IsNot,
                };
            }
            match self.step(view, context) {
                Verdict::Is(Some(run)) => return Verdict::Is(run),
                Verdict::Is(None) => {}
                Verdict::Waits => return Verdict::Waits,
                Verdict::IsNot => return Verdict::IsNot,
            }
        }
    }

    fn run(&self, end: usize, after: usize, is_closed: bool) -> Verdict<Run> {
        match self.complete {
            Some((calls_end, field)) => Verdict::Is(Run { field, calls_end, end, after, is_closed }),
            None => Verdict::IsNot,
        }
    }

    fn step(&mut self, view: View<'_>, context: &Context<'_>) -> Verdict<Option<Run>> {
        if let Phase::Body { field, .. } = self.phase {
            let Some(call) = context.plan.roles.call(field) else { return Verdict::IsNot };
            return match self.read_body(view, context, call) {
                Verdict::Is(end) => {
                    self.phase = Phase::Between;
                    self.at = end;
                    let first = self.complete.map_or(field, |(_, first)| first);
                    self.complete = Some((end, first));
                    Verdict::Is(None)
                }
                Verdict::Waits => Verdict::Waits,
                Verdict::IsNot => Verdict::IsNot,
            };
        }
        let place = view.after_blanks(self.at);
        if place == view.end() {
            return match view.is_whole() {
                true => wrapped(self.run(place, place, false)),
                false => Verdict::Waits,
            };
        }
        let mut waits = false;
        if let Some(closer) = context.plan.roles.reasoning.and_then(|field| markers::closer(context.plan, field)) {
            match view.marker(closer, self.at) {
                At::Match { start, end } if markers::is_own(context.plan, view.slice(start, end)) => {
                    let has_calls = self.complete.is_some();
                    (self.closed, self.at) = (Some(view.after_blanks(start)), end);
                    return if has_calls { Verdict::Is(None) } else { Verdict::IsNot };
                }
                At::Match { .. } => return wrapped(self.run(place, place, false)),
                At::Waits => waits = true,
                At::No => {}
            }
        }
        for call in &context.plan.roles.calls {
            let opener = markers::opener(context.plan, call.field);
            match opener.map(|opener| view.marker(opener, self.at)) {
                Some(At::Match { start, end }) => {
                    let (json, search) = (JsonPrefix::default(), Box::default());
                    self.phase =
                        Phase::Body { field: call.field, opener: start, from: end, json, json_end: None, search };
                    self.at = end;
                    return Verdict::Is(None);
                }
                Some(At::Waits) => waits = true,
                _ => {}
            }
        }
        if let Some(closer) = context.plan.implicit.and_then(|field| markers::closer(context.plan, field)) {
            match view.marker(closer, self.at) {
                At::Match { end, .. } if self.complete.is_some() => {
                    self.at = end;
                    return Verdict::Is(None);
                }
                At::Waits => waits = true,
                _ => {}
            }
        }
        if waits { Verdict::Waits } else { Verdict::IsNot }
    }

    /// Reads the body of a call; returns where the call ends.
    fn read_body(&mut self, view: View<'_>, context: &Context<'_>, call: &CallField) -> Verdict<usize> {
        let Phase::Body { json, json_end, search, from, opener, .. } = &mut self.phase else { return Verdict::IsNot };
        let place = view.after_blanks(*from);
        if place == view.end() && !view.is_whole() {
            return Verdict::Waits;
        }
        if !call.can_begin_with(view.from(place)) {
            return Verdict::IsNot;
        }
        let Some(closer) = markers::closer(context.plan, call.field) else { return Verdict::IsNot };
        let (body_end, end) = if call.is_json {
            let body_end = match *json_end {
                Some(end) => end,
                None => {
                    let (progress, taken) = json.read(view.from(self.at).as_bytes());
                    self.at += taken;
                    match progress {
                        Progress::Complete => *json_end.insert(self.at),
                        Progress::Begun if !view.is_whole() => return Verdict::Waits,
                        _ => return Verdict::IsNot,
                    }
                }
            };
            match view.marker(closer, body_end) {
                At::Match { start, end } if markers::is_own(context.plan, view.slice(start, end)) => (start, end),
                _ if !call.has_own_closer => (body_end, body_end),
                At::Waits => return Verdict::Waits,
                _ if view.after_blanks(body_end) == view.end() && !view.is_whole() => return Verdict::Waits,
                _ => return Verdict::IsNot,
            }
        } else {
            match view.find(closer, search, *from) {
                SearchResult::Match { start, end } if markers::is_own(context.plan, view.slice(start, end)) => {
                    (start, end)
                }
                SearchResult::Match { .. } => return Verdict::IsNot,
                _ if view.is_whole() => return Verdict::IsNot,
                _ => return Verdict::Waits,
            }
        };
        let opening = view.slice(*opener, *from);
        let is_whole = is_complete(opening, view.slice(*from, body_end), call, context);
        if is_whole { Verdict::Is(end) } else { Verdict::IsNot }
    }
}

fn wrapped(run: Verdict<Run>) -> Verdict<Option<Run>> {
    match run {
        Verdict::Is(run) => Verdict::Is(Some(run)),
        Verdict::Waits => Verdict::Waits,
        Verdict::IsNot => Verdict::IsNot,
    }
}

/// Whether a body has conforming calls of known tools.
fn is_complete(opening: &str, body: &str, call: &CallField, context: &Context<'_>) -> bool {
    let Some(field) = context.template.fields().get(call.field) else { return false };
    let Some(opener) = markers::opener(context.plan, call.field) else { return false };
    // The captures of the last opener, which is the one before the body.
    let captures = opener.matches(opening).filter_map(Result::ok).last();
    let captures: Vec<_> = opener
        .named_groups()
        .iter()
        .filter_map(|(name, _)| {
            let text = captures.as_ref()?.name(name)?.to_owned();
            Some(Capture { name: name.clone(), text })
        })
        .collect();
    let read = recovery::read(field, &call.form, body, &captures, strict_request(context.tools));
    let is_harmless = |kind| matches!(kind, ProblemKind::DuplicateKey | ProblemKind::ArgumentAbsorbed);
    matches!(read.value, Ok(Some(_))) && read.deviations.iter().all(|found| is_harmless(found.kind))
}
