//! Takes from a conversation what its difference does not need.

use super::edits::{Step, edited, walk};
use crate::compare::Comparison;
use crate::kinds::{Conversation, is_well_formed, kind_of};
use backchat_core::json::Value;

/// Keys that every message, call and tool has.
const KEPT: [&str; 6] = ["messages", "role", "content", "function", "name", "arguments"];

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

fn differs(comparison: &mut Comparison<'_>, conversation: &Conversation, pieces: &[usize]) -> bool {
    let Some(outcomes) = comparison.outcomes(conversation) else { return false };
    let found = comparison.pieces_beyond(conversation, &outcomes);
    pieces.iter().all(|piece| found.contains(piece))
}

/// The conversations with one thing less: a variable, a message, an item, a key, then half of a long text.
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
