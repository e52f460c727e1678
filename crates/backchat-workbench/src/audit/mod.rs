//! The causes of problems in many outputs: counted, ranked, and compared with gates; pure data, in constant memory.

mod cause;
mod example;
mod gate;
mod tally;

pub use cause::Cause;
pub use example::Example;
pub use gate::{Gate, Limit};
pub use tally::{Counted, Output, Tally};
