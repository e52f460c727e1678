//! What is being replayed and where in it one is: plain data. `replaying` and `stepping` move it.

use std::time::Instant;

use super::chunking::Chunking;
use super::clock::Clock;
use super::position::Position;
use super::search::Search;
use crate::replay::{CutSearch, Difference, Moment, Recording, Stop};
use backchat_parser::parser::Mode;

/// The recordings of an output, and the way through them.
pub struct Playback {
    /// How the output is cut.
    pub chunking: Chunking,
    /// Whether the user chose the chunking, rather than left it to the default.
    pub is_cut_as_asked: bool,
    /// Whose answer is shown.
    pub showing: Showing,
    /// One recording, or two side by side; none while the output cannot be read.
    pub sides: Vec<Side>,
    /// The first difference between the two sides.
    pub difference: Option<Difference>,
    /// The events that make the message differ from the expected one, or look wrong if none is known.
    pub wrong: Vec<usize>,
    /// Whether steps and numbers count every chunk, rather than adjacent chunks as one.
    pub every_event: bool,
    /// The breakpoints.
    pub stops: Vec<Stop>,
    /// What was searched for, and where it is.
    pub search: Option<Search>,
    /// When the next chunk is due.
    pub clock: Clock,
    /// The search for a cut that changes the reference's answer.
    pub cut_search: Option<RunningSearch>,
    /// Counts the recordings that were made or changed.
    pub generation: u64,
    /// Counts the moves: equal counts mean no move in between, not even to the same moment.
    pub moves: u64,
    /// The byte of the output that was gone to, and the nearest moment that the chunks allow.
    pub(super) target: Option<(usize, Moment)>,
    /// Where to open, until that is reached.
    pub(super) opening_at: Option<Position>,
}

/// A search that is running.
pub struct RunningSearch {
    /// The search.
    pub search: CutSearch,
    /// When it began.
    pub began: Instant,
}

impl Playback {
    /// Nothing recorded yet.
    pub(super) fn new(chunking: Chunking, is_cut_as_asked: bool, showing: Showing, at: Option<Position>) -> Self {
        Self {
            chunking,
            is_cut_as_asked,
            showing,
            sides: Vec::new(),
            difference: None,
            wrong: Vec::new(),
            every_event: false,
            stops: Vec::new(),
            search: None,
            clock: Clock::default(),
            cut_search: None,
            generation: 0,
            moves: 0,
            target: None,
            opening_at: at,
        }
    }
}

/// A recording on the screen.
pub struct Side {
    /// Its name if there are two.
    pub name: String,
    /// The recording.
    pub recording: Recording,
    /// The moment that is shown.
    pub moment: Moment,
}

/// What is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Showing {
    /// One recording.
    One(Mode),
    /// Stable and reference, side by side.
    Modes,
    /// The template and a second one, side by side.
    Templates(Mode),
    /// Without policies of recovery and with all of them, side by side.
    Recovery,
}

impl Showing {
    /// The modes of the sides.
    pub(super) fn modes(self) -> Vec<Mode> {
        match self {
            Showing::One(mode) => vec![mode],
            Showing::Modes => vec![Mode::Stable, Mode::Reference],
            Showing::Templates(mode) => vec![mode, mode],
            Showing::Recovery => vec![Mode::Stable, Mode::Stable],
        }
    }

    /// Whose answer a command line would show.
    pub fn mode(self) -> Mode {
        match self {
            Showing::One(mode) | Showing::Templates(mode) => mode,
            Showing::Modes | Showing::Recovery => Mode::Stable,
        }
    }
}

/// What a mode is called.
pub fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Stable => "stable",
        Mode::Reference => "reference",
    }
}
