//! Backchat: the workbench for response templates.

pub mod chat;
#[cfg(feature = "cli")]
pub mod cli;
pub mod content;
pub mod diagnostic;
pub mod json;
pub mod pattern;
pub mod template;
