//! A session of the workbench: outputs that are replayed, edited, blessed and verified. Data and operations,
//! independent of the terminal; it prints nothing.
//!
//! [`Session`] is the state, and each file adds its operations; [`Outputs`] is its input, and [`OutputSet`] the outputs of a
//! command line. `tui` draws a session, and `cli/replay` opens one.

mod background;
mod chunking;
mod differences;
mod editing;
mod findings;
mod opening;
mod output_set;
mod outputs;
mod playback;
mod recording;
mod search;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use self::background::Background;
use self::findings::{Applied, Inspection};
use self::recording::BackgroundRead;
use crate::replay::{ChunkRule, Chunking, CutSearch, Difference, Moment, Recording, Side, Stop};
use backchat_parser::parser::Mode;
use backchat_parser::template::Template;

pub use self::editing::{Change, Edit};
pub use self::output_set::{GeneratedOutput, Origin, OutputSet, Request, Stdin, derived};
pub use self::outputs::{
    Conversation, Derived, Finding, Material, OtherTemplate, Outputs, Proof, ProofTask, RepairTask, View,
};
pub use self::playback::{Clock, Position, Step};
pub use self::recording::Verdict;
pub use self::search::{Hit, Query, Search};
pub use crate::input::{Arrival, Problem};
pub use crate::repair::Effect;

#[derive(Clone, Debug, Default)]
pub struct Start {
    /// The output, counted from 0.
    pub output: usize,
    pub at: Option<Position>,
    /// How the output is cut; by default as recorded, or else one character at a time.
    pub chunking: Option<Chunking>,
    pub showing: Showing,
    pub notice: Option<String>,
    /// Whether the user types the output, from its end on.
    pub typing: bool,
}

pub struct Session {
    /// The outputs, and what was read of the open one.
    pub library: Library,
    /// The recordings, and the position in them.
    pub playback: Playback,
    pub editing: Editing,
    /// The notice shown until the next key.
    pub notice: Option<String>,
}

/// How often to check whether more of an output has arrived.
const AWAITED: Duration = Duration::from_millis(40);

impl Session {
    /// Opens an output. If it cannot be read but another one can, the session opens with the problem.
    pub fn new(outputs: Box<dyn Outputs>, start: &Start) -> Result<Self, Problem> {
        let count = outputs.names().len();
        let output = start.output.min(count.saturating_sub(1));
        let (material, problem) = match outputs.material(output) {
            Ok(material) => (material, None),
            Err(problem) => match (0..count).find_map(|other| outputs.material(other).ok()) {
                Some(material) => (material, Some(problem)),
                None => return Err(problem),
            },
        };
        let is_known = |chunking: &&Chunking| chunking.rule != ChunkRule::Recorded || material.chunks.is_some();
        let asked = start.chunking.as_ref().filter(is_known).cloned();
        let is_cut_as_asked = asked.is_some();
        let chunking = asked.unwrap_or_else(|| material.default_chunking());
        let mut session = Self {
            playback: Playback {
                chunking,
                is_cut_as_asked,
                showing: start.showing,
                opening_at: start.at,
                ..Playback::default()
            },
            library: Library {
                verdicts: vec![None; count],
                outputs,
                output,
                material,
                problem: None,
                shown_verdict: None,
                prover: Background::default(),
                inspection: Inspection::default(),
                is_awaited: false,
                reading: None,
                rest_until: None,
            },
            editing: Editing::default(),
            notice: None,
        };
        match problem {
            Some(problem) => session.cannot_show(problem),
            None => session.begin(start),
        }
        Ok(session)
    }

    fn begin(&mut self, start: &Start) {
        self.library.is_awaited = self.library.outputs.arrival(self.library.output) != Arrival::Whole;
        self.record();
        self.inspect_output();
        if self.library.is_awaited {
            self.set_moment(|recording, _| recording.end());
        }
        self.go_to_opening();
        match (self.playback.sides.len(), start.at) {
            (2.., None) => self.show_difference(),
            _ => self.set_verdict_notice(),
        }
        if start.chunking.is_some() && !self.playback.is_cut_as_asked {
            self.say("the chunks of this output were not recorded");
        }
        if self.notice.is_none() {
            self.notice.clone_from(&start.notice);
        }
        if start.typing {
            self.start_typing();
        }
    }

    /// Shows a notice until the next key.
    pub fn say(&mut self, notice: impl Into<String>) {
        self.notice = Some(notice.into());
    }

    /// Shows why an operation has no result.
    fn refuse<T>(&mut self, notice: impl Into<String>) -> Option<T> {
        self.say(notice);
        None
    }

    /// The recording that is stepped through, and its moment. A second side follows it.
    pub fn side(&self) -> Option<&Side> {
        self.playback.sides.first()
    }

    pub fn recording(&self) -> Option<&Recording> {
        self.side().map(|side| &side.recording)
    }

    /// Does a slice of background work.
    pub fn work(&mut self, now: Instant) -> Worked {
        let grown = self.read_arrived(now) | self.take_added() | self.take_background_read();
        let played = self.play(now);
        let searched = self.continue_cut_search(now);
        let judged = self.judge_one();
        let proved = self.poll_proof();
        let inspected = self.continue_inspection();
        let is_news = judged == Some(self.library.output) || (judged.is_some() && !self.has_unjudged());
        Worked { changed: grown || played || searched || proved || inspected || is_news, judged: judged.is_some() }
    }

    /// Whether there is work that should not wait.
    pub fn is_busy(&self) -> bool {
        self.playback.cut_search.is_some() || self.has_unjudged()
    }

    /// How long until something is due.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        let piece = self.library.is_partial().then_some(AWAITED);
        self.playback.clock.wait(now).into_iter().chain(piece).min()
    }

    pub fn files(&self) -> Vec<PathBuf> {
        self.library.outputs.files(self.library.output)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worked {
    /// Whether the view of the open output changed.
    pub changed: bool,
    /// Whether an output of the list was judged.
    pub judged: bool,
}

/// The outputs of a session.
pub struct Library {
    /// The outputs and their operations.
    outputs: Box<dyn Outputs>,
    /// The open output, counted from 0.
    pub output: usize,
    /// Its material, from the last successful read.
    pub material: Material,
    /// Why the current files cannot be read.
    pub problem: Option<Problem>,
    /// The verdict on each output, in stable mode, as far as they were judged.
    pub verdicts: Vec<Option<Verdict>>,
    shown_verdict: Option<Verdict>,
    prover: Background<Template, Proof>,
    inspection: Inspection,
    /// Whether more of the open output may arrive.
    pub is_awaited: bool,
    /// The open output while it is read, if it is large.
    reading: Option<BackgroundRead>,
    /// When the next part of it may be read.
    rest_until: Option<Instant>,
}

impl Library {
    /// The outputs, by name.
    pub fn names(&self) -> &[String] {
        self.outputs.names()
    }

    /// The name of the open output.
    pub fn name(&self) -> &str {
        self.names().get(self.output).map_or("", String::as_str)
    }

    /// Whether the open output is incomplete.
    pub fn is_partial(&self) -> bool {
        self.is_awaited || self.reading.is_some()
    }

    /// How much of the open output was read, in percent, while it is read.
    pub fn percent_read(&self) -> Option<usize> {
        self.reading.as_ref().map(BackgroundRead::percent)
    }
}

pub fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Stable => "stable",
        Mode::Reference => "reference",
    }
}

/// The recordings of an output, and the position in them.
#[derive(Default)]
pub struct Playback {
    pub chunking: Chunking,
    /// Whether the user chose the chunking, rather than left it to the default.
    pub is_cut_as_asked: bool,
    pub showing: Showing,
    /// One recording, or two side by side; none while the output cannot be read.
    pub sides: Vec<Side>,
    pub difference: Option<Difference>,
    /// The events that make the message differ from the expected one, or look wrong if none is known.
    pub wrong: Vec<usize>,
    /// Whether steps and numbers count every chunk, rather than adjacent chunks as one.
    pub every_event: bool,
    pub stops: Vec<Stop>,
    pub search: Option<Search>,
    /// When the next chunk is due.
    pub clock: Clock,
    /// The search for a cut that changes the reference's answer, and when it began.
    pub cut_search: Option<(CutSearch, Instant)>,
    /// A counter of new and changed recordings.
    pub generation: u64,
    /// A counter of moves: equal counts mean no move in between, not even to the same moment.
    pub moves: u64,
    /// The requested byte of the output, and the nearest moment that the chunks allow.
    target: Option<(usize, Moment)>,
    /// Where to open, until that is reached.
    opening_at: Option<Position>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Showing {
    One(Mode),
    /// Stable and reference, side by side.
    Modes,
    /// The template and a second one, side by side.
    Templates(Mode),
    /// Without recovery policies and with all of them, side by side.
    Recovery,
}

impl Default for Showing {
    fn default() -> Self {
        Self::One(Mode::Stable)
    }
}

impl Showing {
    /// Which answer a command line would show.
    pub fn mode(self) -> Mode {
        match self {
            Showing::One(mode) | Showing::Templates(mode) => mode,
            Showing::Modes | Showing::Recovery => Mode::Stable,
        }
    }
}

#[derive(Debug, Default)]
pub struct Editing {
    /// Whether keys are typed as text.
    pub is_typing: bool,
    /// The applied repairs, in order.
    applied: Vec<Applied>,
    /// The typed outputs.
    pub edits: HashMap<usize, Edit>,
    /// Whether there is a file to open in an editor.
    pub can_edit: bool,
    /// Whether the template can be derived again.
    pub can_derive: bool,
}
