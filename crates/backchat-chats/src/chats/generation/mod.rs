//! A template with generation blocks: the same renders, byte for byte, and spans of the assistant's text.
//!
//! Markers between the pieces of the source show where each piece writes; the pieces whose markers are at the ends of
//! the masked spans get the tags. The result is always rendered and compared first.

mod build;
mod case;
mod condition;
mod gathered;
mod pairs;
mod proof;
mod reason;
mod several;
mod source;
mod traces;

use std::iter;

use self::build::build;
use self::case::{Case, cases};
use self::condition::Condition;
use self::pairs::{Pair, choose};
pub use self::proof::WrongBlocks;
use self::proof::prove;
use self::source::Piece;
use self::traces::{Trace, trace};
use crate::line_ends::as_in_file;
use backchat_chat::{Budget, ChatTemplate, RenderOptions, ended, examine};
use backchat_core::json::Object;

/// A template with generation blocks, and its proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patched {
    /// The template.
    pub template: String,
    /// How many conversations render to the same bytes and have the spans of the mask.
    pub conversations: usize,
    /// Expressions that had to be split, or duplicated under a condition, because no block could enclose them.
    pub rewritten: Vec<String>,
    /// Whether the template already had blocks, which were checked and left unchanged.
    pub had_blocks: bool,
    /// Whether some blocks begin in the header of a turn, as far as the generation prompt writes that, because they can
    /// begin nowhere else.
    pub begins_in_header: bool,
}

/// Why a template cannot be given generation blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotPatched {
    /// The problem.
    pub message: String,
}

impl std::fmt::Display for NotPatched {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for NotPatched {}

/// Compares a template's own generation blocks with [`mask`](super::mask()): the number of conversations in which they
/// mark the assistant's text, or the first text they get wrong. `None` if the template has no blocks, or renders no
/// conversation.
pub fn check_generation_blocks(
    template: &ChatTemplate,
    variables: &Object,
    options: &RenderOptions,
) -> Option<Result<usize, WrongBlocks>> {
    if !template.has_generation_blocks() {
        return None;
    }
    examine(Budget::default(), || {
        let cases = cases(template, variables, options);
        let checked = (!cases.is_empty()).then(|| prove(template.source(), &cases, options, true));
        // Without the rest of the conversations, those that agree prove nothing.
        checked.filter(|checked| checked.is_err() || ended().is_none())
    })
}

/// Adds generation blocks to a template.
pub fn add_generation_blocks(source: &str, variables: &Object, options: &RenderOptions) -> Result<Patched, NotPatched> {
    examine(Budget::default(), || {
        let patched = patch(source, variables, options);
        ended().map_or(patched, |why| Err(NotPatched { message: format!("the examination ended early: {why}") }))
    })
}

fn patch(source: &str, variables: &Object, options: &RenderOptions) -> Result<Patched, NotPatched> {
    let not = |message: String| NotPatched { message };
    let template = ChatTemplate::compile(source).map_err(|error| not(error.to_string()))?;
    let cases = cases(&template, variables, options);
    if cases.is_empty() {
        return Err(not(super::no_answer(&template, variables, options)));
    }
    if template.has_generation_blocks() {
        return match prove(source, &cases, options, true) {
            Ok(conversations) => Ok(Patched {
                template: source.to_owned(),
                conversations,
                rewritten: Vec::new(),
                had_blocks: true,
                begins_in_header: false,
            }),
            Err(message) => Err(not(format!("the template's own generation blocks are wrong: {message}"))),
        };
    }
    let file = source;
    let source = template.source();
    let pieces = source::cut(source);
    let traces = trace(&pieces, source, &cases, options)
        .ok_or_else(|| not("the template reads its own output: no place for a block can be found".to_owned()))?;
    let mut found = place(&pieces, &cases, &traces, options);
    if found.is_err() {
        // Conventions differ on the text that the generation prompt writes, so a block may begin in it.
        let mut lenient = cases;
        lenient.iter_mut().for_each(|case| case.is_lenient = true);
        let patched = place(&pieces, &lenient, &traces, options);
        found = patched.map(|patched| Patched { begins_in_header: true, ..patched }).or(found);
    }
    found.map(|patched| Patched { template: as_in_file(&patched.template, file), ..patched })
}

/// One block per span if possible, else several in a row, else text that is captured and split. A condition duplicates a
/// part of the source, so blocks without conditions are tried first.
fn place(pieces: &[Piece], cases: &[Case], traces: &[Trace], options: &RenderOptions) -> Result<Patched, NotPatched> {
    let mut singles = (0..12).map_while(|skip| choose(pieces, cases, traces, skip)).peekable();
    let several = |conditions: &[Condition]| several::choose(pieces, cases, traces, conditions);
    let repeats = singles.peek().is_some_and(|pairs| pairs.iter().any(|pair| pair.condition.is_any()));
    let plain = repeats.then(|| several(&[])).flatten();
    let gathered = || gathered::choose(pieces, cases, traces);
    let last = iter::once_with(|| several(&[Condition::Own]))
        .chain(iter::once_with(|| several(&[Condition::Own, Condition::Previous, Condition::Last])))
        .chain(iter::once_with(gathered))
        .flatten();
    let mut message = None;
    let mut refuted: Vec<Vec<Pair>> = Vec::new();
    for pairs in plain.into_iter().chain(singles).chain(last).take_while(|_| ended().is_none()) {
        if refuted.contains(&pairs) {
            continue;
        }
        let Some(patched) = build(pieces, &pairs, cases) else { continue };
        match prove(&patched.template, cases, options, false) {
            Ok(conversations) => return Ok(Patched { conversations, ..patched }),
            Err(why) => message = Some(why.to_string()),
        }
        refuted.push(pairs);
    }
    Err(NotPatched { message: message.unwrap_or_else(|| reason::why(pieces, cases, traces)) })
}
