//! The base of every crate of Backchat: JSON that keeps the text of numbers, Python's semantics of values, and
//! diagnostics.

pub mod diagnostic;
pub mod files;
pub mod json;
pub mod python;
#[cfg(feature = "serde")]
pub mod serde;
pub mod text;
pub mod unicode;

pub use diagnostic::{Diagnostic, Severity};
pub use json::Value;

/// The keys of a message that hold reasoning, the most common name first.
pub const REASONING_KEYS: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

/// Adds an item unless the list has it; returns whether it was added.
pub fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) -> bool {
    let is_new = !list.contains(&item);
    if is_new {
        list.push(item);
    }
    is_new
}

/// The items without duplicates, in the order of their first occurrences.
pub fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut list = Vec::new();
    for item in items {
        push_new(&mut list, item);
    }
    list
}
