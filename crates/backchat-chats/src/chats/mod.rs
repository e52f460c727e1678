//! Rendered chats: who wrote which characters, their ids, and parsing a render back into its messages.

mod assemble;
mod authors;
#[cfg(test)]
pub(crate) mod byte_level;
mod chat;
mod definitions;
mod frames;
mod generation;
mod mask;
mod needles;
mod sanitized;
mod script;
#[cfg(test)]
mod tests;
mod text;
mod token_mask;
mod unrender;
mod walk;

use backchat_chat::{ChatTemplate, RenderOptions};
use backchat_core::json::Object;

use backchat_probe::probe::Prober;

pub use authors::{Author, authors};
pub use chat::{Ambiguity, Chat, NotRendered, Offset};
pub use generation::{NotPatched, Patched, WrongBlocks, add_generation_blocks, check_generation_blocks};
pub(crate) use mask::mask_with;
pub use mask::{Masked, Part, PartSpan, mask};
pub use sanitized::{Sanitized, Sanitizer};
pub use token_mask::{MaskPart, MaskRule, NotTheRender, TokenMask};
pub use unrender::{Unrenderer, unrender};

/// The error for a template that renders no answer, with the template's own error if it raises one.
fn no_answer(template: &ChatTemplate, variables: &Object, options: &RenderOptions) -> String {
    let error = Prober::with_options(template, variables, options.clone()).refuses_answers();
    let reason = error.map(|error| format!(": {error}")).unwrap_or_default();
    format!("the template renders no conversation with an answer{reason}")
}
