//! The problems of a stretch of text in the implicit field: markers that close nothing, and calls without an opener.

use super::Context;
use super::bare_call::{BareCall, FoundCall, has_bare_calls};
use super::markers::{is_distinctive, is_in_prose, trimmed};
use super::view::View;
use crate::parser::span::Span;
use crate::pattern::Pattern;

/// How many beginnings of calls are tried in a stretch.
pub(in crate::parser) const STARTS: usize = 16;

/// A stretch that has ended.
#[derive(Clone, Copy, Debug)]
pub(in crate::parser) struct Stretch {
    pub body: Span,
    /// The delimiter that ended it.
    pub closer: Span,
    /// Whether the body may have a closer of an explicit field.
    pub may_close: bool,
    /// Whether an opener in it was read as text: then closers of calls in it are text as well.
    pub has_false_opener: bool,
}

/// A marker that closes nothing.
#[derive(Clone, Copy, Debug)]
pub(in crate::parser) struct Stray {
    pub field: usize,
    pub span: Span,
    /// Whether it closes calls rather than the reasoning.
    pub closes_calls: bool,
    /// Whether the delimiter that ended the stretch consumed it.
    pub is_consumed: bool,
    /// Whether only blanks and closers come after it in the stretch.
    pub is_last: bool,
}

impl Stretch {
    /// Examines the whole stretch: the call without opener and where it begins, and the first stray marker of each
    /// field.
    pub fn look(self, view: View<'_>, context: &Context<'_>) -> (Option<(usize, FoundCall)>, Vec<Stray>) {
        let view = view.up_to(self.closer.end);
        let bare = self.bare_call(view, context);
        let may_close = self.may_close || context.plan.may_close(view.slice(self.closer.start, self.closer.end));
        let mut strays = Vec::new();
        let calls = context.plan.roles.calls.iter().map(|call| (call.field, true));
        for (field, closes_calls) in calls.chain(context.plan.roles.reasoning.map(|field| (field, false))) {
            let is_excused = closes_calls && (self.has_false_opener || bare.is_some());
            if may_close && !is_excused {
                strays.extend(self.stray(view, context, field, closes_calls));
            }
        }
        (bare, strays)
    }

    fn stray(self, view: View<'_>, context: &Context<'_>, field: usize, closes_calls: bool) -> Option<Stray> {
        let pattern = context.plan.closer(field)?;
        let text = view.slice(self.body.start, self.body.end);
        let stray = |start, marker, is_consumed, is_last| Stray {
            field,
            span: trimmed(start, marker),
            closes_calls,
            is_consumed,
            is_last,
        };
        for found in pattern.matches(text).take_while(Result::is_ok).filter_map(Result::ok) {
            let (start, end) = found.span();
            // A closer may include the blanks before it.
            let before = text.get(..trimmed(start, found.text()).start).unwrap_or_default();
            let has_text = closes_calls || !before.trim().is_empty();
            if is_distinctive(context.plan, found.text()) && has_text && !is_in_prose(before, closes_calls) {
                let after = text.get(end..).unwrap_or_default();
                let is_last = only_closers(after, pattern);
                return Some(stray(self.body.start + start, found.text(), false, is_last));
            }
        }
        let consumed = view.slice(self.closer.start, self.closer.end);
        let found = pattern.find_at(consumed, 0).ok()??;
        let is_stray = is_distinctive(context.plan, found.text()) && !text.trim().is_empty();
        is_stray.then(|| stray(self.closer.start + found.span().0, found.text(), true, true))
    }

    fn bare_call(self, view: View<'_>, context: &Context<'_>) -> Option<(usize, FoundCall)> {
        if context.tools.is_none() || !context.plan.roles.calls.iter().any(has_bare_calls) {
            return None;
        }
        let text = view.slice(self.body.start, self.body.end);
        starts(text, 0).take(STARTS).find_map(|start| {
            let is_first = text.get(..start).is_some_and(|before| before.trim().is_empty());
            let start = self.body.start + start;
            Some((start, BareCall::new(&context.plan.roles, start).look(view, context, is_first).ok()?))
        })
    }
}

/// The places from which a call could begin: brackets at the start of a line.
pub(in crate::parser) fn starts(text: &str, from: usize) -> impl Iterator<Item = usize> {
    let bytes = text.as_bytes();
    let is_start = move |place: &usize| *place == 0 || bytes.get(*place - 1) == Some(&b'\n');
    let found = memchr::memchr2_iter(b'{', b'[', bytes.get(from..).unwrap_or_default());
    found.map(move |place| from + place).filter(is_start)
}

fn only_closers(text: &str, closer: &Pattern) -> bool {
    let mut at = 0;
    for found in closer.matches(text).filter_map(Result::ok) {
        if !text.get(at..found.span().0).is_some_and(|between| between.trim().is_empty()) {
            return false;
        }
        at = found.span().1;
    }
    text.get(at..).is_some_and(|rest| rest.trim().is_empty())
}
