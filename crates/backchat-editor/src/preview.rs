//! A conversation rendered with the text as it is, piece by piece.

use std::ops::Range;

use backchat_chat::source::Source;
use backchat_chat::{Budget, ChatTemplate, RenderOptions, examine};
use backchat_chats::chats::{self, Author, Part};
use backchat_core::json::Object;
use backchat_core::text::slice;

use crate::chat_text::ChatText;
use crate::settings::Settings;

/// A piece of a render.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub text: String,
    /// The bytes of the document that printed it.
    pub span: Range<usize>,
    pub expression: String,
    /// The role of the message that it is from.
    pub role: Option<String>,
    pub field: Option<&'static str>,
}

/// A render that failed: the message and its place in the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub message: String,
    pub span: Range<usize>,
}

/// Renders a conversation.
pub fn preview(text: &ChatText, source: &Source, context: &Object, settings: &Settings) -> Result<Vec<Piece>, Failure> {
    let failed = |error: backchat_chat::RenderError| {
        let span = error.span.as_ref().map_or(0..0, |span| text.span(span));
        Failure { message: error.message, span }
    };
    examine(Budget::default(), || {
        let template = ChatTemplate::compile(&source.template).map_err(failed)?;
        let mut given = source.special_tokens.clone();
        given.extend(settings.set.iter().cloned());
        given.extend(context.iter().map(|(name, value)| (name.to_owned(), value.clone())));
        let options = RenderOptions::default().now(Some(settings.now.clone()));
        let rendered = template.render(context, &options.clone().origins(true));
        // What the caller leaves out comes from the model's folder.
        let rendered = match rendered {
            Ok(rendered) => rendered,
            Err(_) => template.render(&given, &options.clone().origins(true)).map_err(failed)?,
        };
        let fields = fields(&template, context, &rendered.text, &options);
        let authors = chats::authors(&template, context, &rendered.text, &options);
        let piece = |origin: &backchat_chat::Origin| {
            let at = origin.text.clone();
            let inside = |span: &Range<usize>| span.start < at.end && at.start < span.end;
            let author = authors.iter().find(|(span, _)| inside(span)).and_then(|(_, author)| match author {
                Author::Message(index) => {
                    let role = context.get("messages")?.as_list()?.get(*index)?.get("role")?.as_str()?;
                    Some(role.to_owned())
                }
                Author::Tools => Some("tools".to_owned()),
            });
            Piece {
                text: slice(&rendered.text, at.clone()).to_owned(),
                span: text.span(&origin.source),
                expression: slice(&text.source, origin.source.clone()).to_owned(),
                role: author,
                field: fields.iter().find(|(span, _)| inside(span)).map(|(_, field)| *field),
            }
        };
        Ok(rendered.origins.iter().map(piece).collect())
    })
}

/// The bytes of the parts that the assistant wrote.
fn fields(
    template: &ChatTemplate,
    context: &Object,
    text: &str,
    options: &RenderOptions,
) -> Vec<(Range<usize>, &'static str)> {
    let Ok(masked) = chats::mask(template, context, options) else { return Vec::new() };
    if masked.text != text {
        return Vec::new();
    }
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let byte = |point: usize| starts.get(point).copied().unwrap_or(text.len());
    let part = |part: &chats::PartSpan| {
        let field = match part.part {
            Part::Content => "content",
            Part::Reasoning => "reasoning",
            Part::Call => "calls",
            _ => return None,
        };
        Some((byte(part.start)..byte(part.end), field))
    };
    masked.parts.iter().filter_map(part).collect()
}
