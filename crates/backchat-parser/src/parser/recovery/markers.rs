//! Markers in text: which field they belong to, and whether the text only mentions them.

use super::view::{At, View};
use crate::parser::plan::Plan;
use crate::parser::signals::SHORTEST_MARK;
use crate::pattern::Pattern;

/// Whether a marker is mentioned: people write one after a blank, a quote or a bracket, and models after a word or a
/// line break.
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

/// Whether a field's closer is distinctive. The turn's mark is not, and neither is a bracket before it: ordinary text
/// has brackets, too.
pub(in crate::parser) fn is_distinctive(plan: &Plan, text: &str) -> bool {
    let own = plan.turn_marks.iter().find_map(|mark| text.trim().strip_suffix(mark.as_str())).unwrap_or(text);
    own.trim().chars().nth(SHORTEST_MARK - 1).is_some()
}

/// The pattern that closes a field.
pub(in crate::parser) fn closer(plan: &Plan, field: usize) -> Option<&Pattern> {
    let closes = plan.delimiters.iter().find(|delimiter| delimiter.closes && delimiter.field == field);
    closes.map(|delimiter| &delimiter.pattern)
}

/// The pattern that opens a field.
pub(in crate::parser) fn opener(plan: &Plan, field: usize) -> Option<&Pattern> {
    let opens = plan.delimiters.iter().find(|delimiter| !delimiter.closes && delimiter.field == field);
    opens.map(|delimiter| &delimiter.pattern)
}

/// What follows a position up to the end of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::parser) enum Tail {
    /// Nothing but blanks and closers come before it.
    Ends,
    /// So far.
    Waits,
    /// Other text follows.
    GoesOn,
}

/// Skips blanks and closers, advancing the position; with `calls` also the closers of calls.
pub(in crate::parser) fn follow_tail(plan: &Plan, view: View<'_>, place: &mut usize, calls: bool) -> Tail {
    let implicit = plan.implicit.and_then(|field| closer(plan, field));
    // A turn mark is an alternative of every close.
    let any = || plan.delimiters.iter().find(|delimiter| delimiter.closes).map(|delimiter| &delimiter.pattern);
    let of_calls = || plan.roles.calls.iter().filter_map(|call| closer(plan, call.field)).filter(|_| calls);
    'tail: loop {
        let next = view.after_blanks(*place);
        if next == view.end() {
            *place = next;
            return if view.is_whole() { Tail::Ends } else { Tail::Waits };
        }
        let mut waits = false;
        for (pattern, turn_only) in implicit
            .map(|pattern| (pattern, false))
            .into_iter()
            .chain(of_calls().map(|pattern| (pattern, false)))
            .chain(any().map(|pattern| (pattern, true)))
        {
            match view.marker(pattern, *place) {
                At::Match { start, end } if !(turn_only && is_own(plan, view.slice(start, end))) => {
                    *place = end;
                    continue 'tail;
                }
                At::Waits => waits = true,
                _ => {}
            }
        }
        return if waits { Tail::Waits } else { Tail::GoesOn };
    }
}
