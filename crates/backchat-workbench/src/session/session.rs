//! The state of a workbench: outputs, replay and edits. It reads and writes files and prints nothing; a screen draws
//! it, and keys call its operations, which are in the other files of this module.

use super::chunking::{ChunkRule, Chunking};
use super::material::{Background, Inspection, Material, Proof};
use super::outputs::{Arrival, Outputs};
use super::playback::{Playback, Position, Showing, Side};
use super::reading::{BackgroundRead, Verdict};
use crate::input::Problem;
use crate::replay::Recording;
use backchat_parser::template::Template;
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(Clone, Debug)]
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
    pub(super) fn refuse<T>(&mut self, notice: impl Into<String>) -> Option<T> {
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

    /// Does a slice of background work; true if the screen changes.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worked {
    /// Whether what is shown of the open output changed.
    pub changed: bool,
    /// Whether an output of the list was judged.
    pub judged: bool,
}

/// The outputs of a session.
pub struct Library {
    /// The outputs and their operations.
    pub(super) outputs: Box<dyn Outputs>,
    pub names: Vec<String>,
    /// The open output, counted from 0.
    pub output: usize,
    /// Its material, from the last successful read.
    pub material: Material,
    /// Why the current files cannot be read.
    pub problem: Option<Problem>,
    /// The verdict on each output, in stable mode, as far as they were judged.
    pub verdicts: Vec<Option<Verdict>>,
    /// The verdict on the answer that is shown.
    pub(super) shown_verdict: Option<Verdict>,
    pub(super) prover: Background<Template, Proof>,
    pub(super) inspection: Inspection,
    /// Whether more of the open output may arrive.
    pub is_awaited: bool,
    /// The open output while it is read, if it is large.
    pub(super) reading: Option<BackgroundRead>,
    /// When more of it is read at the earliest.
    pub(super) rest_until: Option<Instant>,
}

impl Library {
    /// Whether only a part of the open output is shown.
    pub fn is_partial(&self) -> bool {
        self.is_awaited || self.reading.is_some()
    }

    /// How much of the open output was read, in percent, while it is read.
    pub fn percent_read(&self) -> Option<usize> {
        self.reading.as_ref().map(BackgroundRead::percent)
    }
}

#[derive(Debug, Default)]
pub struct Editing {
    /// Whether keys are typed as text.
    pub is_typing: bool,
    /// The applied repairs, in order.
    pub(super) applied: Vec<Applied>,
    /// The outputs that were typed on, as they are now.
    pub edits: HashMap<usize, Edit>,
    /// Whether there is a file to open in an editor.
    pub can_edit: bool,
    /// Whether the template can be derived again.
    pub can_derive: bool,
}

#[derive(Clone, Debug)]
pub struct Edit {
    pub text: String,
    /// The lengths of its chunks, in characters.
    pub lengths: Vec<usize>,
}

#[derive(Clone, Debug)]
pub struct Applied {
    pub(super) file: PathBuf,
    /// Its text before and after.
    pub(super) before: String,
    pub(super) after: String,
    /// The change in words.
    pub(super) message: String,
    /// Whether the proof after it was reported.
    pub(super) is_proved: bool,
}
