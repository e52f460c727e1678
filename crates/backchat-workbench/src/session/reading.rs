//! Parses a large output in the background, and judges outputs: whether the message is the expected one, or looks
//! right.

use super::chunking::Chunking;
use super::material::{Background, Material};
use super::playback::{Showing, Side, mode_name};
use crate::replay::{Recording, Recovery, Run, TooLarge, gives};
use backchat_core::text::slice;
use backchat_parser::parser::{Mode, Policies};
use backchat_parser::template::Template;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It gives the expected message.
    Passed,
    /// It gives another one.
    Failed,
    /// It gives another one, and a fixture allows that.
    Excused,
    /// There is no expectation; no region is malformed, nothing is missing, and no event looks wrong.
    InOrder,
    /// There is no expectation, and an event looks wrong or a required field is missing.
    Odd,
    /// It cannot be read.
    Broken,
}

impl Verdict {
    /// The verdict in a word or two.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Passed => "passed",
            Verdict::Failed => "failed",
            Verdict::Excused => "allowed",
            Verdict::InOrder => "in order",
            Verdict::Odd => "looks wrong",
            Verdict::Broken => "unreadable",
        }
    }

    /// The verdict as a symbol.
    pub fn mark(self) -> &'static str {
        match self {
            Verdict::Passed | Verdict::Excused => "✓",
            Verdict::InOrder => "·",
            Verdict::Odd => "!",
            Verdict::Failed | Verdict::Broken => "✗",
        }
    }
}

/// The verdict on the answer of the stable mode.
pub(super) fn judge(material: &Material) -> Verdict {
    let run = material.run(&material.template, Mode::Stable);
    let recording = Recording::new(&run, [material.output.as_str()]);
    recording.map_or(Verdict::Broken, |recording| verdict_of(material, &recording))
}

pub(super) fn verdict_of(material: &Material, recording: &Recording) -> Verdict {
    match &material.expected {
        Some(expected) if gives(recording, expected) => Verdict::Passed,
        Some(_) if material.is_excused => Verdict::Excused,
        None if !recording.is_in_order() || !recording.suspicious_events().is_empty() => Verdict::Odd,
        None => Verdict::InOrder,
        Some(_) => Verdict::Failed,
    }
}

/// An output longer than this, in bytes, is read in the background.
pub(super) const LARGE: usize = 1 << 17;

/// How much of it is shown until then.
const FIRST: usize = 1 << 15;

pub(super) struct BackgroundRead {
    task: Background<(), Read>,
    /// The byte up to which it was parsed; the task stops once only it holds this.
    reached: Arc<AtomicUsize>,
    /// How many bytes are to be read, those of each side.
    size: usize,
    /// The percentage that was shown last.
    shown: usize,
}

pub(super) struct Read {
    pub sides: Result<Vec<Side>, TooLarge>,
    pub verdict: Verdict,
}

impl BackgroundRead {
    pub fn start(material: &Material, chunking: &Chunking, showing: Showing) -> Self {
        let reached = Arc::new(AtomicUsize::new(0));
        let (mine, material, chunking) = (Arc::clone(&reached), material.clone(), chunking.clone());
        let size = (material.prefix.len() + material.output.len()) * showing.modes().len();
        let mut task = Background::default();
        let read = move || {
            let mut last = 0;
            let watched = |end: usize| {
                mine.fetch_add(end.saturating_sub(last), Ordering::Relaxed);
                last = end;
                Arc::strong_count(&mine) > 1
            };
            let sides = material.watched(&chunking, showing, watched);
            (Arc::strong_count(&mine) > 1).then(|| Read { sides, verdict: judge(&material) })
        };
        task.start((), Some(Box::new(read)));
        Self { task, reached, size, shown: 0 }
    }

    /// How much of it was read, in percent.
    pub fn percent(&self) -> usize {
        (self.reached.load(Ordering::Relaxed) * 100 / self.size.max(1)).min(99)
    }

    /// Whether the percentage changed since the last call.
    pub fn has_advanced(&mut self) -> bool {
        let now = self.percent();
        std::mem::replace(&mut self.shown, now) != now
    }

    pub fn is_running(&self) -> bool {
        self.task.is_running()
    }

    /// The output once it was read.
    pub fn take(&mut self) -> Option<Read> {
        self.task.hear();
        self.task.take()
    }
}

impl Material {
    /// The output read whole, in one way or in two.
    pub fn sides(&self, chunking: &Chunking, showing: Showing) -> Result<Vec<Side>, TooLarge> {
        self.watched(chunking, showing, |_| true)
    }

    fn watched(
        &self,
        chunking: &Chunking,
        showing: Showing,
        watched: impl FnMut(usize) -> bool,
    ) -> Result<Vec<Side>, TooLarge> {
        let text = [self.prefix.as_str(), &self.output].concat().into();
        recordings(self, chunking, showing, &text, Extent::Whole, watched)
    }
}

/// How much of a text is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of it; its end is final.
    Whole,
    /// All that has arrived; more may follow.
    Open,
    /// Its beginning.
    Start,
}

/// The recordings of an output whose prompt and text are one text. `watched` is called with the end of each chunk, and
/// returns whether to continue.
pub(super) fn recordings(
    material: &Material,
    chunking: &Chunking,
    showing: Showing,
    text: &Arc<str>,
    extent: Extent,
    mut watched: impl FnMut(usize) -> bool,
) -> Result<Vec<Side>, TooLarge> {
    let text = match extent {
        Extent::Whole | Extent::Open => Arc::clone(text),
        Extent::Start => {
            let chunks = chunking.ends(&material.output, material.chunks.as_deref());
            let end = chunks.take_while(|end| *end <= FIRST).last().unwrap_or(0);
            slice(text, ..material.prefix.len() + end).into()
        }
    };
    let mut record = |template: &Template, mode: Mode, recovery: Recovery, name: String| {
        let run = Run { recovery, ..material.run(template, mode) };
        let ends = chunking.ends(&material.output, material.chunks.as_deref());
        let ends = ends.map(|end| material.prefix.len() + end).take_while(|end| *end <= text.len() && watched(*end));
        let recording = match extent {
            Extent::Whole => Recording::of_text(&run, Arc::clone(&text), ends)?,
            Extent::Open | Extent::Start => Recording::of_open_text(&run, Arc::clone(&text), ends)?,
        };
        Ok(Side { name, moment: recording.start(), recording })
    };
    let recovery = material.recovery;
    match (showing, &material.other) {
        (Showing::Recovery, _) => {
            let with = |policies| Recovery { policies, ..recovery };
            let [off, on] = [Policies::none(), Policies::all()].map(with);
            Ok(vec![
                record(&material.template, Mode::Stable, off, "without policies".to_owned())?,
                record(&material.template, Mode::Stable, on, "with all policies".to_owned())?,
            ])
        }
        (Showing::Templates(mode), Some(other)) => Ok(vec![
            record(&material.template, mode, recovery, material.template_file.clone())?,
            record(&other.template, mode, recovery, other.name.clone())?,
        ]),
        (showing, _) => {
            let modes = showing.modes().into_iter();
            modes.map(|mode| record(&material.template, mode, recovery, mode_name(mode).to_owned())).collect()
        }
    }
}
