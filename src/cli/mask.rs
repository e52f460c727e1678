//! `render --mask`: the spans that were asked for, as JSON, and the mask of given tokens.

use clap::ValueEnum;

use crate::chat::{ChatTemplate, RenderOptions};
use crate::chats::{self, Masked, Part};
use crate::json::{Object, Value};

/// Which part of the assistant's turns counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum MaskPart {
    /// Everything the assistant wrote
    Assistant,
    /// Everything in its last turn only
    Last,
    /// Its content
    Content,
    /// Its reasoning
    Reasoning,
    /// Its calls, with their markers
    Calls,
    /// The text in the template's own generation blocks
    Tags,
}

/// Renders and masks; the answer's entries are `text`, `assistant_spans`, `parts`, and `mask` if there are offsets.
pub(super) fn answer(
    template: &ChatTemplate,
    context: &Object,
    options: &RenderOptions,
    wanted: &[MaskPart],
    offsets: Option<&Value>,
) -> Result<Object, String> {
    let masked = chats::mask(template, context, options).map_err(|error| error.to_string())?;
    let spans = spans(&masked, wanted);
    let mut answer = Object::new();
    if let Some(offsets) = offsets {
        answer.insert("mask".to_owned(), tokens(&masked.text, &spans, offsets)?);
    }
    let list = spans.iter().map(|(start, end)| Value::List(vec![number(*start), number(*end)])).collect();
    answer.insert("assistant_spans".to_owned(), Value::List(list));
    let parts = masked.parts.iter().map(|part| {
        Value::from([
            ("message", number(part.message)),
            ("part", part.part.name().into()),
            ("start", number(part.start)),
            ("end", number(part.end)),
        ])
    });
    answer.insert("parts".to_owned(), Value::List(parts.collect()));
    if !masked.problems.is_empty() {
        let problems = masked.problems.iter().map(|problem| problem.as_str().into()).collect();
        answer.insert("problems".to_owned(), Value::List(problems));
    }
    answer.insert("text".to_owned(), masked.text.into());
    Ok(answer)
}

/// The spans that count, in order and without overlaps.
fn spans(masked: &Masked, wanted: &[MaskPart]) -> Vec<(usize, usize)> {
    let of = |part: Part| {
        let chosen = masked.parts.iter().filter(move |span| span.part == part);
        chosen.map(|span| (span.start, span.end)).collect::<Vec<_>>()
    };
    let mut all: Vec<(usize, usize)> = wanted
        .iter()
        .flat_map(|part| match part {
            MaskPart::Assistant => masked.spans.clone(),
            MaskPart::Last => masked.spans.last().copied().into_iter().collect(),
            MaskPart::Content => of(Part::Content),
            MaskPart::Reasoning => of(Part::Reasoning),
            MaskPart::Calls => of(Part::Call),
            MaskPart::Tags => masked.tags.clone(),
        })
        .collect();
    all.sort_unstable();
    let mut joined: Vec<(usize, usize)> = Vec::new();
    for (start, end) in all {
        match joined.last_mut() {
            Some((_, before)) if start < *before => *before = end.max(*before),
            _ => joined.push((start, end)),
        }
    }
    joined
}

/// One for each token that is in a span: any of its characters is, and not merely white space the span ends with.
fn tokens(text: &str, spans: &[(usize, usize)], offsets: &Value) -> Result<Value, String> {
    let malformed = || "`offsets` should be a list of [start, end] pairs in code points".to_owned();
    let characters: Vec<char> = text.chars().collect();
    let spans: Vec<(usize, usize)> = spans
        .iter()
        .map(|(start, end)| {
            let inside = characters.get(*start..*end);
            debug_assert!(inside.is_some(), "a span counts characters of the text it was found in");
            let inside = inside.unwrap_or_default();
            let kept = inside.iter().rposition(|character| !character.is_whitespace()).map_or(0, |last| last + 1);
            (*start, start + kept)
        })
        .collect();
    let mut mask = Vec::new();
    for offset in offsets.as_list().ok_or_else(malformed)? {
        let bound = |index: usize| {
            let value = offset.as_list()?.get(index)?.as_i64()?;
            usize::try_from(value).ok()
        };
        let (start, end) = bound(0).zip(bound(1)).ok_or_else(malformed)?;
        if start > end || end > characters.len() {
            return Err(format!(
                "the offset [{start}, {end}] is outside of the render ({} code points)",
                characters.len()
            ));
        }
        let next = spans.partition_point(|(_, span_end)| *span_end <= start);
        let is_in = spans.get(next).is_some_and(|(span_start, _)| *span_start < end);
        mask.push(i64::from(is_in && start < end).into());
    }
    Ok(Value::List(mask))
}

fn number(value: usize) -> Value {
    i64::try_from(value).unwrap_or(i64::MAX).into()
}
