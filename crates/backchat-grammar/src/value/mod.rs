//! How values are spelled in a call: as JSON, as Python prints them, or in a dialect.

pub(crate) mod native;
mod style;

pub(crate) use style::{Space, Style, unquoted_json};
