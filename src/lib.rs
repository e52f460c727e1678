//! Backchat: the workbench for response templates.

pub mod chat;
pub mod diagnostic;
pub mod json;
