//! Renders chat templates as transformers does.
//!
//! [`ChatTemplate`] compiles a template and renders conversations; it can record what the template reads.
//! A template passes through three stages: `jinja::syntax` parses it as Jinja2 does, `jinja::survey` collects the
//! variables and constants it uses, and `engine::compile` resolves its names. `engine::evaluator` runs the result on
//! Python's `values` with the filters, tests, functions and methods of `builtins`.

mod aliases;
mod builtins;
mod continued;
mod engine;
mod jinja;
mod origin;
mod render;
pub mod source;
mod switches;
mod values;

pub use aliases::alias_reasoning;
pub use continued::render_continued;
pub use engine::budget::{Budget, charge, ended, examine, interruptible, left};
pub use engine::clock::{Instant, Stopwatch, check_time};
pub use engine::context::Prepared;
pub use engine::detail_recorder::{Details, Taken, Valued};
pub use engine::outcome_recorder::{Assumed, Change, Decision, Ran, Relation};
pub use engine::read_recorder::Watched;
pub use engine::strftime::clock_words;
pub use jinja::branches::{Branched, Branches, Branching, branches};
pub use jinja::misspelt::{A_METHOD, A_ROLE, Misspelt, misspelt};
pub use jinja::misspelt_marker::{MisspeltMarker, misspelt_markers};
pub use jinja::nodes::{Branch, Node, NodeKind, nodes};
pub use jinja::reading::{
    Binding, BindingKind, Block, Literal, Lookup, Mention, Part, Piece, PieceKind, Reading, Role, Scope, SyntaxProblem,
    Tag, TagKind, ValueKind, filter_names, function_names, reading, tag_names, test_names,
};
pub use jinja::value_kind::A_LOOP;
pub use origin::{Origin, Rendered};
pub use render::{
    ChatTemplate, RenderError, RenderErrorKind, RenderOptions, assuming, canonical, render_explained, render_prepared,
    render_recorded, render_watched, spells,
};
pub use switches::{LISTS, switches, with_members};
