//! The causes of problems in many outputs: counted, ranked, and compared with gates; pure data, in constant memory.

mod cause;
mod gate;
mod observed;
mod tally;

pub use cause::{Cause, NEAR_MARKER, OutputCause, UNKNOWN_MARKER, is_gone, wrong_closer};
pub use gate::{Counts, Gate, Limit};
pub use observed::{Example, Observed, Output};
pub use tally::{Counted, Tally};
