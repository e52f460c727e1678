//! One of the two chat templates that are compared: its program, its own variables, and what it makes of a conversation.

use crate::kinds::Conversation;
use backchat_chat::{
    ChatTemplate, Prepared, Ran, RenderError, RenderOptions, Rendered, render_prepared, render_recorded,
};
use backchat_core::json::{Object, Value};
use backchat_parser::template::Template;

/// A chat template and the variables of its model.
#[derive(Clone, Debug, Default)]
pub struct Chat {
    /// The source of the template.
    pub template: String,
    /// Special tokens and other variables that every render gets.
    pub variables: Object,
    /// The name of its file, for messages.
    pub name: String,
    /// The response template that reads its turns, in the place of the draft.
    pub response: Option<Template>,
    /// The special tokens of its tokenizer, with their ids.
    pub token_ids: Vec<(String, u32)>,
}

/// What a template makes of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The text, and the spans of generation blocks.
    Text {
        /// The prompt.
        text: String,
        /// The spans that `{% generation %}` blocks wrote, in code points.
        spans: Vec<(usize, usize)>,
    },
    /// A refusal, in the template's own words.
    Refused(String),
}

impl Outcome {
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Outcome::Text { text, .. } => Some(text),
            Outcome::Refused(_) => None,
        }
    }
}

/// The values of a conversation, converted once for all renders of it.
pub(crate) struct Ready<'c> {
    prepared: Vec<(&'c str, Prepared)>,
    now: &'c str,
}

impl<'c> Ready<'c> {
    /// `None` if a value nests too deep.
    pub(crate) fn new(conversation: &'c Conversation, clock: &'c str) -> Option<Self> {
        let prepared = |(key, value): (&'c str, &Value)| Some((key, Prepared::new(value)?));
        let prepared: Option<Vec<_>> = conversation.context.iter().map(prepared).collect();
        Some(Self { prepared: prepared?, now: conversation.now.as_deref().unwrap_or(clock) })
    }
}

/// A compiled chat template, and what all of its renders get.
pub(crate) struct Side {
    pub(crate) template: ChatTemplate,
    variables: Vec<(String, Prepared)>,
    given: Object,
}

impl Side {
    pub(crate) fn new(chat: &Chat) -> Result<Self, RenderError> {
        let template = ChatTemplate::compile(&chat.template)?;
        let prepared = |(name, value): (&str, &Value)| Some((name.to_owned(), Prepared::new(value)?));
        let variables = chat.variables.iter().filter_map(prepared).collect();
        let given = Object::from_iter([
            ("tools".to_owned(), Value::Null),
            ("documents".to_owned(), Value::Null),
            ("add_generation_prompt".to_owned(), false.into()),
        ]);
        Ok(Self { template, variables, given })
    }

    fn values<'r>(&'r self, ready: &'r Ready<'_>) -> Vec<(&'r str, &'r Prepared)> {
        // The first one of a name counts.
        let own = self.variables.iter().map(|(name, value)| (name.as_str(), value));
        ready.prepared.iter().map(|(name, value)| (*name, value)).chain(own).collect()
    }

    pub(crate) fn render(&self, ready: &Ready<'_>) -> Outcome {
        let options = RenderOptions::default().now(ready.now.to_owned());
        outcome(render_prepared(&self.template, &self.given, &self.values(ready), &options))
    }

    /// The render with the place of the template that printed each piece.
    pub(crate) fn traced(&self, ready: &Ready<'_>) -> Option<Rendered> {
        let options = RenderOptions::default().now(ready.now.to_owned()).origins(true);
        render_prepared(&self.template, &self.given, &self.values(ready), &options).ok()
    }

    /// The render, and which way each condition went.
    pub(crate) fn recorded(&self, ready: &Ready<'_>) -> (Outcome, Ran) {
        let options = RenderOptions::default().now(ready.now.to_owned());
        let (rendered, ran) = render_recorded(&self.template, &self.given, &self.values(ready), &options);
        (outcome(rendered), ran)
    }
}

fn outcome(rendered: Result<Rendered, RenderError>) -> Outcome {
    match rendered {
        Ok(rendered) => Outcome::Text { text: rendered.text, spans: rendered.assistant_spans },
        Err(error) => Outcome::Refused(error.message),
    }
}
