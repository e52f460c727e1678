//! What every crate of Backchat builds on: JSON that keeps the text of numbers, Python's semantics of values, and diagnostics.

pub mod diagnostic;
pub mod json;
pub mod python;
#[cfg(feature = "serde")]
pub mod serde;
pub mod text;

pub use diagnostic::{Diagnostic, Severity};
pub use json::Value;
