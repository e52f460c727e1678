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

pub use backchat_core::REASONING_KEYS;
pub use context::context;
pub use conversation::{
    Answer, Call, Changes, Message, PART_BREAK, ReasoningInput, after_tool, call, call_with, mentions_reasoning,
    name_in_id,
};
pub use prober::{Prober, Setting};
pub use renderer::Renderer;
pub use request::{role_of, said, text_part};
pub use request_shape::{Absent, Offer, RequestShape};
pub use stand_ins::{missing_tokens, stand_ins};
pub use tools::{describe, json_type};

/// The default clock for examining a chat template: fixed, so that results do not depend on the day.
pub const NOW: &str = "2026-01-01T00:00:00";

pub(crate) use context::Context;
pub(crate) use key::Known;
