//! What differs between two messages, why, and which messages differ for the same reason.
//!
//! Every command that compares many messages groups them with this: a suite, outputs that two templates read, a report.

mod cause;
mod compare;
mod groups;

pub use cause::{cause, cause_of_sides};
pub use compare::{Difference, differences};
pub use groups::{Group, groups, shape};
