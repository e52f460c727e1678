//! Kinds of conversations: a conversation is the smallest one and a set of dimensions.

mod conversation;
mod dims;
mod reading;
mod sets;

pub use conversation::Conversation;
pub(crate) use conversation::{conversation, object};
pub use dims::{Dim, Kind, Universe};
pub(crate) use reading::{STANDARD, is_well_formed, kind_of};
pub(crate) use sets::{kinds, near_kinds};
