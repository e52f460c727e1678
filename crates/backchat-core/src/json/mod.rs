//! JSON as Python reads and writes it.
//!
//! Everything Backchat handles is JSON at some point: templates, tools, messages, arguments. The reference
//! implementation reads it with `json.loads`, whose dialect is wider than the standard (NaN, infinities, lone
//! surrogates, integers of any length), keeps the order of keys and the last of duplicate ones, and a diagnostic needs
//! the byte positions of values. No general crate gives all three, so this room does.

mod map;
mod number;
mod place;
mod plain;
mod read;
mod value;
mod write;

pub use map::Map;
pub use map::{IntoIter, Iter, IterMut, MapEntry};
pub use number::Number;
pub use place::offset_as_written;
// The positions of values in their text: for diagnostics.
pub use place::{Path, Places, Step};
pub use read::{Entry, MAX_DEPTH, read_entries, read_with_places};
pub use read::{Error, ErrorKind, read};
pub use read::{read_noting_duplicates, read_with_places_at, value_at};
pub use value::{Object, Value, equal_by};
pub use write::escape;

/// A list of texts.
pub fn texts<T: AsRef<str>>(texts: &[T]) -> Value {
    Value::List(texts.iter().map(|text| text.as_ref().into()).collect())
}

/// The entries of an object, to change.
pub fn entries_mut(value: &mut Value) -> Option<&mut Object> {
    match value {
        Value::Object(entries) => Some(entries),
        _ => None,
    }
}
