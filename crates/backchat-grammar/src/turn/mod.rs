//! The turn: the order of reasoning, content and calls, and the point at which the prompt ends.

mod answer;
mod frame;
mod kind;
mod lazy;
mod parts;
mod placeholders;
mod prompt_end;
mod stops;
mod thinking;

pub(crate) use answer::answer;
pub(crate) use frame::Frames;
pub(crate) use kind::TurnKind;
pub(crate) use lazy::LazyStart;
pub use lazy::Trigger;
pub(crate) use parts::Start;
pub(crate) use placeholders::fill as fill_placeholders;
pub(crate) use prompt_end::Prompt;
pub(crate) use stops::stops;
