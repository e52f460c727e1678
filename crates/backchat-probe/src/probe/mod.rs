//! Probes a chat template: conversations in which every text is a needle, passed in a form that the template takes,
//! each rendered once.

mod context;
mod conversation;
mod key;
pub mod marks;
pub mod needle;
mod prober;
mod renderer;
mod request;
mod request_shape;
pub mod schema;
mod stand_ins;
pub mod steady;
mod tools;

/// The usual message keys for reasoning.
pub use backchat_parser::deltas::REASONING_KEYS;
pub use conversation::{
    Answer, Call, Message, PART_BREAK, ReasoningInput, after_tool, call, call_with, mentions_reasoning, name_in_id,
};
pub use prober::{Prober, Setting};

/// The default clock for examining a chat template: fixed, so that results do not depend on the day.
pub const NOW: &str = "2026-01-01T00:00:00";

pub(crate) use context::{Context, context};
pub(crate) use key::Known;
pub(crate) use renderer::Renderer;
pub(crate) use request::{role_of, said, text_part};
pub use request_shape::{Absent, Offer, RequestShape};
pub use stand_ins::missing_tokens;
pub(crate) use stand_ins::stand_ins;
pub use tools::json_type;
