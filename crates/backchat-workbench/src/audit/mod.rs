//! The causes of problems in many outputs: counted, ranked, and compared with gates; pure data, in constant memory.

mod gate;
mod tally;

pub use gate::{Gate, Limit};
pub use tally::{Cause, Counted, Example, Output, Tally};
