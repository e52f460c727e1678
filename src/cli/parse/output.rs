//! The input of a parse: the prompt and the output, as text or as token ids.

use std::borrow::Cow;

use backchat_parser::parser::{EventRef, Options, ParseError, Parser, TokenTemplate};
use backchat_parser::template::Template;

/// The template and the prompt, for the kind of output.
#[derive(Clone, Copy)]
pub enum Beginning<'a> {
    /// The output is text.
    Text { template: &'a Template, prefix: &'a str },
    /// The prompt and the output are ids.
    Ids { tokens: &'a TokenTemplate, prompt_ids: &'a [u32] },
    /// The prompt is text, the output ids.
    IdsAfterText { tokens: &'a TokenTemplate, prefix: &'a str },
}

impl Beginning<'_> {
    pub fn parser(self, options: Options) -> Result<Parser, ParseError> {
        match self {
            Self::Text { template, prefix } => Parser::new(template, prefix, options),
            Self::Ids { tokens, prompt_ids } => Parser::with_tokens(tokens, prompt_ids, options),
            Self::IdsAfterText { tokens, prefix } => Parser::with_tokens_after(tokens, prefix, options),
        }
    }
}

/// A piece of an output.
pub enum Piece<'p> {
    Text(Cow<'p, str>),
    Ids(&'p [u32]),
}

impl Piece<'_> {
    /// The piece as readable text.
    pub fn shown(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Ids(ids) => Cow::Owned(ids.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")),
        }
    }

    pub fn feed(&self, parser: &mut Parser, sink: &mut impl FnMut(EventRef<'_>)) -> Result<(), ParseError> {
        match self {
            Self::Text(text) => parser.feed_into(text, sink),
            Self::Ids(ids) => parser.feed_tokens_into(ids, sink),
        }
    }
}
