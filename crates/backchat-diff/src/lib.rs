//! What changes for whom between two chat templates, two response templates, or two models.
//!
//! Both are asked: they render the same conversations, or parse the same texts, and what differs is reduced to the
//! smallest conversation for each difference.

/// The JSON Schema of comparisons as JSON.
pub const SCHEMA: &str = include_str!("diff.schema.json");

mod compare;
mod json;
mod kinds;
pub mod messages;
mod models;
mod pieces;
mod response;
mod search;
mod side;
mod templates;
mod text;

pub use kinds::{Conversation, Dim};
pub use models::{Model, ModelDiff, models};
pub use response::{ParseChange, Parsed, ResponseDiff, response_templates};
pub use search::{Coverage, Idle, Untaken};
pub use side::{Chat, Outcome};
pub use templates::{
    Case, Change, ChatDiff, Drafts, FactChange, LineHunk, Options, Problem, Touched, Turn, Verdict, What,
    chat_templates,
};
