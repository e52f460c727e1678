//! The proof of generation blocks: every conversation renders to the same bytes, and has the spans of the mask.

use std::fmt;

use super::case::{Case, Span, bytes_of_points, fit};
use backchat_chat::{ChatTemplate, RenderError, RenderOptions};
use backchat_core::diagnostic::shortened;
use backchat_core::json::Value;
use backchat_core::text::slice;

/// How generation blocks differ from the mask, and in which conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct WrongBlocks {
    fault: Fault,
    messages: Value,
}

#[derive(Clone, Debug, PartialEq)]
enum Fault {
    NotCompiled(RenderError),
    NotRendered(RenderError),
    /// A block changes the text of the render.
    OtherText,
    /// What the blocks mark, and what the assistant wrote: quoted and shortened.
    OtherSpans {
        marked: Option<String>,
        wanted: Option<String>,
    },
}

impl fmt::Display for WrongBlocks {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let messages = &self.messages;
        let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "nothing".to_owned());
        match &self.fault {
            Fault::NotCompiled(error) => error.fmt(out),
            Fault::NotRendered(error) => write!(out, "{error} on {messages}"),
            Fault::OtherText => write!(out, "a block changes the render of {messages}"),
            Fault::OtherSpans { marked, wanted } => {
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
    let wrong = |fault, messages| WrongBlocks { fault, messages };
    let template = ChatTemplate::compile(source).map_err(|error| wrong(Fault::NotCompiled(error), Value::Null))?;
    for case in cases {
        check(&template, case, options, own_blocks).map_err(|fault| wrong(fault, case.messages.clone()))?;
    }
    Ok(cases.len())
}

fn check(template: &ChatTemplate, case: &Case, options: &RenderOptions, own_blocks: bool) -> Result<(), Fault> {
    let rendered = template.render(&case.context, options).map_err(Fault::NotRendered)?;
    if rendered.text != case.text {
        return Err(Fault::OtherText);
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
        return Err(Fault::OtherSpans { marked, wanted });
    }
    Ok(())
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
