//! The ids of renders: `render --tokenizer` without a mask.

use std::sync::Arc;

use super::cache::Tokenizers;
use super::{Failure, input};
use backchat_chat::{ChatTemplate, RenderError, RenderOptions};
use backchat_chats::chats::Sanitizer;
use backchat_core::json::{Object, Value};
use backchat_parser::tokens::{Tokenizer, TokensError};

/// How the text of a render becomes ids.
pub enum Encoding {
    /// Control tokens are themselves, whoever wrote them.
    Plain(Arc<Tokenizer>),
    /// Those of the user are text; with the `chat_control_tokens` of the tokenizer's config.
    Sanitized(Arc<Tokenizer>, Arc<ControlTokens>),
}

type ControlTokens = Option<Vec<String>>;

/// Why a chat has no ids.
pub enum NotEncoded {
    Render(RenderError),
    Tokenizer(TokensError),
}

impl From<RenderError> for NotEncoded {
    fn from(error: RenderError) -> Self {
        Self::Render(error)
    }
}

impl From<TokensError> for NotEncoded {
    fn from(error: TokensError) -> Self {
        Self::Tokenizer(error)
    }
}

/// The tokenizers that rows name.
#[derive(Default)]
pub struct Encoders {
    tokenizers: Tokenizers<Tokenizer>,
    control_tokens: Tokenizers<ControlTokens>,
}

impl Encoders {
    /// A tokenizer, or a one-line error.
    pub fn tokenizer(&self, name: &str) -> Result<Arc<Tokenizer>, String> {
        self.tokenizers.read(name, input::tokenizer)
    }

    /// The encoding by a tokenizer, or a one-line error.
    pub fn encoding(&self, name: &str, sanitizes: bool) -> Result<Encoding, String> {
        let tokenizer = self.tokenizer(name)?;
        Ok(match sanitizes {
            true => Encoding::Sanitized(tokenizer, self.control_tokens.read(name, input::chat_control_tokens)?),
            false => Encoding::Plain(tokenizer),
        })
    }
}

impl Encoding {
    pub fn open(name: &str, sanitizes: bool) -> Result<Self, Failure> {
        let tokenizer = Arc::new(input::tokenizer(name)?);
        Ok(match sanitizes {
            true => Self::Sanitized(tokenizer, Arc::new(input::chat_control_tokens(name)?)),
            false => Self::Plain(tokenizer),
        })
    }

    /// The entries of an answer. `context` has the variables of the user, `model` those of the model.
    pub fn answer(
        &self,
        template: &ChatTemplate,
        context: Object,
        model: &Object,
        options: &RenderOptions,
    ) -> Result<Object, NotEncoded> {
        let (text, spans, ids) = match self {
            Self::Plain(tokenizer) => {
                let mut context = context;
                add_defaults(&mut context, model);
                let rendered = template.render(&context, options)?;
                let ids = tokenizer.encode(&rendered.text)?.ids;
                (rendered.text, rendered.assistant_spans, ids)
            }
            Self::Sanitized(tokenizer, control_tokens) => {
                let sanitizer = Sanitizer::new(template, tokenizer, control_tokens.as_deref());
                let sanitized = sanitizer.render(&context, model, options)?;
                let ids = sanitized.ids()?;
                (sanitized.text, sanitized.assistant_spans, ids)
            }
        };
        let mut answer = entries(text, &spans);
        answer.insert("token_ids", Value::List(ids.into_iter().map(Value::from).collect()));
        Ok(answer)
    }
}

/// Adds the variables that a context lacks.
pub fn add_defaults(context: &mut Object, variables: &Object) {
    for (name, value) in variables.iter() {
        context.entry(name).or_insert_with(|| value.clone());
    }
}

/// The entries of each answer about a render: its text, and the spans of its generation blocks.
pub fn entries(text: String, spans: &[(usize, usize)]) -> Object {
    let spans = spans.iter().map(|(start, end)| Value::List(vec![(*start).into(), (*end).into()])).collect();
    Object::from_iter([("text".to_owned(), text.into()), ("assistant_spans".to_owned(), Value::List(spans))])
}
