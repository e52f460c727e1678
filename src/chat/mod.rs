//! A chat template, rendered as transformers renders it.
//!
//! [`ChatTemplate`] compiles a template and renders conversations; it can watch what the template reads.
//! The way of a template: `syntax` reads it as Jinja2 does, `survey` notes what it says of its variables,
//! `lower` writes it anew for the engine, and `dialect` gives the engine Python's values, operators,
//! filters and tests.

mod aliases;
mod clock;
mod context;
mod dialect;
mod filters;
mod functions;
mod jinja_tests;
mod limits;
mod lower;
mod markup;
mod own_blocks;
mod python;
mod render;
pub mod source;
mod survey;
mod syntax;
mod variadic;
mod watch;

#[doc(hidden)]
pub use aliases::alias_reasoning;
pub(crate) use clock::Instant;
#[cfg(feature = "cli")]
pub(crate) use clock::check_time;
pub use render::{ChatTemplate, RenderError, RenderOptions, Rendered};
#[doc(hidden)]
pub use watch::Watched;
