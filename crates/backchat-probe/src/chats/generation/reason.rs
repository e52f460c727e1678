//! Why no blocks can be placed: the first text of the assistant's at whose start or end the source has no place.

use super::{Case, Span, Trace};
use backchat_core::diagnostic::shortened;
use backchat_core::text::slice;

/// The reason, with the text and the conversation.
pub(super) fn why(cases: &[Case], traces: &[Trace]) -> String {
    let spans =
        cases.iter().zip(traces).flat_map(|(case, trace)| case.spans.iter().map(move |span| (case, trace, span)));
    let found = spans.filter_map(|(case, trace, span)| Some((case, span, missing(case, trace, span)?))).next();
    let Some((case, span, what)) = found else {
        return "the assistant's text begins in one branch or loop of the source and ends in another".to_owned();
    };
    let text = format!("{:?}", slice(&case.text, span.start..span.end));
    format!("{what} the assistant's text {}, in {}", shortened(&text, 80), case.messages)
}

/// What the source lacks for a span.
fn missing(case: &Case, trace: &Trace, span: &Span) -> Option<&'static str> {
    let blank = |from: usize, to: usize| case.text.get(from..to).is_some_and(|text| text.trim().is_empty());
    let begins = |at: usize| at <= span.text && (at >= span.start || blank(at, span.start));
    if !trace.iter().any(|(at, _)| begins(*at)) {
        return Some("one expression writes the header and the beginning of");
    }
    (!trace.iter().any(|(at, _)| *at == span.end)).then_some("one expression writes the stop, and what follows it, of")
}
