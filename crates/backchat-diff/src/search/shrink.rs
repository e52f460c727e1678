//! Takes from a conversation what its difference does not need.

use super::edits::{Step, edited, texts, walk, with_value};
use crate::compare::Comparison;
use crate::kinds::{Conversation, is_well_formed, kind_of};
use backchat_core::json::Value;

/// Keys that every message, call and tool has.
const KEPT: [&str; 6] = ["messages", "role", "content", "function", "name", "arguments"];

/// Texts of fewer bytes are not shortened.
const LONG: usize = 24;

/// The smallest conversation that differs in all of these pieces.
pub(super) fn shrunk(comparison: &mut Comparison<'_>, conversation: Conversation, pieces: &[usize]) -> Conversation {
    let mut smallest = conversation;
    let mut kind = kind_of(&smallest, &mut comparison.universe);
    'smaller: loop {
        for made in smaller(&smallest) {
            let own = kind_of(&made, &mut comparison.universe);
            // What is taken away must not make it special in another way.
            let is_simpler = is_well_formed(&made) && own.is_within(kind);
            if backchat_chat::ended().is_none() && is_simpler && differs(comparison, &made, pieces) {
                (smallest, kind) = (made, own);
                continue 'smaller;
            }
        }
        return smallest;
    }
}

/// The conversation with less of its long texts, as long as it differs.
pub(super) fn shortened(conversation: Conversation, mut differs: impl FnMut(&Conversation) -> bool) -> Conversation {
    let mut shortest = conversation;
    while let Some(made) = shorter(&shortest).into_iter().find(|made| backchat_chat::ended().is_none() && differs(made))
    {
        shortest = made;
    }
    shortest
}

/// The conversations with a half or three quarters of the words of a long text.
fn shorter(conversation: &Conversation) -> Vec<Conversation> {
    let mut found = Vec::new();
    for (path, text) in texts(conversation) {
        let words: Vec<&str> = text.split_inclusive(' ').collect();
        if text.len() < LONG || words.len() < 2 {
            continue;
        }
        let quarter = words.len().div_ceil(4);
        let halves = [0..2 * quarter, 2 * quarter..words.len()];
        let quarters = (0..4).map(|at| at * quarter..(at + 1) * quarter);
        for gone in halves.into_iter().chain(quarters) {
            let kept = words.iter().enumerate().filter(|(at, _)| !gone.contains(at));
            let kept: String = kept.map(|(_, word)| *word).collect();
            if kept.len() < text.len() {
                found.extend(with_value(conversation, &path, kept.into()));
            }
        }
    }
    found
}

fn differs(comparison: &mut Comparison<'_>, conversation: &Conversation, pieces: &[usize]) -> bool {
    let Some(outcomes) = comparison.outcomes(conversation) else { return false };
    let found = comparison.pieces_beyond(conversation, &outcomes);
    pieces.iter().all(|piece| found.contains(piece))
}

/// The conversations with one thing less: a variable, a message, an item, a key.
fn smaller(conversation: &Conversation) -> Vec<Conversation> {
    let mut found = Vec::new();
    if conversation.now.is_some() {
        found.push(Conversation { now: None, ..conversation.clone() });
    }
    let context = Value::Object(conversation.context.clone());
    let (mut items, mut keys) = (Vec::new(), Vec::new());
    walk(&context, &mut Vec::new(), &mut |path, value| match (path.last(), value) {
        (Some(Step::Index(_)), _) => items.push(path.clone()),
        (Some(Step::Key(key)), _) if !KEPT.contains(&key.as_str()) || path.iter().any(is_arguments) => {
            // The values of variables are as the template reads them.
            let is_inside_variable = path.len() > 1
                && !matches!(path.first(), Some(Step::Key(name)) if ["messages", "tools", "documents"].contains(&name.as_str()));
            if !is_inside_variable {
                keys.push(path.clone());
            }
        }
        _ => {}
    });
    // The last ones first: the ends of lists are the least special.
    for path in items.iter().rev().chain(keys.iter()) {
        found.extend(without(conversation, path));
    }
    found
}

fn is_arguments(step: &Step) -> bool {
    matches!(step, Step::Key(key) if key == "arguments")
}

fn without(conversation: &Conversation, path: &[Step]) -> Option<Conversation> {
    let (last, parent) = path.split_last()?;
    edited(conversation, |context| {
        match (super::edits::at_mut(context, parent)?, last) {
            (Value::List(items), Step::Index(at)) if *at < items.len() => {
                items.remove(*at);
            }
            (Value::Object(entries), Step::Key(key)) => {
                entries.shift_remove(key)?;
            }
            _ => return None,
        }
        Some(())
    })
}
