//! Parses a template as Jinja2 does, and collects the variables it uses.

pub(crate) mod survey;
pub(crate) mod syntax;
