//! A session of the workbench: outputs that are replayed, edited, blessed and verified. Data and operations,
//! independent of the terminal; it prints nothing.
//!
//! [`Session`] is the state; [`Outputs`] is what it works on, and [`OutputSet`] the outputs of a command line. `tui`
//! draws a session, and `cli/replay` opens one.

mod arriving;
mod chunking;
mod cutting;
mod editing;
mod findings;
mod material;
mod moving;
mod opening;
mod output_set;
mod outputs;
mod playback;
mod reading;
mod recording;
mod search;
mod searching;
#[expect(clippy::module_inception, reason = "the state that the room is named for")]
mod session;

pub use crate::input::Problem;
pub use crate::repair::Effect;
pub use arriving::holds_cases;
pub use chunking::{ChunkRule, Chunking};
pub use editing::Change;
pub use material::{Conversation, Derived, Finding, Material, OtherTemplate, Proof, ProofTask, RepairTask};
pub use moving::Step;
pub use output_set::{GeneratedOutput, Origin, OutputSet, Request, Stdin, derived};
pub use outputs::{Arrival, Outputs, View};
pub use playback::{Clock, Playback, Position, RunningSearch, Showing, Side, mode_name};
pub use reading::Verdict;
pub use recording::Departure;
pub use search::{Hit, Query, Search};
pub use session::{Edit, Editing, Library, Session, Start, Worked};
