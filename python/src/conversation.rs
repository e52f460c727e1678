//! Conversations as transformers hands them to a chat template, and their ids.

use std::sync::Arc;

use backchat::chat::{ChatTemplate, RenderError, RenderOptions};
use backchat::chats::Sanitizer;
use backchat::json::{Object, Value};
use backchat::tokens::{Tokenizer, TokensError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::model::{Model, Selection};
use crate::value::{from_python, messages as read_messages, tools as read_tools};

/// A conversation to render, as transformers hands it to the template.
pub struct Conversation {
    pub template: ChatTemplate,
    pub model: Model,
    /// The caller's variables, and those that transformers always passes.
    pub context: Object,
}

impl Conversation {
    pub fn read(
        chat_template: &Bound<'_, PyAny>,
        template_name: Option<&str>,
        messages: &Bound<'_, PyAny>,
        tools: Option<&Bound<'_, PyAny>>,
        variables: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let model = Model::to_render(chat_template, Selection::new(None, template_name), tools.is_some())?;
        let mut context = Object::new();
        context.insert("messages", Value::List(read_messages(messages)?));
        context.insert("tools", read_tools(tools)?.unwrap_or_default());
        context.insert("documents", Value::Null);
        context.insert("add_generation_prompt", false.into());
        if let Some(Value::Object(variables)) = variables.map(|variables| from_python(variables)).transpose()? {
            context.extend(variables);
        }
        backchat_chat::alias_reasoning(&mut context);
        Ok(Self { template: model.compiled(chat_template.py())?, model, context })
    }

    /// The context with the variables of the model.
    pub fn whole(&self) -> Object {
        let mut whole = self.model.variables.clone();
        whole.extend(self.context.clone());
        whole
    }

    pub fn encoded(&self, encoding: &Encoding) -> Result<Encoded, RenderError> {
        // Like transformers, it uses the current time.
        let options = RenderOptions::default();
        if let Encoding::Sanitized(tokenizer, control_tokens) = encoding {
            let sanitizer = Sanitizer::new(&self.template, tokenizer, control_tokens.as_deref());
            let sanitized = sanitizer.render(&self.context, &self.model.variables, &options)?;
            let ids = sanitized.ids();
            return Ok((sanitized.text, sanitized.assistant_spans, Some(ids)));
        }
        let rendered = self.template.render(&self.whole(), &options)?;
        let ids = match encoding {
            Encoding::Plain(tokenizer) => Some(tokenizer.encode(&rendered.text).map(|encoded| encoded.ids)),
            _ => None,
        };
        Ok((rendered.text, rendered.assistant_spans, ids))
    }
}

/// How a render becomes ids.
pub enum Encoding {
    None,
    Plain(Arc<Tokenizer>),
    /// Control tokens of the caller are text; with the `chat_control_tokens` of the tokenizer.
    Sanitized(Arc<Tokenizer>, Option<Vec<String>>),
}

/// The text of a render, the spans of its generation blocks, and its ids.
pub type Encoded = (String, Spans, Option<Result<Vec<u32>, TokensError>>);

/// Spans in characters.
pub type Spans = Vec<(usize, usize)>;
