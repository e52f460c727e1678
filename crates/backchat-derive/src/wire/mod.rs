//! Infers the wire format of a chat template from renders: probes, traces, and the structure that they show.
//!
//! There is no per-model code. Conversations whose values are all needles are rendered in many shapes; the
//! positions of the needles show the text around each value, and shapes that differ in one thing show which text
//! belongs to it. `structure::WireFormat` is the outcome.

mod align;
mod calls;
#[cfg(test)]
mod drawn;
pub(crate) mod echoes;
mod encoded;
mod found;
mod hidden;
mod infer;
mod late;
mod pair_forms;
mod pairs;
pub(crate) mod printed;
mod repeated;
mod shapes;
pub mod structure;
#[cfg(test)]
mod support;
pub(crate) mod template_usage;
pub(crate) mod trace;
pub(crate) mod turn;
pub(crate) mod varying;
pub mod written;

pub use backchat_probe::probe::{marks, steady};
pub use found::{Wire, assumed, steady_prompt, structure_of, written_of};
pub(crate) use infer::{Reading, infer};
pub(crate) use shapes::after_history;
