//! Parses a template as Jinja2 does, and collects the variables it uses and the names and markers it misspells.

mod arithmetic;
pub(crate) mod branches;
pub(crate) mod canonical;
pub(crate) mod misspelt;
pub(crate) mod misspelt_marker;
pub(crate) mod nodes;
pub(crate) mod reading;
pub(crate) mod survey;
pub(crate) mod syntax;
mod typo;
pub(crate) mod value_kind;
