//! What is read of the renders: the drafts of both templates, and how much of a cache an updated server still shares.

use super::{Change, Options, Touched};
use crate::compare::Comparison;
use crate::kinds::{Dim, Kind, conversation};
use crate::side::{Chat, Outcome};
use backchat_core::json::Value;
use backchat_derive::derive::{self, Held, Pair, Status};
use backchat_parser::template::Template;

/// The response templates of both chat templates, and how each reads the renders of both.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drafts {
    /// Those that were given, or else the drafts.
    pub templates: [Option<Value>; 2],
    /// Whether one was given.
    pub are_given: bool,
    /// How each reads the renders of the old chat template, and those of the new one.
    pub reads: [[Option<Held>; 2]; 2],
}

impl Drafts {
    /// Whether they are the same.
    pub fn is_same(&self) -> bool {
        let [old, new] = &self.templates;
        old == new
    }

    /// Whether one reads the renders of its own chat template and not those of the other.
    pub fn loses(&self) -> bool {
        let [[old_on_old, old_on_new], [new_on_old, new_on_new]] = &self.reads;
        let is = |held: &Option<Held>, wanted| held.as_ref().is_some_and(|held| is_proved(held) == wanted);
        is(old_on_old, true) && is(old_on_new, false) || is(new_on_new, true) && is(new_on_old, false)
    }
}

/// Whether everything is read.
pub(crate) fn is_proved(held: &Held) -> bool {
    held.status == Status::Proved
}

/// The response templates, if a change is in the turn or before it: no other change can affect them.
pub(super) fn drafts(chats: [&Chat; 2], changes: &[Change], options: &Options) -> Option<Drafts> {
    let concerns = |touched: &Touched| matches!(touched, Touched::Prompt | Touched::Turn | Touched::History);
    if !changes.iter().any(|change| change.touches.iter().any(concerns)) {
        return None;
    }
    let used = chats.map(|chat| {
        let tokens = chat.variables.values().filter_map(Value::as_str).map(str::to_owned).collect();
        let used = derive::Options::default().variables(chat.variables.clone()).now(Some(options.clock().to_owned()));
        used.special_tokens(tokens).leave_policies(true)
    });
    let sources = chats.map(|chat| chat.template.as_str());
    let drafts = match chats.map(|chat| chat.response.as_ref()) {
        [None, None] => {
            let Pair { drafts, reads, .. } = Pair::derive(sources, [&used[0], &used[1]]);
            Drafts { templates: drafts, are_given: false, reads }
        }
        given => held(sources, given, &used),
    };
    // What ended early says nothing about the drafts.
    backchat_chat::ended().is_none().then_some(drafts)
}

/// How the response templates that were given read the renders of both; the draft stands in for one that was not.
fn held([old, new]: [&str; 2], given: [Option<&Template>; 2], [of_old, of_new]: &[derive::Options; 2]) -> Drafts {
    let template = |given: Option<&Template>, source: &str, options: &derive::Options| match given {
        Some(given) => Some(given.clone()),
        None => Some(Template::from_value(&derive::derive(source, options).response_template?).ok()?.template),
    };
    let [first, second] = given;
    let used = [template(first, old, of_old), template(second, new, of_new)];
    let templates = used.each_ref().map(|used| used.as_ref().map(Template::to_value));
    let is_same = templates[0] == templates[1];
    let reads = |template: &Option<Template>| {
        [(old, of_old), (new, of_new)].map(|(source, options)| {
            let template = template.as_ref()?;
            Some(Held::from(&derive::prove(source, template, options)))
        })
    };
    let [first, second] = &used;
    let first = reads(first);
    let second = if is_same { first.clone() } else { reads(second) };
    Drafts { templates, are_given: true, reads: [first, second] }
}

/// How many bytes of a prompt whose history has an answer both renders begin with, if they differ.
pub(super) fn shared_bytes(comparison: &Comparison<'_>) -> Option<usize> {
    let kind = Kind::of(&[Dim::LaterUser, Dim::Prompt]).closed();
    let outcomes = comparison.outcomes(&conversation(kind, &comparison.universe))?;
    let [Outcome::Text { text: old, .. }, Outcome::Text { text: new, .. }] = &outcomes else { return None };
    let shared = old.bytes().zip(new.bytes()).take_while(|(one, other)| one == other).count();
    (old != new).then_some(shared)
}
