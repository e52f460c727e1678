//! Where a decision may be due: the first position in the text before a limit that a policy has to examine.

use super::bare_call::{BareCall, has_bare_calls};
use super::call_run::CallRun;
use super::gate::{Flow, Gate};
use super::markers::{is_distinctive, is_in_prose, trimmed};
use super::stretch::{STARTS, starts};
use super::trial::Trial;
use super::view::View;
use crate::content::recovery::RecoveryPolicy;
use crate::parser::machine::Machine;
use crate::pattern::SearchResult;

/// How many runs of calls are tried in a reasoning.
const RUNS: usize = 64;

/// The text that is searched.
#[derive(Clone, Copy)]
struct Window<'t> {
    view: View<'t>,
    /// The start of the open text, which decides what a marker in it is.
    stretch: usize,
    from: usize,
    limit: usize,
}

/// The first position that needs a decision, and the first at which one may begin that more text decides.
#[derive(Default)]
struct Candidates {
    first: Option<(usize, Trial)>,
    waits: Option<usize>,
}

impl Candidates {
    fn offer(&mut self, start: usize, trial: Trial) {
        if self.first.as_ref().is_none_or(|(before, _)| start < *before) {
            self.first = Some((start, trial));
        }
    }

    fn wait(&mut self, start: usize) {
        self.waits = Some(self.waits.unwrap_or(start).min(start));
    }

    /// Makes the first candidate the gate's trial, unless an earlier one waits for more text.
    fn choose(self, gate: &mut Gate, ended: bool) -> Option<(usize, Flow)> {
        let waits = self.waits.filter(|_| !ended);
        match self.first.filter(|(start, _)| waits.is_none_or(|waits| *start < waits)) {
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
}

impl Machine {
    /// The first position before a limit that needs a decision, which becomes the gate's trial, or at which one may
    /// begin that more text decides.
    pub(super) fn candidate(&self, gate: &mut Gate, limit: usize, ended: bool) -> Option<(usize, Flow)> {
        let field = self.region.as_ref().map(|region| region.field);
        let shown = self.region.as_ref().map_or(self.position, |region| region.body);
        let window = Window {
            view: self.buffer.view(ended),
            stretch: gate.begun(self.region.as_ref()),
            from: gate.from.max(shown).max(self.from.min(limit)),
            limit,
        };
        let mut found = Candidates::default();
        if field.is_some() && field == self.plan.roles.reasoning {
            self.find_calls_in_reasoning(gate, window, &mut found);
        } else if field == self.plan.implicit || field.is_none() && self.plan.implicit.is_some() {
            self.find_bare_call(gate, window, &mut found);
            self.find_stray_closers(gate, window, &mut found);
        }
        found.choose(gate, ended)
    }

    /// Openers of calls inside the reasoning.
    fn find_calls_in_reasoning(&self, gate: &mut Gate, window: Window<'_>, found: &mut Candidates) {
        let Window { view, from, limit, .. } = window;
        if !self.asks(RecoveryPolicy::CallsInReasoning) || gate.runs >= RUNS || self.has_calls() {
            return;
        }
        for (delimiter, search) in self.plan.delimiters.iter().zip(&mut gate.searches) {
            if delimiter.closes || self.plan.roles.call(delimiter.field).is_none() {
                continue;
            }
            match view.find(&delimiter.pattern, search, from) {
                SearchResult::Match { start, end } if start < limit && end > start => {
                    found.offer(start, Trial::Calls(CallRun::new(start)));
                }
                SearchResult::Waits { start } if start < limit => found.wait(start),
                _ => {}
            }
        }
    }

    /// JSON at the start of a line.
    fn find_bare_call(&self, gate: &Gate, window: Window<'_>, found: &mut Candidates) {
        let Window { view, stretch, from, limit } = window;
        let has_tools = self.tools.as_ref().is_some_and(|tools| !tools.is_empty());
        let is_asked = self.asks(RecoveryPolicy::MissingCallOpener) && has_tools && gate.starts < STARTS;
        if is_asked && self.plan.roles.calls.iter().any(has_bare_calls) {
            // The byte before decides whether a line begins.
            let text = view.slice(stretch, limit);
            if let Some(start) = starts(text, from - stretch).next() {
                found.offer(stretch + start, Trial::BareCall(BareCall::new(&self.plan.roles, stretch + start)));
            }
        }
    }

    /// Closers of calls where none is open.
    fn find_stray_closers(&self, gate: &mut Gate, window: Window<'_>, found: &mut Candidates) {
        let Window { view, stretch, from, limit } = window;
        if !self.asks(RecoveryPolicy::StrayClosers) || gate.has_stray || self.ledger.has_false_opener {
            return;
        }
        let searches = gate.searches.iter_mut().zip(&mut gate.passed);
        for (delimiter, (search, passed)) in self.plan.delimiters.iter().zip(searches) {
            if !delimiter.closes || self.plan.roles.call(delimiter.field).is_none() {
                continue;
            }
            loop {
                match view.find(&delimiter.pattern, search, from.max(*passed)) {
                    SearchResult::Match { start, end } if start < limit && end > start => {
                        let marker = view.slice(start, end);
                        // A closer may include the blanks before it.
                        let own = trimmed(start, marker);
                        if !is_distinctive(&self.plan, marker) || is_in_prose(view.slice(stretch, own.start), true) {
                            *passed = end;
                            continue;
                        }
                        found.offer(own.start, Trial::Stray { field: delimiter.field, marker: own, at: own.end });
                    }
                    SearchResult::Waits { start } if start < limit => found.wait(start),
                    _ => {}
                }
                break;
            }
        }
    }
}
