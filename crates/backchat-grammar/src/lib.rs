//! Grammars of a model's valid outputs: for one request, every output that the wire can carry, and only outputs that
//! the response template parses without a malformed region.
//!
//! [`build`] turns the wire and the schemas of the request's tools into rules; the writers spell them for an engine,
//! and [`Grammar::matcher`] follows a text through them without one.

mod automaton;
mod builder;
mod call;
mod custom;
mod grammar;
mod markers;
mod notes;
mod reader;
mod request;
mod rules;
mod schema;
mod turn;
mod value;
mod write;

pub use builder::{Builder, build};
pub use grammar::{Fed, Grammar, Matcher, SpecialToken};
pub use notes::{Effect, Note};
pub use reader::assume;
pub use request::{CUSTOM_INPUT, is_custom_tool, tool_name};
pub use request::{Choice, Presence, Reasoning, Request, render_prompt, shown_tools};
pub use turn::Trigger;
pub use write::{Format, Layout, SCHEMA, Written, engines, names_special_tokens, result, written};
