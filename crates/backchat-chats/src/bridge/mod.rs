//! Token ids from one turn of a model to the next: the ids that a chat template has between a sample and the place
//! where the model continues, proved by renders, or a refusal. No sampled id changes.

mod answer;
mod edits;
mod prompt;
mod refusal;
mod tail;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use backchat_chat::{ChatTemplate, RenderOptions, alias_reasoning};
use backchat_core::json::{Object, Value};
use backchat_parser::parser::{
    Finished, Options as ParserOptions, ParseError, Policy, TokenTemplate, TokenTemplateError,
};
use backchat_parser::template::Template;
use backchat_parser::tokens::{Placed, Tokenizer};

use answer::Answer;
use backchat_probe::probe::Renderer;
use tail::Tail;

pub use edits::{Edit, EditCause};
pub use refusal::{Refusal, Refused};

/// A sample, and the messages that follow it.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'s> {
    /// The conversation up to the prompt.
    pub messages: &'s [Value],
    /// The tools that the prompt was rendered with.
    pub tools: Option<&'s Value>,
    /// The ids that the model was given.
    pub prompt_ids: &'s [u32],
    /// The ids that it wrote.
    pub sampled_ids: &'s [u32],
    /// The new messages: results of tools, or the user's next message.
    pub new_messages: &'s [Value],
    /// The ids at which the engine stops; if there are none, the template's own.
    pub stop_ids: &'s [u32],
    /// Whether to refuse a history that the template would write differently.
    pub refuses_edits: bool,
}

/// The ids up to the model's next turn.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Bridged {
    /// The ids to append to the prompt's and the sample's.
    pub ids: Vec<u32>,
    /// Their text.
    pub text: String,
    /// Where the template would write the history differently. Applied to the text of all ids, they give its render.
    pub edits: Vec<Edit>,
    /// Whether the sample lacks the marker that ends its turn, so that the appended ids begin with it.
    pub closed: bool,
    /// The model's message.
    pub message: Object,
}

impl Bridged {
    /// Whether the ids match the template's render, up to tokenization.
    pub fn is_exact(&self) -> bool {
        self.edits.is_empty()
    }
}

/// Joins a model's turns, with its chat template, its tokenizer, and the response template that parses its answers.
#[derive(Clone, Debug)]
pub struct Bridge {
    chat: Arc<ChatTemplate>,
    variables: Object,
    options: RenderOptions,
    tokenizer: Tokenizer,
    tokens: TokenTemplate,
}

impl Bridge {
    /// Prepares a bridge. `variables` are those of every render, such as the special tokens.
    ///
    /// # Errors
    ///
    /// The response template cannot be used with ids.
    pub fn new(
        chat: Arc<ChatTemplate>,
        variables: Object,
        options: RenderOptions,
        tokenizer: &Tokenizer,
        template: &Template,
    ) -> Result<Self, TokenTemplateError> {
        let tokens = TokenTemplate::new(template, tokenizer.tokens(), Policy::Exact)?;
        Ok(Self { chat, variables, options, tokenizer: tokenizer.clone(), tokens })
    }

    /// The model's message after a prompt.
    ///
    /// # Errors
    ///
    /// Parsing the sample exceeds the step limit.
    pub fn read(&self, prompt_ids: &[u32], sampled_ids: &[u32]) -> Result<Finished, ParseError> {
        answer::parse(&self.tokens, prompt_ids, sampled_ids, ParserOptions::default())
    }

    /// The ids to append after a sample.
    ///
    /// # Errors
    ///
    /// If they cannot be proved, nothing is appended; the refusal says why.
    pub fn next(&self, sample: &Sample<'_>) -> Result<Bridged, Refused> {
        refusal::check_messages(sample.new_messages)?;
        let renderer = Renderer::new(&self.chat, self.options.clone());
        let conversation = Conversation { bridge: self, renderer, sample };
        prompt::check(&conversation)?;
        let answer = Answer::read(&self.tokens, sample)?;
        let tail = Tail::find(&conversation, &answer)?;
        let join = tail.join(&conversation, &answer)?;
        let ids = self.ids_from(&tail.render, join.place)?;
        let before = [sample.prompt_ids, sample.sampled_ids].concat();
        let all = Placed::new(self.tokenizer.tokens(), &[before.as_slice(), ids.as_slice()].concat()).text;
        let begun = Placed::new(self.tokenizer.tokens(), &before).text;
        let text = all.get(begun.len()..).unwrap_or_default().to_owned();
        let render = self.in_tokens(&tail.render)?;
        let edits = edits::between(&all, &render, &answer, begun.len());
        if sample.refuses_edits
            && let Some(first) = edits.first()
        {
            return Err(Refused::new(Refusal::HistoryEdited, edits::describe(first)));
        }
        Ok(Bridged { ids, text, edits, closed: join.closes, message: answer.message })
    }

    fn ids_from(&self, render: &str, place: usize) -> Result<Vec<u32>, Refused> {
        let encoded = self.tokenizer.encode(render).map_err(refusal::not_encoded)?;
        let place = render.get(..place).unwrap_or(render).chars().count();
        // White space in the token of a marker belongs to the marker.
        let first = encoded.offsets.iter().position(|(start, _)| *start >= place).unwrap_or(encoded.ids.len());
        let before = encoded.offsets.get(..first).and_then(|before| before.iter().map(|(_, end)| *end).max());
        let is_marker = || {
            let id = first.checked_sub(1).and_then(|last| encoded.ids.get(last));
            id.is_some_and(|id| self.tokenizer.tokens().added_text(*id).is_some())
        };
        if before.is_some_and(|end| end > place) && !is_marker() {
            let why = "one token of the tokenizer spans the end of the sample";
            return Err(Refused::new(Refusal::Seam, why));
        }
        Ok(encoded.ids.get(first..).unwrap_or_default().to_vec())
    }

    /// A text, encoded and decoded.
    fn in_tokens(&self, text: &str) -> Result<String, Refused> {
        let encoded = self.tokenizer.encode(text).map_err(refusal::not_encoded)?;
        Ok(Placed::new(self.tokenizer.tokens(), &encoded.ids).text)
    }
}

/// The conversation of a sample, and renders of it.
struct Conversation<'c> {
    bridge: &'c Bridge,
    renderer: Renderer<'c>,
    sample: &'c Sample<'c>,
}

impl Conversation<'_> {
    /// The variables as transformers hands them over: what a conversation does not have is null, not undefined.
    fn context(&self, messages: Vec<Value>, add_generation_prompt: bool) -> Object {
        let mut context = self.bridge.variables.clone();
        context.insert("messages", Value::List(messages));
        if let Some(tools) = self.sample.tools {
            context.insert("tools", tools.clone());
        }
        for name in ["tools", "documents"] {
            context.entry(name).or_default();
        }
        context.insert("add_generation_prompt", add_generation_prompt.into());
        alias_reasoning(&mut context);
        context
    }

    /// The render of the conversation and more messages.
    fn render(&self, more: &[Value], add_generation_prompt: bool) -> Result<String, Refused> {
        self.render_of([self.sample.messages, more].concat(), add_generation_prompt)
    }

    fn render_of(&self, messages: Vec<Value>, add_generation_prompt: bool) -> Result<String, Refused> {
        let rendered = self.renderer.render(&self.context(messages, add_generation_prompt));
        let rendered = rendered.map_err(|error| Refused::new(Refusal::TemplateError, error.to_string()))?;
        Ok(rendered.text.clone())
    }
}
