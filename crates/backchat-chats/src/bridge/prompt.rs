//! Checks that a prompt is the render of its messages, except that earlier turns of the model may be spelled
//! differently.

use std::ops::Range;

use super::Conversation;
use super::edits::differences;
use super::refusal::{Refusal, Refused, not_encoded};
use crate::chats;
use backchat_core::diagnostic::escape;
use backchat_core::json::Value;
use backchat_parser::tokens::Placed;
use backchat_probe::probe::role_of;

/// How much of a difference is quoted.
const QUOTED: usize = 60;

/// How many characters of the prompt match what the template wrote when one of the model's turns began: it may write
/// the same messages differently once others follow.
fn known_start(conversation: &Conversation<'_>, prompt: &str) -> Result<usize, Refused> {
    let messages = conversation.sample.messages;
    let is_own = |message: &Value| role_of(message) == Some("assistant");
    for (place, _) in messages.iter().enumerate().rev().filter(|(_, message)| is_own(message)) {
        let earlier = messages.get(..place).unwrap_or_default();
        // A template may refuse a conversation that ends there.
        let Ok(render) = conversation.render_of(earlier.to_vec(), true) else { continue };
        let render = conversation.bridge.in_tokens(&render)?;
        if prompt.starts_with(&render) {
            return Ok(render.chars().count());
        }
    }
    Ok(0)
}

pub(super) fn check(conversation: &Conversation<'_>) -> Result<(), Refused> {
    let (bridge, sample) = (conversation.bridge, conversation.sample);
    let render = conversation.render(&[], true)?;
    let encoded = bridge.tokenizer.encode(&render).map_err(not_encoded)?;
    if encoded.ids == sample.prompt_ids {
        return Ok(());
    }
    let tokens = bridge.tokenizer.tokens();
    let (prompt, render) = (Placed::new(tokens, sample.prompt_ids).text, Placed::new(tokens, &encoded.ids).text);
    if prompt == render {
        return Ok(());
    }
    let masked = chats::mask_with(&conversation.renderer, &conversation.context(sample.messages.to_vec(), true));
    let masked = masked.map_err(|error| Refused::new(Refusal::TemplateError, error.to_string()))?;
    // A turn of the model consists of its header and the text that it wrote.
    let turns: Vec<(usize, usize)> =
        masked.headers.iter().zip(&masked.spans).map(|((start, _), (_, end))| (*start, *end)).collect();
    let is_own = |span: &Range<usize>| turns.iter().any(|(start, end)| span.start >= *start && span.end <= *end);
    let known = known_start(conversation, &prompt)?;
    // Differences are spans of the render; the shift converts them to positions in the prompt.
    let mut shift = 0_isize;
    let elsewhere = differences(&render, &prompt).into_iter().find(|(span, text)| {
        let length = text.chars().count();
        let end = span.start.saturating_add_signed(shift) + length;
        shift += length as isize - span.len() as isize;
        !is_own(span) && end > known
    });
    let Some((span, text)) = elsewhere else { return Ok(()) };
    let rendered: String = render.chars().skip(span.start).take(span.len().min(QUOTED)).collect();
    let given: String = text.chars().take(QUOTED).collect();
    let reason = format!(
        "at character {} the prompt says `{}` where the render of the messages says `{}`",
        span.start,
        escape(&given),
        escape(&rendered)
    );
    Err(Refused::new(Refusal::PromptMismatch, reason))
}
