//! Where a call ends: at its own mark, and where a model leaves that out.

use super::calls::{delimiter, next_call, object_start};
use super::{any_of, one_or_many};
use crate::derive::calls::{Beside, Calls, Layout};
use crate::derive::findings::Findings;
use crate::derive::marks::{self, escape, flexible};
use crate::derive::probe::needle;
use crate::json::Object;

/// Writes the call's close, or where calls have none, whatever ends the turn.
pub(super) fn close(field: &mut Object, calls: &Calls, findings: &Findings, next: Option<String>) {
    let own = calls.close.trim();
    if own.is_empty() {
        return close_with_turn(field, calls, findings, next);
    }
    // A close that says the name again takes any.
    let pattern = own_mark(calls, own).replace(needle::NAMES[0], "[\\w.-]+");
    let pattern = if marks::is_distinct(own) {
        let ends: Vec<String> = [pattern].into_iter().chain(other_ends(calls, findings, own)).collect();
        format!("{}\\s*", any_of(ends))
    } else {
        // A sign of JSON or code closes only where a call can end.
        let ends = followers(calls, findings);
        let guard = if ends.is_empty() { String::new() } else { format!("(?:(?={})|$)", ends.join("|")) };
        format!("{pattern}\\s*{guard}")
    };
    delimiter(field, "close", None, pattern);
}

/// Closes at the next call, the end of them all or the end of the turn.
fn close_with_turn(field: &mut Object, calls: &Calls, findings: &Findings, next: Option<String>) {
    let tail = marks::split(&calls.section_close);
    let mut ends: Vec<&str> = findings.stops.iter().map(String::as_str).collect();
    ends.extend(tail.iter().filter(|mark| !findings.stops.iter().any(|stop| stop == *mark)));
    match next {
        Some(next) => {
            let mut patterns = vec![format!("(?={next})")];
            patterns.extend(ends.iter().map(|end| escape(end)));
            field.insert("close_pattern".to_owned(), patterns.join("|").into());
        }
        None if ends.is_empty() => {}
        None => {
            field.insert("close".to_owned(), one_or_many(ends.into_iter().map(str::to_owned).collect()));
        }
    }
}

/// The marks that close a call. Outer ones may stand once behind several calls, and a fence in front of a mark that says
/// all by itself may be left out.
fn own_mark(calls: &Calls, own: &str) -> String {
    let marks = marks::split(own);
    if let ([inner, outer @ ..], Layout::Marked { .. }) = (marks.as_slice(), &calls.layout)
        && !outer.is_empty()
        && calls.parallel
        && let Some(next) = marks::split(&calls.open).last().filter(|mark| marks::is_distinct(mark))
    {
        let outer: Vec<String> = outer.iter().map(|mark| escape(mark)).collect();
        // The next call may begin with its outer mark or without it.
        let mut nexts = vec![escape(next)];
        nexts.extend(marks::split(&calls.open).first().filter(|first| *first != next).map(|first| escape(first)));
        return format!("{}\\s*(?:{}|(?={}))", escape(inner), outer.join("\\s*"), nexts.join("|"));
    }
    let parts = own.char_indices().skip(1).map(|(at, _)| own.split_at(at));
    let fenced = parts.into_iter().find(|(_, mark)| mark.starts_with(marks::opens) && marks::is_sign(mark));
    match fenced.filter(|(weak, _)| !weak.trim().is_empty() && !marks::is_distinct(weak)) {
        Some((weak, mark)) => format!("(?:{}\\s*)?{}", flexible(weak.trim()), escape(mark)),
        None => flexible(own),
    }
}

/// The marks that end a call whose own close is missing: a model that stops there has made the call all the same. A
/// stop that looks like a closing tag may stand in a value and is none of them.
fn other_ends(calls: &Calls, findings: &Findings, own: &str) -> Vec<String> {
    let section = marks::groups(&calls.section_close).into_iter().filter(|mark| marks::is_sign(mark));
    let mut ends: Vec<String> = Vec::new();
    for end in section.chain(findings.sure_stops()).filter(|mark| !own.contains(mark)).map(escape) {
        if !ends.contains(&end) {
            ends.push(end);
        }
    }
    ends
}

/// What can follow a call: the next one, the end of them all, the end of the turn; nothing where content can.
fn followers(calls: &Calls, findings: &Findings) -> Vec<String> {
    if calls.content == Beside::After {
        return Vec::new();
    }
    let next = match &calls.layout {
        _ if !calls.parallel => None,
        Layout::Array(_) | Layout::Keyed => None,
        _ if !calls.open.trim().is_empty() => Some(flexible(calls.open.trim())),
        Layout::Marked { .. } => Some(next_call(calls, findings)),
        Layout::Object(paths) => Some(object_start(paths)),
    };
    let separator = flexible(calls.separator.trim());
    let next = next.filter(|next| !next.is_empty()).map(|next| format!("{separator}{next}"));
    let end = marks::groups(&calls.section_close).first().map(|mark| flexible(mark));
    next.into_iter().chain(end).chain(findings.stops.iter().map(|stop| escape(stop))).collect()
}
