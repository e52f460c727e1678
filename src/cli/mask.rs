//! `render --mask`: the spans that were asked for, as JSON, and the mask of tokens.

use std::sync::Arc;

use clap::ValueEnum;

use backchat_chat::{ChatTemplate, RenderOptions};
use backchat_core::json::{Object, Value};
use backchat_parser::tokens::{Tokenizer, Tokens};
use backchat_probe::chats::{self, MaskPart, MaskRule, Masked};

/// A part as the command line names it.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Part {
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

impl From<Part> for MaskPart {
    fn from(part: Part) -> Self {
        match part {
            Part::Assistant => Self::Assistant,
            Part::Last => Self::Last,
            Part::Content => Self::Content,
            Part::Reasoning => Self::Reasoning,
            Part::Calls => Self::Calls,
            Part::Tags => Self::Tags,
        }
    }
}

/// A rule as the command line names it.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Rule {
    /// Those with a character in the span
    Overlap,
    /// Those that transformers takes
    Reference,
}

impl From<Rule> for MaskRule {
    fn from(rule: Rule) -> Self {
        match rule {
            Rule::Overlap => Self::Overlap,
            Rule::Reference => Self::Reference,
        }
    }
}

/// The tokens that a mask is asked for.
#[derive(Clone)]
pub enum Tokenized<'t> {
    /// None.
    None,
    /// Those of the caller, by their offsets.
    Offsets(&'t Value),
    /// Those that the tokenizer makes.
    By(Arc<Tokenizer>, MaskRule),
    /// Those of the caller, by their ids.
    Ids(Arc<Tokens>, Vec<u32>, MaskRule),
}

/// Renders and masks; the answer's entries are `text`, `assistant_spans`, `parts`, and `mask` if there are offsets, or
/// `token_ids` and `token_mask` if there is a tokenizer.
pub(super) fn answer(
    template: &ChatTemplate,
    context: &Object,
    options: &RenderOptions,
    wanted: &[Part],
    tokenized: Tokenized<'_>,
) -> Result<Object, String> {
    let wanted: Vec<MaskPart> = wanted.iter().copied().map(MaskPart::from).collect();
    let masked = chats::mask(template, context, options).map_err(|error| error.to_string())?;
    let mut answer = Object::new();
    match tokenized {
        Tokenized::None => {}
        Tokenized::Offsets(offsets) => {
            let offsets = bounds(&masked, offsets)?;
            answer.insert("mask".to_owned(), bits(&masked.mask_of(&offsets, &wanted, MaskRule::Overlap)));
        }
        Tokenized::By(tokenizer, rule) => {
            let masked = masked.token_mask(&tokenizer, &wanted, rule).map_err(|error| error.to_string())?;
            add_tokens(&mut answer, &masked.ids, &masked.mask);
        }
        Tokenized::Ids(tokens, ids, rule) => {
            let mask = masked.mask_of_ids(&tokens, &ids, &wanted, rule).map_err(|error| error.to_string())?;
            add_tokens(&mut answer, &ids, &mask);
        }
    }
    let spans = masked.spans_of(&wanted);
    let list = spans.iter().map(|(start, end)| Value::List(vec![(*start).into(), (*end).into()])).collect();
    answer.insert("assistant_spans".to_owned(), Value::List(list));
    let parts = masked.parts.iter().map(|part| {
        Value::from([
            ("message", part.message.into()),
            ("part", part.part.name().into()),
            ("start", part.start.into()),
            ("end", part.end.into()),
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

fn add_tokens(answer: &mut Object, ids: &[u32], mask: &[bool]) {
    answer.insert("token_ids".to_owned(), Value::List(ids.iter().map(|id| i64::from(*id).into()).collect()));
    answer.insert("token_mask".to_owned(), bits(mask));
}

fn bits(mask: &[bool]) -> Value {
    Value::List(mask.iter().map(|is_in| i64::from(*is_in).into()).collect())
}

/// Offsets as a caller writes them.
fn bounds(masked: &Masked, offsets: &Value) -> Result<Vec<(usize, usize)>, String> {
    let malformed = || "`offsets` should be a list of [start, end] pairs in code points".to_owned();
    let length = masked.text.chars().count();
    let mut bounds = Vec::new();
    for offset in offsets.as_list().ok_or_else(malformed)? {
        let bound = |index: usize| {
            let value = offset.as_list()?.get(index)?.as_i64()?;
            usize::try_from(value).ok()
        };
        let (start, end) = bound(0).zip(bound(1)).ok_or_else(malformed)?;
        if start > end || end > length {
            return Err(format!("the offset [{start}, {end}] is outside of the render ({length} code points)"));
        }
        bounds.push((start, end));
    }
    Ok(bounds)
}
