//! A session of the workbench: outputs that are replayed, edited, blessed and verified. Data and operations; it prints
//! nothing, and holds nothing of a terminal.
//!
//! [`Session`] is the state; [`Outputs`] is what it works on, and [`OutputSet`] the outputs of a command line. `tui`
//! draws a session, and `cli/replay` opens one.

mod actions;
mod background;
mod chunking;
mod clock;
mod cutting;
mod editing;
mod expectation;
mod files;
mod finding;
mod fixture_writer;
mod followed;
mod inspecting;
mod library;
mod material;
mod opening;
mod output_set;
mod outputs;
mod piped;
mod playback;
mod playing;
mod position;
mod problems;
mod reading;
mod repairing;
mod replaying;
mod search;
mod searching;
#[expect(clippy::module_inception, reason = "the state that the room is named for")]
mod session;
mod sought;
mod stepping;
mod typing;
mod verdict;

pub use crate::input::Problem;
pub use crate::repair::Effect;
pub use actions::Change;
pub use chunking::{ChunkRule, Chunking};
pub use clock::Clock;
pub use editing::{Edit, Editing};
pub use expectation::Departure;
pub use files::holds_cases;
pub use finding::{Finding, RepairTask};
pub use library::Library;
pub use material::{Conversation, Derived, Material, OtherTemplate, Proof, ProofTask};
pub use output_set::{Given, Origin, OutputSet, Request, Stdin, derived};
pub use outputs::{Arrival, Outputs, View};
pub use playback::{Playback, RunningSearch, Showing, Side, mode_name};
pub use position::Position;
pub use search::{Hit, Search};
pub use session::{Session, Start, Worked};
pub use sought::Sought;
pub use stepping::Step;
pub use verdict::Verdict;
