//! The files of a suite: a model's template and fixtures, and the CI configuration of a repository.
//!
//! Paths in a suite are relative to the file that contains them, so that the suite can be moved.

mod home;
mod recorded;
mod repository;

pub use home::{CHAT_TEMPLATE, CONFIG, FIXTURES, Home};
pub use recorded::{Recorded, recorded};
pub use repository::{ATTRIBUTES, HOOKS, WORKFLOW, badge, hooks, lists, with_line, workflow};
