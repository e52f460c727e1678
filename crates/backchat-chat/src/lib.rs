//! Renders chat templates as transformers does.
//!
//! [`ChatTemplate`] compiles a template and renders conversations; it can record what the template reads.
//! A template passes through three stages: `jinja::syntax` parses it as Jinja2 does, `jinja::survey` collects the
//! variables and constants it uses, and `engine::compile` resolves its names. `engine::evaluator` runs the result on
//! Python's `values` with the filters, tests, functions and methods of `builtins`.

mod aliases;
mod builtins;
mod engine;
mod jinja;
mod origin;
mod render;
pub mod source;
mod switches;
mod values;

pub use aliases::alias_reasoning;
pub use engine::clock::{Instant, Stopwatch, check_time};
pub use engine::context::Prepared;
pub use engine::limits::{is_budget_spent, set_budget};
pub use engine::read_recorder::Watched;
pub use origin::{Origin, Rendered};
pub use render::{ChatTemplate, RenderError, RenderErrorKind, RenderOptions, render_prepared, render_watched};
pub use switches::switches;
