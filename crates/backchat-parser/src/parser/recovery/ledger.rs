//! The problems of a text: those that are certain, and those that the end of the text decides.

use super::call_run::CallRun;
use super::later_closer::LaterCloser;
use super::markers;
use super::stretch::{Stray, Stretch};
use super::view::View;
use super::{Context, NoResult};
use crate::content::recovery::{Policies, ProblemKind, RecoveryPolicy};
use crate::parser::event::EventRef;
use crate::parser::problem::Problem;
use crate::parser::span::Span;
use crate::pattern::{Search, SearchResult};

/// How many calls in the reasoning are examined.
const RUNS: usize = 64;

/// How many problems wait for the end of the text.
const LATE: usize = 64;

/// How many problems are listed.
const LISTED: usize = 256;

#[derive(Clone, Debug, Default)]
pub(in crate::parser) struct Ledger {
    pub policies: Policies,
    pub validate: bool,
    problems: Vec<Problem>,
    /// How many problems are not listed, and where the last of them ends.
    unlisted: usize,
    unlisted_end: usize,
    late: Vec<Late>,
    /// Whether an opener in the current stretch was read as text.
    pub has_false_opener: bool,
    /// Whether a policy has decided the end of the current stretch.
    pub is_decided: bool,
    /// How many regions with text have ended.
    regions: usize,
    pub has_malformed: bool,
}

/// A problem that the end of the text decides.
#[derive(Clone, Debug)]
enum Late {
    /// It is recoverable if nothing follows.
    Stray(Problem),
    /// It is a problem only if the message has nothing else.
    Bare(Problem),
    /// It is a problem if no other call follows, and recoverable if nothing follows a run that reaches the end.
    Reasoning {
        problem: Problem,
        run_end: Option<usize>,
        is_closed: bool,
        goes_on: bool,
        /// The problem that the reasoning is unclosed; not reported separately for calls that reach its end.
        unclosed: Option<Problem>,
    },
    /// It is recoverable if its body has ended at a later closer.
    InString { problem: Problem, later: LaterCloser, verdict: Option<bool> },
}

impl Ledger {
    pub fn new(policies: Policies, validate: bool) -> Self {
        Self { policies, validate, ..Self::default() }
    }

    /// Whether no region with text has ended.
    pub fn is_at_first(&self) -> bool {
        self.regions == 0
    }

    /// Records and reports a problem.
    pub fn report(&mut self, problem: Problem, sink: &mut dyn FnMut(EventRef<'_>)) {
        sink(EventRef::Problem(&problem));
        self.has_malformed |= problem.kind == ProblemKind::Malformed && !problem.is_recovered;
        if self.problems.len() < LISTED {
            self.problems.push(problem);
        } else {
            self.unlisted += 1;
            self.unlisted_end = self.unlisted_end.max(problem.span.end);
        }
    }

    fn defer(&mut self, late: Late) {
        if self.late.len() < LATE {
            self.late.push(late);
        }
    }

    /// A malformed region that stops inside a string waits for a closer at which it has ended.
    pub fn report_or_defer(
        &mut self,
        problem: Problem,
        later: Option<LaterCloser>,
        sink: &mut dyn FnMut(EventRef<'_>),
    ) {
        match later.filter(|_| self.late.len() < LATE) {
            Some(later) => {
                self.has_malformed = true;
                self.defer(Late::InString { problem, later, verdict: None });
            }
            None => self.report(problem, sink),
        }
    }

    /// A region with text follows: problems that count only at the end of the text are dropped.
    pub fn go_on(&mut self) {
        self.regions += 1;
        self.late.retain_mut(|late| match late {
            Late::Bare(_) => false,
            Late::Stray(problem) => {
                problem.policies = Policies::none();
                true
            }
            Late::Reasoning { goes_on, .. } => {
                *goes_on = true;
                true
            }
            Late::InString { .. } => true,
        });
    }

    /// Examines a stretch of the implicit field that ends.
    pub fn end_stretch(
        &mut self,
        stretch: Stretch,
        view: View<'_>,
        context: &Context<'_>,
        sink: &mut dyn FnMut(EventRef<'_>),
    ) {
        let is_first = self.regions == 0;
        let is_decided = std::mem::take(&mut self.is_decided);
        let stretch = Stretch { has_false_opener: std::mem::take(&mut self.has_false_opener), ..stretch };
        if !view.slice(stretch.body.start, stretch.body.end).trim().is_empty() {
            self.go_on();
        }
        if is_decided {
            return;
        }
        let (bare, strays) = stretch.look(view, context);
        if let Some((start, found)) = bare {
            let end = found.closer.map_or(found.end, |(closer, _)| closer);
            let problem = Problem::of(ProblemKind::BareCall, Span::new(start, end), context.plan.name(found.field));
            let problem = problem.read_by(RecoveryPolicy::MissingCallOpener, false);
            match found.closer {
                Some(_) => self.report(problem, sink),
                // All of the only content.
                None if is_first || self.regions == 1 => self.defer(Late::Bare(problem)),
                None => {}
            }
        }
        for Stray { field, span, closes_calls, is_consumed, is_last } in strays {
            let problem = Problem::of(ProblemKind::StrayMarker, span, context.plan.name(field));
            match closes_calls {
                true if is_last && !is_consumed && !ends_with_own(stretch, view, context) => {
                    self.defer(Late::Stray(problem.read_by(RecoveryPolicy::StrayClosers, false)));
                }
                true => self.report(problem, sink),
                false if is_first => self.report(problem.read_by(RecoveryPolicy::MissingReasoningOpener, false), sink),
                false => self.report(problem, sink),
            }
        }
    }

    /// Looks for calls in a reasoning that ends.
    pub fn end_reasoning(
        &mut self,
        body: Span,
        closer: Span,
        unclosed: &mut Option<Problem>,
        view: View<'_>,
        context: &Context<'_>,
    ) {
        let is_closed = markers::is_own(context.plan, view.slice(closer.start, closer.end));
        let is_excused = context.plan.roles.calls.is_empty() || is_closed && context.tools.is_none();
        // Only the rest justifies examining the whole text.
        if is_excused || !context.plan.may_open_calls(view.slice(body.start, body.end)) {
            return;
        }
        let inside = view.up_to(body.end);
        let (mut at, mut calls, mut run) = (body.start, None::<(usize, usize, usize)>, None);
        for _ in 0..RUNS {
            let openers = context.plan.roles.calls.iter().filter_map(|call| context.plan.opener(call.field));
            let starts = openers.filter_map(|opener| match inside.find(opener, &mut Search::default(), at) {
                SearchResult::Match { start, end } if end > start => Some((start, end)),
                _ => None,
            });
            let Some((start, end)) = starts.min() else { break };
            let mut reading = CallRun::new(start);
            if let Ok(found) = reading.look(inside, context) {
                run = Some((start, found.end));
            }
            at = end;
            if let Some((calls_end, field)) = reading.complete {
                let (first, _, field) = calls.unwrap_or((start, 0, field));
                calls = Some((first, calls_end, field));
                at = calls_end.max(end);
            }
        }
        let Some((first, calls_end, field)) = calls else { return };
        let of =
            |start, end| Problem::of(ProblemKind::CallInReasoning, Span::new(start, end), context.plan.name(field));
        let (problem, run_end) = match run {
            Some((start, end)) => (of(start, calls_end), Some(end)),
            None => (of(first, calls_end), None),
        };
        if self.late.len() < LATE && (is_closed || run_end.is_some()) {
            let unclosed = unclosed.take().filter(|_| !is_closed);
            self.late.push(Late::Reasoning { problem, run_end, is_closed, goes_on: false, unclosed });
        }
    }

    /// Continues bodies that stop inside strings. Returns the position from which text is still needed.
    pub fn look_ahead(&mut self, view: View<'_>, context: &Context<'_>) -> Option<usize> {
        let mut needed = None;
        for late in &mut self.late {
            let Late::InString { later, verdict: verdict @ None, .. } = late else { continue };
            let (held, is_cut) = view.within_hold(later.closer);
            match later.look(held, context) {
                Ok(_) => *verdict = Some(true),
                Err(NoResult::Waits) if !is_cut => needed = Some(needed.unwrap_or(later.closer).min(later.closer)),
                _ => *verdict = Some(false),
            }
        }
        needed
    }

    /// Whether bodies that stop inside strings are still read on.
    pub fn looks_ahead(&self) -> bool {
        self.late.iter().any(|late| matches!(late, Late::InString { verdict: None, .. }))
    }

    /// Decides the problems that waited for the end of the text, by whether the message has calls.
    pub fn settle(&mut self, has_calls: bool, sink: &mut dyn FnMut(EventRef<'_>)) {
        for late in std::mem::take(&mut self.late) {
            let problem = match late {
                Late::Stray(problem) => Some(problem),
                Late::Bare(problem) => Some(problem).filter(|_| !has_calls && !self.has_malformed),
                Late::Reasoning { problem, run_end, is_closed, goes_on, unclosed } => {
                    let reaches = run_end.filter(|_| !goes_on || !is_closed);
                    let is_one = !has_calls && (is_closed || reaches.is_some());
                    let span = Span::new(problem.span.start, reaches.unwrap_or(problem.span.end));
                    let problem = Problem { span, ..problem };
                    let problem = match reaches {
                        Some(_) => problem.read_by(RecoveryPolicy::CallsInReasoning, false),
                        None => problem,
                    };
                    if is_one { Some(problem) } else { unclosed }
                }
                Late::InString { problem, verdict, .. } => Some(match verdict {
                    Some(true) => problem.read_by(RecoveryPolicy::ClosersInStrings, false),
                    _ => problem,
                }),
            };
            if let Some(problem) = problem {
                self.report(problem, sink);
            }
        }
    }

    /// The problems in the order of the text.
    pub fn finish(mut self) -> Vec<Problem> {
        self.problems.sort_by_key(|problem| (problem.span.start, problem.span.end));
        if self.unlisted > 0 {
            let rest = Problem::new(ProblemKind::More, Span::new(self.unlisted_end, self.unlisted_end));
            self.problems.push(Problem { count: Some(self.unlisted), ..rest });
        }
        self.problems
    }
}

/// Whether the delimiter that ended a stretch is a closer of calls or of the reasoning.
fn ends_with_own(stretch: Stretch, view: View<'_>, context: &Context<'_>) -> bool {
    let closed_by = view.slice(stretch.closer.start, stretch.closer.end);
    let fields = context.plan.roles.calls.iter().map(|call| call.field).chain(context.plan.roles.reasoning);
    let closes = |field| {
        let found = context.plan.closer(field)?.find_at(closed_by, 0).ok()??;
        Some(markers::is_own(context.plan, found.text()))
    };
    fields.into_iter().any(|field| closes(field).unwrap_or(false))
}
