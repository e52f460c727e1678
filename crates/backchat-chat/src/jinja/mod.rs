//! A template as Jinja2 reads it, and what it says of its variables.

pub(crate) mod survey;
pub(crate) mod syntax;
