//! Python's semantics on plain Rust types: white space, numbers, the methods of `str`, `str` and `repr`, JSON text.
//!
//! A function here returns what CPython 3.11 returns, unless its comment states a limit. None of them knows the
//! engine's values, a limit or a template: callers charge for the work and word the errors.

pub mod json;
pub mod number;
pub mod printable;
pub mod space;
mod spelling;
pub mod text;

pub use spelling::{quoted, repr, spelling, write_quoted};
