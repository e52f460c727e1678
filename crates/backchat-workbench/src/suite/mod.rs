//! The files of a suite: a model's template and fixtures, and what checks them in a repository.
//!
//! Paths in a suite are relative to the file that holds them, so that it passes wherever it is moved as a whole.

mod home;
mod recorded;
mod repository;

pub use home::{CHAT_TEMPLATE, CONFIG, FIXTURES, Home};
pub use recorded::{Recorded, recorded};
pub use repository::{ATTRIBUTES, HOOKS, WORKFLOW, badge, hooks, with_line, workflow};
