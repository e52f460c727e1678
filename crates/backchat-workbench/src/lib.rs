//! What works on response templates: lint, check, replay, repair, and the pages and screens that show it.

pub mod answers;
pub mod audit;
pub mod check;
pub mod input;
pub mod lint;
pub mod repair;
pub mod replay;
pub mod report;
#[cfg(feature = "tui")]
pub mod session;
pub mod suite;
#[cfg(feature = "tui")]
pub mod tui;
