//! The machine rows of commands as values, so that programs that embed them give the same answers.

use clap::ValueEnum;

pub use super::chat_options::NOW;
pub use super::mask::Tokenized;
use backchat_chat::{ChatTemplate, RenderOptions};
use backchat_core::json::{Object, Value};
use backchat_grammar::SpecialToken;
use backchat_probe::bridge::{Bridged, Refused};
use backchat_probe::chats::{Unrenderer, check_generation_blocks};
use backchat_probe::doctor;
use backchat_workbench::input::Problem;

/// The output of `backchat doctor --format json`.
pub fn doctor(template: &ChatTemplate, options: &doctor::Options) -> Value {
    let report = doctor::examine(template, options);
    let render = RenderOptions::default().now(options.now.clone());
    super::doctor::json(&report, check_generation_blocks(template, &options.variables, &render))
}

/// The special tokens that `backchat grammar` finds beside a model; none if the name is not a model folder or a model
/// in the cache.
///
/// # Errors
///
/// A tokenizer's file cannot be read.
pub fn special_tokens(model: &str) -> Result<Vec<SpecialToken>, Problem> {
    Ok(super::special_tokens::read(None, model)?)
}

/// The answer of `backchat render --jsonl --mask` to a row, for parts by their names.
///
/// # Errors
///
/// An unknown part, a render that fails, malformed offsets, ids of another text.
pub fn mask(
    template: &ChatTemplate,
    context: &Object,
    options: &RenderOptions,
    parts: &[String],
    tokenized: Tokenized<'_>,
) -> Result<Object, String> {
    let part = |name: &String| super::mask::Part::from_str(name, false).map_err(|_| format!("unknown part `{name}`"));
    let parts = parts.iter().map(part).collect::<Result<Vec<_>, _>>()?;
    super::mask::answer(template, context, options, &parts, tokenized)
}

/// The answer of `backchat bridge --jsonl` to a row.
pub fn bridged(answer: &Result<Bridged, Refused>) -> Object {
    super::bridge::entries(answer)
}

/// The output of `backchat unrender --format json`.
///
/// # Errors
///
/// The same as an object with the key `error`, if the template renders no such text.
pub fn unrender(
    template: &ChatTemplate,
    variables: Object,
    options: RenderOptions,
    text: &str,
) -> Result<Object, Object> {
    match Unrenderer::new(template, variables, options).unrender(text) {
        Ok(chat) => Ok(super::unrender::entries(&chat)),
        Err(error) => Err(super::unrender::departure(&error)),
    }
}
