//! Explains why no blocks can be placed: the first text of the assistant whose start or end is at no position of the
//! source, whose ends are in different bodies, or whose source also writes other text.

use super::case::{Case, Span, fit};
use super::condition::Condition;
use super::pairs::{Pair, marks_only_answers};
use super::source::{self, Piece};
use super::traces::Trace;
use backchat_core::diagnostic::shortened;
use backchat_core::text::slice;

/// The reason, with the text, the conversation, and the lines of the source.
pub(super) fn why(pieces: &[Piece], cases: &[Case], traces: &[Trace]) -> String {
    let spans =
        || cases.iter().zip(traces).flat_map(|(case, trace)| case.spans.iter().map(move |span| (case, trace, span)));
    if let Some((case, span, what)) =
        spans().find_map(|(case, trace, span)| Some((case, span, missing(case, trace, span)?)))
    {
        return format!("{what} the assistant's text {}, in {}", quoted(case, span), case.messages);
    }
    let parted = spans().find_map(|(case, trace, span)| Some((case, span, parted(pieces, case, trace, span)?)));
    if let Some((case, span, what)) = parted {
        return format!("the assistant's text {} {what}, in {}", quoted(case, span), case.messages);
    }
    let shared = spans().find_map(|(case, trace, span)| {
        let pairs = pairs(pieces, case, trace, span);
        // A block that fits only this text is not an obstacle.
        let is_free = pairs.iter().any(|pair| marks_only_answers(pieces, pair, cases, traces));
        let pair = pairs.first().filter(|_| !is_free)?;
        let (other, text) = other_text(pair, cases, traces)?;
        Some((case, span, *pair, other, text))
    });
    match shared {
        Some((case, span, pair, other, text)) => {
            let (first, last) = (line(pieces, pair.from), line(pieces, pair.to));
            let (own, text) = (quoted(case, span), short(text));
            format!(
                "lines {first} to {last} of the source write the assistant's text {own}, and {text} in {}",
                other.messages
            )
        }
        None => "no non-overlapping blocks cover exactly the assistant's text".to_owned(),
    }
}

fn quoted(case: &Case, span: &Span) -> String {
    short(slice(&case.text, span.start..span.end))
}

fn short(text: &str) -> String {
    shortened(&format!("{text:?}"), 80).into_owned()
}

/// The line of the source on which a piece begins.
fn line(pieces: &[Piece], at: usize) -> usize {
    1 + pieces.iter().take(at).map(|piece| piece.text.matches('\n').count()).sum::<usize>()
}

/// Why the source has no position for a span.
fn missing(case: &Case, trace: &Trace, span: &Span) -> Option<&'static str> {
    if starts(case, trace, span).next().is_none() {
        return Some("one expression writes the header and the beginning of");
    }
    (!trace.iter().any(|(at, _)| *at == span.end)).then_some("one expression writes the stop, and what follows it, of")
}

/// The steps of a trace at which a span may begin.
fn starts<'t>(case: &'t Case, trace: &'t Trace, span: &'t Span) -> impl Iterator<Item = usize> + 't {
    let begins = move |at: usize| at <= span.text && (at >= span.start || case.is_blank(at, span.start));
    trace.iter().enumerate().filter(move |(_, (at, _))| begins(*at)).map(|(step, _)| step)
}

/// The pairs of places in one body at both ends of a span.
fn pairs(pieces: &[Piece], case: &Case, trace: &Trace, span: &Span) -> Vec<Pair> {
    let mut found = Vec::new();
    for step in starts(case, trace, span) {
        let Some((start, from)) = trace.get(step) else { continue };
        let body = source::body_at(pieces, *from);
        let ends = trace.iter().skip(step + 1).filter(|(end, to)| *end == span.end && to > from);
        for (end, to) in ends.filter(|(_, to)| source::body_at(pieces, *to) == body) {
            if fit(case, span, *start, *end).is_some() {
                found.push(Pair::plain(*from, *to, Condition::Always));
            }
        }
    }
    found
}

/// Where a span begins and ends, if no body of the source holds both.
fn parted(pieces: &[Piece], case: &Case, trace: &Trace, span: &Span) -> Option<String> {
    if !pairs(pieces, case, trace, span).is_empty() {
        return None;
    }
    let (_, from) = trace.get(starts(case, trace, span).last()?)?;
    let (_, to) = trace.iter().find(|(at, _)| *at == span.end)?;
    let (begun, ended) = (source::body_at(pieces, *from)?, source::body_at(pieces, *to)?);
    let (first, last) = (line(pieces, *from), line(pieces, *to));
    let only_in = |one: &[usize], other: &[usize]| {
        let tag = one.iter().find(|tag| !other.contains(tag)).and_then(|tag| pieces.get(*tag));
        tag.map(|tag| shortened(&tag.text, 60))
    };
    Some(match (only_in(&begun, &ended), only_in(&ended, &begun)) {
        (Some(tag), None) => format!("begins on line {first} inside `{tag}`, and ends on line {last} outside of it"),
        (None, Some(tag)) => format!("begins on line {first}, and ends on line {last} inside `{tag}`"),
        (Some(one), Some(other)) => {
            format!("begins on line {first} inside `{one}`, and ends on line {last} inside `{other}`")
        }
        (None, None) => format!("begins on line {first}, and ends on line {last} of an earlier iteration or call"),
    })
}

/// The first text between the places of a pair that is not the assistant's, with its conversation.
fn other_text<'c>(pair: &Pair, cases: &'c [Case], traces: &[Trace]) -> Option<(&'c Case, &'c str)> {
    cases.iter().zip(traces).find_map(|(case, trace)| {
        let mut start = None;
        trace.iter().find_map(|(at, place)| {
            if *place == pair.from {
                start = Some(*at);
            }
            let begin = start.filter(|_| *place == pair.to)?;
            start = None;
            let is_own = case.spans.iter().any(|span| fit(case, span, begin, *at).is_some());
            case.text.get(begin..*at).filter(|text| !is_own && !text.is_empty()).map(|text| (case, text))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::{cases, trace};
    use super::*;
    use backchat_chat::{ChatTemplate, RenderOptions};
    use backchat_core::json::Object;

    #[test]
    fn a_reason_names_the_lines_and_the_tags_in_the_way() {
        let prompt = "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
        for (source, wanted) in [
            (
                "{% for m in messages %}\n{% if m.role == 'assistant' %}\n<assistant>{{ m.content }}\n\
                 {% else %}<user>{{ m.content }}{% endif %}\n<end>",
                "the assistant's text \"Qz000001q\\n<end>\" begins on line 3 inside `{% if m.role == 'assistant' %}`, and \
                 ends on line 5 outside of it, in [",
            ),
            (
                "{% for m in messages %}\n<{{ m.role }}>{{ m.content }}<end>",
                "lines 2 to 2 of the source write the assistant's text \"Qz000001q<end>\", and \"Qz000000q<end>\" in [",
            ),
        ] {
            let source = format!("{source}{prompt}");
            let template = ChatTemplate::compile(&source).unwrap();
            let options = RenderOptions::default();
            let cases = cases(&template, &Object::new(), &options);
            assert!(!cases.is_empty(), "{source}");
            let pieces = source::cut(&source);
            let traces = trace(&pieces, &source, &cases, &options).unwrap();
            let reason = why(&pieces, &cases, &traces);
            assert!(reason.starts_with(wanted), "{reason}");
        }
    }
}
