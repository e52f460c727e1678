//! Special tokens that a model no longer sees as one token of the same id, though a text has not changed or hardly.

use std::ops::Range;

use super::{Change, FactChange};
use crate::pieces::tokens;
use crate::side::{Chat, Outcome};
use backchat_core::json::Value;
use backchat_core::push_new;

/// The special tokens that either chat template mentions whose ids differ, and the marks of changed texts that are no
/// single token in the place of one that was.
pub(super) fn changes(chats: [&Chat; 2], changes: &[Change]) -> Vec<FactChange> {
    let [old, new] = chats;
    if old.token_ids.is_empty() || new.token_ids.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (text, _) in
        old.token_ids.iter().chain(&new.token_ids).filter(|(text, _)| chats.iter().any(|chat| mentions(chat, text)))
    {
        let (one, other) = (id(old, text), id(new, text));
        if one != other {
            push_new(&mut found, FactChange { fact: text.clone(), old: one, new: other });
        }
    }
    for (was, is) in changes.iter().flat_map(replaced) {
        let (one, other) = (id(old, &was), id(new, &is));
        if !one.is_null() && other.is_null() {
            push_new(&mut found, FactChange { fact: is, old: one, new: other });
        }
    }
    found
}

fn mentions(chat: &Chat, text: &str) -> bool {
    chat.template.contains(text) || chat.variables.values().filter_map(Value::as_str).any(|value| value.contains(text))
}

fn id(chat: &Chat, text: &str) -> Value {
    chat.token_ids.iter().find(|(known, _)| known == text).map_or(Value::Null, |(_, id)| (*id).into())
}

/// The marks of the new text of a change that stand where the old text has others, pair by pair.
fn replaced(change: &Change) -> Vec<(String, String)> {
    let Some(case) = change.cases.first() else { return Vec::new() };
    let [Outcome::Text { text: old, .. }, Outcome::Text { text: new, .. }] = &case.outcomes else { return Vec::new() };
    let pairs = change.hunks.iter().flat_map(|hunk| {
        let (old, new) = (marks(old, &hunk.old), marks(new, &hunk.new));
        let is_pairwise = old.len() == new.len();
        old.into_iter().zip(new).filter(move |(old, new)| is_pairwise && old != new)
    });
    pairs.collect()
}

/// The marks that a range of a text touches.
fn marks(text: &str, range: &Range<usize>) -> Vec<String> {
    let mut at = 0;
    let mut found = Vec::new();
    for token in tokens(text) {
        let place = at..at + token.len();
        at = place.end;
        // A hunk leaves out what the two marks begin and end with.
        if token.len() > 2
            && token.starts_with('<')
            && place.start < range.end.max(range.start + 1)
            && range.start < place.end
        {
            found.push(token.to_owned());
        }
    }
    found
}
