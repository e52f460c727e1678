//! What is read of the renders: the drafts of both templates, and how much of a cache an updated server still shares.

use super::{Change, Options, Touched};
use crate::compare::Comparison;
use crate::kinds::{Dim, Kind, conversation};
use crate::side::{Chat, Outcome};
use backchat_core::json::Value;
use backchat_derive::derive::{self, Pair, Status};

/// The drafts of both templates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drafts {
    /// The draft of each, if there is one.
    pub drafts: [Option<Value>; 2],
    /// Whether the old one reads the turns of the new chat template, and the other way round, if that was proved.
    pub reads_other: [Option<bool>; 2],
}

impl Drafts {
    /// Whether they are the same.
    pub fn is_same(&self) -> bool {
        let [old, new] = &self.drafts;
        old == new
    }
}

/// The drafts, if a change is in the turn or before it: no other change can affect them.
pub(super) fn drafts(chats: [&Chat; 2], changes: &[Change], options: &Options) -> Option<Drafts> {
    let concerns = |touched: &Touched| matches!(touched, Touched::Prompt | Touched::Turn | Touched::History);
    if !changes.iter().any(|change| change.touches.iter().any(concerns)) {
        return None;
    }
    let given = |chat: &Chat| {
        let tokens = chat.variables.values().filter_map(Value::as_str).map(str::to_owned).collect();
        let options =
            derive::Options::default().variables(chat.variables.clone()).now(Some(options.clock().to_owned()));
        options.special_tokens(tokens).leave_policies(true)
    };
    let Pair { drafts, on_other, .. } =
        Pair::derive(chats.map(|chat| chat.template.as_str()), [&given(chats[0]), &given(chats[1])]);
    let reads_other = on_other.map(|status| status.map(|status| status == Status::Proved));
    // What ended early says nothing about the drafts.
    backchat_chat::ended().is_none().then_some(Drafts { drafts, reads_other })
}

/// How many bytes of a prompt whose history has an answer both renders begin with, if they differ.
pub(super) fn shared_bytes(comparison: &Comparison<'_>) -> Option<usize> {
    let kind = Kind::of(&[Dim::LaterUser, Dim::Prompt]).closed();
    let outcomes = comparison.outcomes(&conversation(kind, &comparison.universe))?;
    let [Outcome::Text { text: old, .. }, Outcome::Text { text: new, .. }] = &outcomes else { return None };
    let shared = old.bytes().zip(new.bytes()).take_while(|(one, other)| one == other).count();
    (old != new).then_some(shared)
}
