//! JSON as Python reads and writes it.
//!
//! Everything Backchat handles is JSON at some point: templates, tools, messages, arguments. The reference
//! implementation reads it with `json.loads`, whose dialect is wider than the standard (NaN, infinities, lone
//! surrogates, integers of any length), keeps the order of keys and the last of duplicate ones, and a diagnostic needs
//! to know at which byte a value stands. No general crate gives all three, so this room does.

mod number;
mod place;
mod read;
mod value;
mod write;

pub use number::Number;
pub(crate) use place::offset_as_written;
pub use place::{Path, Places, Step};
pub(crate) use read::read_with_places_at;
pub use read::{Entry, Error, MAX_DEPTH, read, read_entries, read_with_places};
pub use value::{Object, Value};
