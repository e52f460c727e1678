//! HTML reports: one file each, which loads nothing, runs only its own script, and can be read without it.
//!
//! A page is a function of the results of other modules: nothing is parsed or rendered in the browser, and the same
//! results give the same bytes. Everything that a model or a template wrote is escaped text (`html`).

mod atlas;
mod audit;
mod board;
mod check;
mod colors;
mod conversation;
mod coverage;
mod cut;
mod derive;
mod diff;
mod doctor;
mod evidence;
mod html;
mod notes;
mod output;
mod page;
mod playground;
mod proof;
mod repairs;
mod replay;
mod sides;
mod stepper;
mod steps;
mod turn;

pub use self::atlas::{Charted, atlas};
pub use self::audit::{AuditPage, audit};
pub use self::board::{BoardRow, board, board_text};
pub use self::check::check;
pub use self::derive::{ProofPage, derivation, proof};
pub use self::diff::{Compared, diff};
pub use self::doctor::{Examined, doctor};
pub use self::output::Output;
pub use self::playground::Playground;
pub use self::replay::replay;
pub use self::stepper::fragment;
pub use self::steps::MOST as MOST_STEPS;
