//! What differs between two messages, why, and which messages differ for the same reason.
//!
//! Every command that compares many messages groups them with this: two response templates, a suite, outputs that two
//! templates read, a review, a page.

mod cause;
mod compare;
mod groups;

pub use cause::cause;
pub use compare::{Difference, differences, differing_keys};
pub use groups::{Group, groups, shape};
