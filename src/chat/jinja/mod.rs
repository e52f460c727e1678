//! A template as Jinja2 reads it, and the same template in the engine's language.

pub(crate) mod intrinsics;
pub(crate) mod lowering;
pub(crate) mod survey;
pub(crate) mod syntax;
