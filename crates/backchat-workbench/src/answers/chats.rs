//! The JSON results of `doctor`, `render --mask`, `bridge` and `unrender`.

use std::sync::Arc;

use backchat_chat::{ChatTemplate, RenderOptions};
use backchat_chats::bridge::{Bridged, Edit, Refused};
use backchat_chats::chats::{self, Chat, MaskPart, MaskRule, Masked, NotRendered, WrongBlocks};
use backchat_core::json::{Object, Value};
use backchat_parser::tokens::{Tokenizer, Tokens};
use backchat_probe::doctor::{Options, Report};

/// The output of `backchat doctor --format json`.
pub fn doctor(template: &ChatTemplate, options: &Options, report: &Report) -> Value {
    let mut entries = Object::new();
    entries.insert("capabilities", report.capabilities());
    entries.insert("agents", report.agents.to_json());
    entries.insert("renders", report.renders.into());
    match blocks(template, options) {
        Some(Ok(_)) => drop(entries.insert("blocks_agree", true.into())),
        Some(Err(why)) => {
            entries.insert("blocks_agree", false.into());
            entries.insert("blocks_disagree_where", why.to_string().into());
        }
        None => {}
    }
    if let Some(error) = &report.stopped {
        entries.insert("stopped", error.to_string().into());
    }
    Value::Object(entries)
}

/// The comparison of the template's generation blocks with the mask, if it has any.
pub fn blocks(template: &ChatTemplate, options: &Options) -> Option<Result<usize, WrongBlocks>> {
    let render = RenderOptions::default().now(options.now.clone());
    chats::check_generation_blocks(template, &options.variables, &render)
}

/// The parts of a mask by the names that commands give them, each with a description.
pub const MASK_PARTS: &[(&str, MaskPart, &str)] = &[
    ("assistant", MaskPart::Assistant, "Everything the assistant wrote"),
    ("last", MaskPart::Last, "Everything in its last turn only"),
    ("content", MaskPart::Content, "Its content"),
    ("reasoning", MaskPart::Reasoning, "Its reasoning"),
    ("calls", MaskPart::Calls, "Its calls, with their markers"),
    ("tags", MaskPart::Tags, "The text in the template's own generation blocks"),
];

/// A part of a mask by its name.
pub fn mask_part(name: &str) -> Option<MaskPart> {
    MASK_PARTS.iter().find(|(known, ..)| *known == name).map(|(_, part, _)| *part)
}

/// The tokens to mask.
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

/// The answer of `backchat render --jsonl --mask` to a row. Renders and masks; the answer's entries are `text`,
/// `assistant_spans`, `parts`, and `mask` if there are offsets, or `token_ids` and `token_mask` if there is a
/// tokenizer.
///
/// # Errors
///
/// A render that fails, malformed offsets, ids of another text.
pub fn mask(
    template: &ChatTemplate,
    context: &Object,
    options: &RenderOptions,
    wanted: &[MaskPart],
    tokenized: Tokenized<'_>,
) -> Result<Object, String> {
    let masked = chats::mask(template, context, options).map_err(|error| error.to_string())?;
    let mut answer = Object::new();
    match tokenized {
        Tokenized::None => {}
        Tokenized::Offsets(offsets) => {
            let offsets = bounds(&masked, offsets)?;
            answer.insert("mask", bits(&masked.mask_of(&offsets, wanted, MaskRule::Overlap)));
        }
        Tokenized::By(tokenizer, rule) => {
            let masked = masked.token_mask(&tokenizer, wanted, rule).map_err(|error| error.to_string())?;
            add_tokens(&mut answer, &masked.ids, &masked.mask);
        }
        Tokenized::Ids(tokens, ids, rule) => {
            let mask = masked.mask_of_ids(&tokens, &ids, wanted, rule).map_err(|error| error.to_string())?;
            add_tokens(&mut answer, &ids, &mask);
        }
    }
    let spans = masked.spans_of(wanted);
    let list = spans.iter().map(|(start, end)| Value::List(vec![(*start).into(), (*end).into()])).collect();
    answer.insert("assistant_spans", Value::List(list));
    let parts = masked.parts.iter().map(|part| span(part.message, part.part.name(), part.start, part.end));
    answer.insert("parts", Value::List(parts.collect()));
    if !masked.problems.is_empty() {
        let problems = masked.problems.iter().map(|problem| problem.as_str().into()).collect();
        answer.insert("problems", Value::List(problems));
    }
    answer.insert("text", masked.text.into());
    Ok(answer)
}

/// Where a part of a message is in the text.
fn span(message: usize, part: &str, start: usize, end: usize) -> Value {
    Value::from([("message", message.into()), ("part", part.into()), ("start", start.into()), ("end", end.into())])
}

fn add_tokens(answer: &mut Object, ids: &[u32], mask: &[bool]) {
    answer.insert("token_ids", Value::List(ids.iter().map(|id| (*id).into()).collect()));
    answer.insert("token_mask", bits(mask));
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

/// The answer of `backchat bridge --jsonl` to a row.
pub fn bridge(answer: &Result<Bridged, Refused>) -> Object {
    match answer {
        Ok(bridged) => Object::from_iter([
            ("append_ids".to_owned(), Value::List(bridged.ids.iter().map(|id| (*id).into()).collect())),
            ("text".to_owned(), bridged.text.as_str().into()),
            ("exact".to_owned(), bridged.is_exact().into()),
            ("edits".to_owned(), Value::List(bridged.edits.iter().map(edit).collect())),
            ("closed".to_owned(), bridged.closed.into()),
            ("message".to_owned(), Value::Object(bridged.message.clone())),
        ]),
        Err(Refused { kind, reason }) => {
            let refused = Value::from([("kind", kind.as_str().into()), ("reason", reason.as_str().into())]);
            Object::from_iter([("refused".to_owned(), refused)])
        }
    }
}

fn edit(edit: &Edit) -> Value {
    Value::from([
        ("start", edit.start.into()),
        ("end", edit.end.into()),
        ("text", edit.text.as_str().into()),
        ("why", edit.why.as_str().into()),
    ])
}

/// The answer of `backchat unrender --jsonl` about a text that the template does not render.
pub fn not_rendered(error: &NotRendered) -> Object {
    let error = Value::from([("at", error.at.into()), ("message", error.message.as_str().into())]);
    Object::from_iter([("error".to_owned(), error)])
}

/// The answer of `backchat unrender --jsonl` about a chat.
pub fn unrendered(chat: &Chat) -> Object {
    let mut entries = Object::new();
    let mut put = |key: &str, value: Value| drop(entries.insert(key, value));
    put("messages", Value::List(chat.messages.clone()));
    if let Some(tools) = &chat.tools {
        put("tools", tools.clone());
    }
    if let Some((start, end)) = chat.tools_text {
        put("tools_text", Value::List(vec![start.into(), end.into()]));
    }
    if !chat.variables.is_empty() {
        put("variables", Value::Object(chat.variables.clone()));
    }
    let offsets = chat.offsets.iter().map(|offset| span(offset.message, offset.part, offset.start, offset.end));
    put("offsets", Value::List(offsets.collect()));
    put("exact", chat.exact.into());
    if let Some(at) = chat.differs_at {
        put("differs_at", at.into());
    }
    put("add_generation_prompt", chat.add_generation_prompt.into());
    if chat.open {
        put("open", true.into());
    }
    if !chat.ambiguous.is_empty() {
        let all = chat
            .ambiguous
            .iter()
            .map(|ambiguity| Value::from([("message", ambiguity.message.into()), ("reason", ambiguity.reason.into())]));
        put("ambiguous", Value::List(all.collect()));
    }
    entries
}
