//! The workbench: a terminal screen on which an output is replayed through the parser, step by step.
//!
//! [`App`] is the state, moved by actions alone; `view` draws it; `term` owns the terminal; [`run`] puts them
//! together. What the workbench works on, and what it may do to it, is the caller's [`Desk`].

mod action;
mod app;
mod at;
mod chunking;
mod clock;
mod desk;
mod editor;
mod keys;
mod line;
mod panes;
pub mod review;
mod screen;
mod signals;
mod term;
mod theme;
mod view;

#[cfg(test)]
mod tests;

pub use action::Effect;
pub use app::{App, Showing, Start};
pub use at::At;
pub use chunking::{ChunkRule, Chunking};
pub use desk::{Arrival, Conversation, Derived, Desk, Material, Problem, Proof, Proving, Rival, View};
pub use screen::run;
pub use theme::Theme;
