//! Markers in text: whether they belong to a field, and whether the text only mentions them.

use super::view::View;
use super::{NoResult, Verdict};
use crate::parser::plan::Plan;
use crate::parser::signals::SHORTEST_MARK;
use crate::parser::span::Span;

/// Whether the text only mentions a marker: prose has one after a blank, a quote or a bracket; a model writes one after
/// a word or a line break.
pub(in crate::parser) fn is_in_prose(before: &str, closes_calls: bool) -> bool {
    let follows_quote = before.ends_with([' ', '\t', '`', '"', '\'', '(', '[', '{', '“', '‘', '«']);
    let line = before.rsplit('\n').next().unwrap_or(before).trim_end();
    follows_quote && !(closes_calls && line.ends_with(['}', ']']))
}

/// Whether a closer of a field is its own, and does not end the turn.
pub(in crate::parser) fn is_own(plan: &Plan, text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && !plan.turn_marks.iter().any(|mark| mark == text)
}

/// Whether a field's closer is distinctive. The turn marker is not, and neither is a bracket before it: ordinary text
/// has brackets, too.
pub(in crate::parser) fn is_distinctive(plan: &Plan, text: &str) -> bool {
    let own = plan.turn_marks.iter().find_map(|mark| text.trim().strip_suffix(mark.as_str())).unwrap_or(text);
    own.trim().chars().nth(SHORTEST_MARK - 1).is_some()
}

/// The span of a marker that begins at a place, without the blanks around it.
pub(in crate::parser) fn trimmed(start: usize, marker: &str) -> Span {
    let start = start + marker.len() - marker.trim_start().len();
    Span::new(start, start + marker.trim().len())
}

/// Whether only blanks and closers, with `calls` also the closers of calls, come before the end of the text. Advances
/// the position past them.
pub(in crate::parser) fn follow_tail(plan: &Plan, view: View<'_>, place: &mut usize, calls: bool) -> Verdict<()> {
    let implicit = plan.implicit.and_then(|field| plan.closer(field));
    // A turn marker is an alternative of every close.
    let any = || plan.delimiters.iter().find(|delimiter| delimiter.closes).map(|delimiter| &delimiter.pattern);
    let of_calls = || plan.roles.calls.iter().filter_map(|call| plan.closer(call.field)).filter(|_| calls);
    'tail: loop {
        let next = view.after_blanks(*place);
        if next == view.end() {
            *place = next;
            return if view.is_whole() { Ok(()) } else { Err(NoResult::Waits) };
        }
        let mut waits = false;
        for (pattern, turn_only) in implicit
            .map(|pattern| (pattern, false))
            .into_iter()
            .chain(of_calls().map(|pattern| (pattern, false)))
            .chain(any().map(|pattern| (pattern, true)))
        {
            match view.marker(pattern, *place) {
                Ok((start, end)) if !(turn_only && is_own(plan, view.slice(start, end))) => {
                    *place = end;
                    continue 'tail;
                }
                Err(NoResult::Waits) => waits = true,
                _ => {}
            }
        }
        return Err(if waits { NoResult::Waits } else { NoResult::IsNot });
    }
}
