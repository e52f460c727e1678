//! What the response template reads: the values of arguments, ids that hold names, and, without a chat template, the
//! plainest turns.

mod assumed;
mod named_ids;
mod reads;

pub use assumed::assume;
pub(crate) use named_ids::{NamedIds, first_of};
pub(crate) use reads::Reads;
