//! The state of a workbench: outputs, replay and edits. It reads and writes files and prints nothing; a screen draws
//! it, and keys call its operations, which the other files of this room add.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::background::Background;
use super::chunking::{ChunkRule, Chunking};
use super::editing::Editing;
use super::finding::Inspection;
use super::library::Library;
use super::outputs::{Arrival, Outputs};
use super::playback::{Playback, Showing, Side};
use super::position::Position;
use crate::input::Problem;
use crate::replay::Recording;

/// With what a session opens.
#[derive(Clone, Debug)]
pub struct Start {
    /// The output, counted from 0.
    pub output: usize,
    /// Where to go.
    pub at: Option<Position>,
    /// How the output is cut; by default as recorded, or else one character at a time.
    pub chunking: Option<Chunking>,
    /// Whose answer is shown.
    pub showing: Showing,
    /// What to say first.
    pub notice: Option<String>,
    /// Whether the user types the output, from its end on.
    pub typing: bool,
}

/// A session.
pub struct Session {
    /// The outputs, and what was read of the open one.
    pub library: Library,
    /// The recordings, and the way through them.
    pub playback: Playback,
    /// What was typed.
    pub editing: Editing,
    /// What to say until the next key.
    pub notice: Option<String>,
}

/// How often to look whether more of an output has arrived.
const AWAITED: Duration = Duration::from_millis(40);

impl Session {
    /// Opens an output. If it cannot be read but another one can, the session opens with the problem.
    pub fn new(outputs: Box<dyn Outputs>, start: &Start) -> Result<Self, Problem> {
        let names = outputs.names().to_vec();
        let output = start.output.min(names.len().saturating_sub(1));
        let (material, problem) = match outputs.material(output) {
            Ok(material) => (material, None),
            Err(problem) => match (0..names.len()).find_map(|other| outputs.material(other).ok()) {
                Some(material) => (material, Some(problem)),
                None => return Err(problem),
            },
        };
        let is_known = |chunking: &&Chunking| chunking.rule != ChunkRule::Recorded || material.chunks.is_some();
        let asked = start.chunking.as_ref().filter(is_known).cloned();
        let is_cut_as_asked = asked.is_some();
        let chunking = asked.unwrap_or_else(|| material.default_chunking());
        let mut session = Self {
            playback: Playback::new(chunking, is_cut_as_asked, start.showing, start.at),
            library: Library {
                verdicts: vec![None; names.len()],
                outputs,
                names,
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
        self.look_around();
        if self.library.is_awaited {
            self.set_moment(|recording, _| recording.end());
        }
        self.go_to_opening();
        match (self.playback.sides.len(), start.at) {
            (2.., None) => self.show_difference(),
            _ => self.set_verdict_notice(),
        }
        if start.chunking.is_some() && !self.playback.is_cut_as_asked {
            self.notice = Some("how this output was cut was not recorded".to_owned());
        }
        if self.notice.is_none() {
            self.notice.clone_from(&start.notice);
        }
        if start.typing {
            self.start_typing();
        }
    }

    /// The recording that is moved through, and its moment. A second side follows it.
    pub fn side(&self) -> Option<&Side> {
        self.playback.sides.first()
    }

    /// The recording that is moved through.
    pub fn recording(&self) -> Option<&Recording> {
        self.side().map(|side| &side.recording)
    }

    /// Does a little of what takes long; true if the screen changes.
    pub fn work(&mut self, now: Instant) -> Worked {
        let grown = self.take_more(now) | self.take_added() | self.take_read();
        let played = self.play(now);
        let searched = self.go_on_searching(now);
        let judged = self.judge_one();
        let proved = self.hear_proof();
        let inspected = self.go_on_inspecting();
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

    /// The files that are shown.
    pub fn files(&self) -> Vec<PathBuf> {
        self.library.outputs.files(self.library.output)
    }
}

/// The result of a little work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worked {
    /// Whether what is shown of the open output changed.
    pub changed: bool,
    /// Whether an output of the list was judged.
    pub judged: bool,
}
