//! Rendered chats: which characters the assistant wrote, and the way back from the text to the messages.

mod assemble;
mod chat;
mod definitions;
mod frames;
mod generation;
mod mask;
mod needles;
mod script;
#[cfg(test)]
mod tests;
mod text;
mod token_mask;
mod unrender;
mod walk;

pub use chat::{Ambiguity, Chat, NotRendered, Offset};
pub use generation::{NotPatched, Patched, add_generation_blocks, check_generation_blocks};
pub(crate) use mask::mask_with;
pub use mask::{Masked, Part, PartSpan, mask};
pub use token_mask::{MaskPart, MaskRule, NotTheRender, TokenMask};
pub use unrender::{Unrenderer, unrender};
