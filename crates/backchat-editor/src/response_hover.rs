//! Hovers of a response template: what a key means, and what prints a delimiter.

use backchat_core::diagnostic::counted;
use backchat_core::text::Lines;

use crate::chat_facts::{ChatFacts, Printed};
use crate::chat_hover::{Hover, role};
use crate::chat_text::ChatText;
use crate::markdown::{block, bounded, code};
use crate::response::{delimiters, printers};
use crate::response_completion::{description, place_at};

/// The chat template of a folder, its document's text, and what renders show about it.
#[derive(Clone, Copy)]
pub struct Chat<'a> {
    pub text: &'a ChatText,
    pub document: &'a str,
    pub facts: Option<(&'a ChatFacts, &'a [Printed])>,
}

/// The hover at a byte of a response template.
pub fn hover(text: &str, byte: usize, chat: Option<Chat<'_>>) -> Option<Hover> {
    if let Some(delimiter) =
        delimiters(text).into_iter().find(|delimiter| delimiter.span.start <= byte && byte < delimiter.span.end)
    {
        let mut lines = vec![format!("{} — {}", code(&delimiter.text), role(&delimiter.mark))];
        if let Some(chat) = chat {
            let of_document = Lines::of(chat.document);
            let places = printers(chat.text, &delimiter, chat.facts);
            for (span, count) in places.iter().take(6) {
                let how = if *count > 0 { format!(", in {}", counted(*count, "conversation")) } else { String::new() };
                lines.push(format!("printed by line {} of the chat template{how}", of_document.line(span.start) + 1));
            }
            if places.is_empty() {
                lines.push("nothing in the chat template prints it".to_owned());
            }
        }
        return Some(Hover { markdown: bounded(lines.join("\n\n")), span: delimiter.span });
    }
    let place = place_at(text, byte);
    let string = place.string.clone().filter(|_| place.is_key)?;
    let key = text.get(string.clone())?;
    let about = description(&place.path, key)?;
    let example = example(key).map(|example| format!("\n\n{}", block("json", example))).unwrap_or_default();
    let span = string.start.saturating_sub(1)..(string.end + 1).min(text.len());
    Some(Hover { markdown: bounded(format!("{}\n\n{about}{example}", code(key))), span })
}

/// An example of a key.
fn example(key: &str) -> Option<&'static str> {
    Some(match key {
        "start_anchor" => "\"start_anchor\": \"<|assistant|>\\n\"",
        "start_anchor_pattern" => "\"start_anchor_pattern\": \"<\\\\|assistant\\\\|>\\\\s*\"",
        "defaults" => "\"defaults\": {\"role\": \"assistant\"}",
        "open" => "\"open\": \"<tool_call>\"",
        "open_pattern" => "\"open_pattern\": \"<call (?P<name>\\\\w+)>\"",
        "close" => "\"close\": [\"</think>\", \"<|end|>\"]",
        "close_pattern" => "\"close_pattern\": \"</tool_call>\\\\s*\"",
        "repeats" => "\"repeats\": true",
        "content" => "\"content\": \"json\"",
        "transform" => {
            "\"transform\": {\"type\": \"function\", \"function\": {\"name\": \"{content.name}\", \"arguments\": \"{content.arguments}\"}}"
        }
        "optional" => "\"optional\": true",
        _ => return None,
    })
}
