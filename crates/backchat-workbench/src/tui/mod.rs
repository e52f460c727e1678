//! The workbench: a terminal screen on which an output is replayed through the parser, step by step.
//!
//! [`App`] is a session and its layout on the screen, changed only by keys and the mouse; `view` draws it; `term` owns the terminal; [`run`] connects them. [`review`] is a second screen.

mod app;
mod diff;
mod editor;
mod emoji;
mod keys;
mod line;
mod mismatch;
mod panes;
pub mod review;
mod screen;
mod signals;
mod term;
mod theme;
mod view;

#[cfg(test)]
mod tests;

pub use app::{App, Effect};
pub use screen::run;
pub use theme::Theme;
