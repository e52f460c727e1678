//! The end of a prompt, which determines the turns that can follow it.

use crate::markers::CALLS;
use crate::notes::{Effect, Note};
use backchat_core::text::{common_end, slice};
use backchat_derive::wire::written::{Group, Written};
use backchat_derive::wire::{Wire, steady_prompt, written_of};
use backchat_parser::parser::{Options, Parser, Pending};
use backchat_parser::template::Template;

use super::placeholders::with_placeholders;

/// What a request's prompt says about the turn after it.
pub(crate) struct Prompt {
    pub end: PromptEnd,
    /// The value that the prompt has for a missing variable.
    pub filled: Option<String>,
}

impl Prompt {
    /// The end of this prompt, with placeholders; of the simplest one if none is given.
    pub fn find(wire: &Wire, prompt: Option<&str>) -> Self {
        let written = written_of(wire);
        let Some(prompt) = prompt else { return Self { end: PromptEnd::find(written, None), filled: None } };
        let (prompt, filled) = with_placeholders(steady_prompt(wire, prompt), &written.groups);
        Self { end: PromptEnd::find(written, Some(&prompt)), filled }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PromptEnd {
    /// The group of turns that can follow: the simplest if no other matches, `None` if the renders show no turn.
    group: Option<usize>,
    /// The end of the prompt, after the text of the conversation.
    tail: String,
    /// A rendered prompt ends like it.
    is_known: bool,
    is_given: bool,
}

impl PromptEnd {
    /// The end of this prompt; of the simplest one if none is given.
    pub fn find(written: &Written, prompt: Option<&str>) -> Self {
        let found = prompt.and_then(|prompt| begun_by(&written.groups, prompt));
        let group = found.unwrap_or_default();
        let tail = written.groups.get(group).map(|group| match prompt {
            Some(prompt) => tail(prompt, group),
            None => group.prompt.clone(),
        });
        Self {
            group: tail.is_some().then_some(group),
            tail: tail.unwrap_or_default(),
            is_known: found.is_some(),
            is_given: prompt.is_some(),
        }
    }

    /// The group of turns that can follow, and the prompt's part of them.
    pub fn group<'w>(&'w self, written: &'w Written) -> Option<(&'w Group, &'w str)> {
        Some((written.groups.get(self.group?)?, self.tail.as_str()))
    }

    /// Whether the prompt ends inside a call, or inside what opens it.
    pub fn is_in_call(&self, template: &Template) -> bool {
        let Ok(parser) = Parser::new(template, &self.tail, Options::default()) else { return false };
        let held = parser.held();
        // White space before a call belongs to what opens it, but begins any other part as well.
        let is_begun = |pending: &Pending<'_>| !slice(held.text, pending.start - held.start..).trim().is_empty();
        let mut opening = held.pending.iter().filter(|pending| pending.field == CALLS && !pending.closes);
        parser.current_field() == Some(CALLS) || opening.any(is_begun)
    }

    /// A note if the prompt is not one of the renders.
    pub fn note(&self) -> Option<Note> {
        let message = match (self.is_known, self.is_given) {
            (true, _) => return None,
            (false, true) => {
                "this prompt ends differently from all prompts in the renders: it is read as if it were one of them"
            }
            (false, false) => "no prompt is given: the grammar begins after the plainest prompt",
        };
        Some(Note::new(Effect::Assumed, message))
    }
}

/// The group of turns whose prompt ends most like this one.
fn begun_by(groups: &[Group], prompt: &str) -> Option<usize> {
    let shared = |group: &Group| common_end(prompt, &group.prompt).len();
    let numbered = || groups.iter().enumerate();
    // Prompts whose whole end matches come first: an end may quote the conversation.
    let whole = numbered().filter(|(_, group)| shared(group) == group.prompt.len() && !group.prompt.is_empty());
    if let Some((best, _)) = whole.max_by_key(|(_, group)| group.prompt.len()) {
        return Some(best);
    }
    let best = numbered().map(|(place, group)| (shared(group), place)).max_by_key(|(length, _)| *length);
    let begun = numbered().filter_map(|(place, group)| {
        let header = group.header.trim_start();
        let at = prompt.rfind(header).filter(|_| !header.is_empty())?;
        Some((at + header.len(), group, place))
    });
    let begun = begun.max_by_key(|(at, group, _)| (*at, std::cmp::Reverse(group.prompt.len())));
    match (best, begun) {
        (Some((length, place)), begun) if length >= 4 && begun.is_none_or(|(at, ..)| at >= prompt.len()) => Some(place),
        (_, Some((.., place))) => Some(place),
        (Some((length, place)), None) if length > 0 => Some(place),
        _ => None,
    }
}

/// The end of a prompt, after the text of the conversation.
fn tail(prompt: &str, group: &Group) -> String {
    if prompt.ends_with(&group.prompt) {
        return group.prompt.clone();
    }
    let header = group.header.trim_start();
    match prompt.rfind(header).filter(|_| !header.is_empty()) {
        Some(at) => format!("{}{}", group.header, slice(prompt, at + header.len()..)),
        None => group.prompt.clone(),
    }
}
