//! All conversations of agents that a template is asked, with their healthy renders.

use super::base::Base;
use super::case::Case;
use super::problem::Problem;
use crate::doctor::probe::Chat;
use backchat_core::json::Value;

/// Collects the conversations that apply to a template.
pub(super) struct Cases<'b, 'p, 't> {
    pub base: &'b Base<'p, 't>,
    pub found: Vec<Case>,
}

impl Cases<'_, '_, '_> {
    /// Adds a conversation, which is passed unchanged, with the renders that are healthy.
    pub fn add(
        &mut self,
        (problem, shape): (Problem, &'static str),
        chat: Chat,
        accepted: impl IntoIterator<Item = Option<String>>,
        needles: &[&'static str],
    ) {
        let mut texts: Vec<String> = Vec::new();
        for text in accepted.into_iter().flatten().filter(|text| !text.is_empty()) {
            backchat_core::push_new(&mut texts, text);
        }
        let case = Case { problem, shape, chat, accepted: texts, needles: needles.to_vec(), as_assistant: None };
        self.found.push(case);
    }

    /// The same for messages whose texts take the template's form, with a prompt.
    pub fn add_prompted(
        &mut self,
        name: (Problem, &'static str),
        messages: Vec<Value>,
        accepted: impl IntoIterator<Item = Option<String>>,
        needles: &[&'static str],
    ) {
        let chat = self.base.conversation(messages, None, true);
        self.add(name, chat, accepted, needles);
    }
}
