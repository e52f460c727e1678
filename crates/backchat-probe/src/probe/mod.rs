//! Probes a chat template: conversations in which every text is a needle, passed in a form that the template takes,
//! each rendered once.

mod conversation;
mod key;
pub mod marks;
pub mod needle;
mod prober;
mod renderer;
mod request;
mod request_shape;
pub mod schema;
pub mod steady;
mod tools;

pub use conversation::{
    Answer, Call, Message, PART_BREAK, REASONING_KEYS, ReasoningInput, after_tool, call, call_with, mentions_reasoning,
    name_in_id,
};
pub use prober::{Prober, Setting};

/// The default clock for examining a chat template: fixed, so that results do not depend on the day.
pub const NOW: &str = "2026-01-01T00:00:00";

pub(crate) use renderer::{Renderer, context, key_of};
pub(crate) use request::{role_of, said, text_part};
pub use request_shape::{Absent, Offer, RequestShape};
pub use tools::json_type;
