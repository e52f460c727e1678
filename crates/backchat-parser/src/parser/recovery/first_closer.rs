//! A closer of the reasoning before any other marker: then the prompt opened the reasoning.

use super::gate::{Ahead, Gate};
use super::markers::{is_distinctive, is_in_prose, trimmed};
use super::view::View;
use super::{NoResult, Verdict};
use crate::parser::machine::Machine;
use crate::parser::plan::DelimiterPlan;
use crate::parser::span::Span;
use crate::pattern::{Pattern, SearchResult};

impl Machine {
    /// The closer of the reasoning that precedes every other marker, and the place after it.
    pub(super) fn first_closer(
        &self,
        gate: &mut Gate,
        field: usize,
        start: usize,
        ahead: Ahead,
    ) -> Verdict<(Span, usize)> {
        let (view, _) = self.buffer.view(ahead.ended).within_hold(start);
        let mut delimiters = self.plan.delimiters.iter().zip(&mut gate.searches);
        let closer = delimiters.find(|(delimiter, _)| delimiter.closes && delimiter.field == field);
        let Some((DelimiterPlan { pattern, .. }, search)) = closer else { return Err(NoResult::IsNot) };
        let mut at = gate.from.max(start);
        loop {
            let (from, end) = match self.buffer.view(ahead.ended).find(pattern, search, at) {
                SearchResult::Match { start, end } if start < ahead.limit.min(view.end()) && start < end => {
                    (start, end)
                }
                SearchResult::Waits { start } if start < ahead.limit => {
                    gate.from = at;
                    return Err(NoResult::Waits);
                }
                _ => break,
            };
            let marker = view.slice(from, end.min(view.end()));
            let span = trimmed(from, marker);
            if is_distinctive(&self.plan, marker)
                && has_text(view, start, from)
                && !is_in_prose(view.slice(start, span.start), false)
            {
                return Ok((span, end));
            }
            at = end;
        }
        gate.from = at;
        self.closer_in_next(pattern, view, start, ahead).ok_or(NoResult::IsNot)
    }

    /// A closer that is part of the implicit field's closer, which counts anywhere.
    fn closer_in_next(&self, pattern: &Pattern, view: View<'_>, start: usize, ahead: Ahead) -> Option<(Span, usize)> {
        let next = ahead.next.filter(|next| next.start < view.end() && has_text(view, start, next.start))?;
        let delimiter = self.plan.delimiters.get(next.delimiter)?;
        let is_implicit = delimiter.closes && self.plan.implicit == Some(delimiter.field);
        let found = pattern.find_at(self.buffer.slice(next.start, next.end), 0).ok()?.filter(|_| is_implicit)?;
        is_distinctive(&self.plan, found.text()).then(|| (trimmed(next.start + found.span().0, found.text()), next.end))
    }
}

/// Whether there is more than white space between two places.
fn has_text(view: View<'_>, start: usize, end: usize) -> bool {
    !view.slice(start, end).trim().is_empty()
}
