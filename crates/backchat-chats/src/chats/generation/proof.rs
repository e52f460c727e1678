//! The proof of generation blocks: every conversation renders to the same bytes, and has the spans of the mask.

use std::fmt;

use super::case::{Case, Span, bytes_of_points, fit};
use backchat_chat::{ChatTemplate, RenderError, RenderOptions};
use backchat_core::diagnostic::shortened;
use backchat_core::json::Value;
use backchat_core::text::slice;

/// How generation blocks differ from the mask, and in which conversation, as JSON.
#[derive(Clone, Debug, PartialEq)]
pub enum WrongBlocks {
    /// The template does not compile with them.
    NotCompiled(RenderError),
    /// The conversation is refused.
    NotRendered {
        /// Why.
        error: RenderError,
        /// Its messages.
        messages: Value,
    },
    /// A block changes the text of the render.
    OtherText {
        /// The messages.
        messages: Value,
    },
    /// The blocks mark other text than the assistant's; both are quoted and shortened.
    OtherSpans {
        /// What they mark, if anything.
        marked: Option<String>,
        /// What the assistant wrote.
        wanted: Option<String>,
        /// The messages.
        messages: Value,
    },
}

impl fmt::Display for WrongBlocks {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "nothing".to_owned());
        match self {
            Self::NotCompiled(error) => error.fmt(out),
            Self::NotRendered { error, messages } => write!(out, "{error} on {messages}"),
            Self::OtherText { messages } => write!(out, "a block changes the render of {messages}"),
            Self::OtherSpans { marked, wanted, messages } => {
                write!(out, "the blocks mark {}, the assistant wrote {}, in {messages}", shown(marked), shown(wanted))
            }
        }
    }
}

impl std::error::Error for WrongBlocks {}

/// Renders every conversation with the patched template: the same bytes, and the spans of the mask.
///
/// A template's own blocks may begin earlier, inside the header, and end later, after white space or the token that
/// ends the chat: these are conventions, not errors.
pub(super) fn prove(
    source: &str,
    cases: &[Case],
    options: &RenderOptions,
    own_blocks: bool,
) -> Result<usize, WrongBlocks> {
    let template = ChatTemplate::compile(source).map_err(WrongBlocks::NotCompiled)?;
    for case in cases {
        let rendered = template.render(&case.context, options);
        let messages = || case.messages.clone();
        let rendered = rendered.map_err(|error| WrongBlocks::NotRendered { error, messages: messages() })?;
        if rendered.text != case.text {
            return Err(WrongBlocks::OtherText { messages: messages() });
        }
        let byte = bytes_of_points(&case.text);
        let spans = rendered.assistant_spans.iter().map(|(start, end)| (byte(*start), byte(*end)));
        let spans = joined(case, spans.collect());
        let fits = |wanted: &Span, span: &(usize, usize)| {
            let (mut start, mut end) = *span;
            if own_blocks {
                start = if start >= wanted.header { start.max(wanted.start) } else { start };
                end = if case.is_beside(wanted.end, end) { wanted.end } else { end };
            }
            fit(case, wanted, start, end).is_some()
        };
        let known = spans.iter().all(|span| case.spans.iter().any(|wanted| fits(wanted, span)));
        let covered = case.spans.iter().all(|wanted| spans.iter().any(|span| fits(wanted, span)));
        if !known || !covered {
            let quoted = |start: usize, end: usize| {
                let text = slice(&case.text, start..end);
                shortened(&format!("{text:?}"), 80).into_owned()
            };
            let wanted = case.spans.iter().find(|wanted| !spans.iter().any(|span| fits(wanted, span)));
            let marked = spans.iter().find(|span| !case.spans.iter().any(|wanted| fits(wanted, span)));
            let wanted = wanted.map(|wanted| quoted(wanted.start, wanted.end));
            let marked = marked.map(|(start, end)| quoted(*start, *end));
            return Err(WrongBlocks::OtherSpans { marked, wanted, messages: messages() });
        }
    }
    Ok(cases.len())
}

/// The spans with text in them; those of one answer with only white space in between are joined.
pub(super) fn joined(case: &Case, mut spans: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    spans.retain(|(start, end)| !case.is_blank(*start, *end));
    spans.sort_unstable();
    let mut joined: Vec<(usize, usize)> = Vec::new();
    for (start, end) in spans {
        match joined.last_mut() {
            Some((first, before))
                if case.span_of((*first, *before)) == case.span_of((start, end))
                    && (start <= *before || case.is_blank(*before, start)) =>
            {
                *before = end.max(*before);
            }
            _ => joined.push((start, end)),
        }
    }
    joined
}
