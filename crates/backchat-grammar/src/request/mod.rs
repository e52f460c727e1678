//! The request: its tools, which of them the model may or must call, and the format of the answer.

mod answer_format;
mod body;
mod choice;
mod demand;
mod options;
mod tools;

use std::borrow::Cow;

use crate::notes::Note;
use backchat_core::diagnostic::Diagnostic;
use backchat_core::json::Value;

pub(crate) use answer_format::{AnswerFormat, wrong as wrong_format};
pub use body::render_prompt;
pub use choice::Choice;
pub(crate) use demand::{Demand, Wants};
pub use options::{Presence, Reasoning};
pub(crate) use tools::{INPUT, Tool};
pub use tools::{INPUT as CUSTOM_INPUT, is_custom as is_custom_tool, name as tool_name, shown as shown_tools};

/// One request.
#[derive(Clone, Debug, Default)]
pub struct Request<'r> {
    pub(crate) tools: Option<Cow<'r, Value>>,
    pub(crate) choice: Option<Cow<'r, Choice>>,
    pub(crate) parallel: Option<bool>,
    pub(crate) prompt: Option<Cow<'r, str>>,
    pub(crate) reasoning: Reasoning,
    pub(crate) content: Presence,
    pub(crate) format: Option<AnswerFormat<'r>>,
    pub(crate) open_properties: bool,
    pub(crate) wire_space: bool,
    pub(crate) any_order: bool,
    /// Notes from reading the request's body.
    pub(crate) notes: Vec<Note>,
}

impl<'r> Request<'r> {
    /// The tools as OpenAI lists them, or the functions inside.
    #[must_use]
    pub fn tools(mut self, tools: impl Into<Option<&'r Value>>) -> Self {
        self.tools = tools.into().map(Cow::Borrowed);
        self
    }

    /// Which of them the model may or must call; by default `Auto` with tools and `None` without.
    #[must_use]
    pub fn choice(mut self, choice: impl Into<Option<&'r Choice>>) -> Self {
        self.choice = choice.into().map(Cow::Borrowed);
        self
    }

    /// Whether several calls are allowed; by default, unless a tool is named.
    #[must_use]
    pub fn parallel(mut self, parallel: impl Into<Option<bool>>) -> Self {
        self.parallel = parallel.into();
        self
    }

    /// The prompt as it will be sent.
    #[must_use]
    pub fn prompt(mut self, prompt: impl Into<Option<&'r str>>) -> Self {
        self.prompt = prompt.into().map(Cow::Borrowed);
        self
    }

    /// Whether the request asks for an answer without reasoning.
    pub fn is_without_reasoning(&self) -> bool {
        self.reasoning == Reasoning::Never
    }

    /// The format of the answer, as `response_format` has it.
    ///
    /// # Errors
    ///
    /// It is none that JSON content can have.
    pub fn response_format(mut self, format: &'r Value) -> Result<Self, Diagnostic> {
        self.format = AnswerFormat::read(format, "/response_format")?;
        Ok(self)
    }

    /// Whether the model thinks first.
    #[must_use]
    pub fn reasoning(mut self, reasoning: Reasoning) -> Self {
        self.reasoning = reasoning;
        self
    }

    /// Whether the turn may or must have content next to its calls.
    #[must_use]
    pub fn content(mut self, content: Presence) -> Self {
        self.content = content;
        self
    }

    /// Whether an absent `additionalProperties` allows any member, as in the standard.
    #[must_use]
    pub fn open_properties(mut self, open_properties: bool) -> Self {
        self.open_properties = open_properties;
        self
    }

    /// Whether only the white space of renders is allowed between JSON tokens.
    #[must_use]
    pub fn wire_space(mut self, wire_space: bool) -> Self {
        self.wire_space = wire_space;
        self
    }

    /// Whether the arguments of a call may come in any order, if they are few enough.
    #[must_use]
    pub fn any_order(mut self, any_order: bool) -> Self {
        self.any_order = any_order;
        self
    }
}
