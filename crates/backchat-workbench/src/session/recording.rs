//! Records the open output in the requested chunks and modes, a large one in the background; judges outputs.

use super::{Material, Session};
use crate::replay::{
    ChunkRule, Chunking, Recording, Recovery, Run, Side, TooLarge, first_difference, gives, problem_in_words,
};
use backchat_core::diagnostic::Diagnostic;
use backchat_core::text::slice;
use backchat_parser::parser::{Mode, Policies};
use backchat_parser::template::Template;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

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

/// A mode as the command line names it.
pub fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Stable => "stable",
        Mode::Reference => "reference",
    }
}

/// An output longer than this, in bytes, is read in the background.
const LARGE: usize = 1 << 17;

/// How much of it is shown until then.
const FIRST: usize = 1 << 15;

pub(super) struct BackgroundRead {
    task: JoinHandle<Option<Read>>,
    /// The byte up to which it was parsed; the task stops once only it holds this.
    reached: Arc<AtomicUsize>,
    /// How many bytes are to be read, those of each side.
    size: usize,
    /// The percentage that was shown last.
    shown: usize,
}

struct Read {
    sides: Result<Vec<Side>, TooLarge>,
    verdict: Verdict,
}

impl BackgroundRead {
    fn start(material: &Material, chunking: &Chunking, showing: Showing) -> Self {
        let reached = Arc::new(AtomicUsize::new(0));
        let (mine, material, chunking) = (Arc::clone(&reached), material.clone(), chunking.clone());
        let sides = if matches!(showing, Showing::One(_)) { 1 } else { 2 };
        let size = (material.prefix.len() + material.output.len()) * sides;
        let read = move || {
            let mut last = 0;
            let goes_on = |end: usize| {
                mine.fetch_add(end.saturating_sub(last), Ordering::Relaxed);
                last = end;
                Arc::strong_count(&mine) > 1
            };
            let sides = material.record(&chunking, showing, material.text(), Extent::Whole, goes_on);
            (Arc::strong_count(&mine) > 1).then(|| Read { sides, verdict: judge(&material) })
        };
        Self { task: thread::spawn(read), reached, size, shown: 0 }
    }

    /// How much of it was read, in percent.
    pub fn percent(&self) -> usize {
        (self.reached.load(Ordering::Relaxed) * 100 / self.size.max(1)).min(99)
    }
}

/// How much of a text is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// All of it; its end is final.
    Whole,
    /// All that has arrived; more may follow.
    Open,
    /// Its beginning.
    Start,
}

impl Material {
    /// The output read whole, in one way or in two.
    pub fn sides(&self, chunking: &Chunking, showing: Showing) -> Result<Vec<Side>, TooLarge> {
        self.record(chunking, showing, self.text(), Extent::Whole, |_| true)
    }

    /// The prompt and the output as one text.
    fn text(&self) -> Arc<str> {
        [self.prefix.as_str(), &self.output].concat().into()
    }

    /// Records the output; `text` is the prompt and the output. `goes_on` is called with the end of each chunk, and
    /// returns whether to continue.
    fn record(
        &self,
        chunking: &Chunking,
        showing: Showing,
        text: Arc<str>,
        extent: Extent,
        mut goes_on: impl FnMut(usize) -> bool,
    ) -> Result<Vec<Side>, TooLarge> {
        let ends = || chunking.ends(&self.output, self.chunks.as_deref());
        let text = match extent {
            Extent::Whole | Extent::Open => text,
            Extent::Start => {
                let end = ends().take_while(|end| *end <= FIRST).last().unwrap_or(0);
                slice(&text, ..self.prefix.len() + end).into()
            }
        };
        let mut record = |name: &str, template: &Template, mode: Mode, policies: Policies| {
            let recovery = Recovery { policies, ..self.recovery };
            let run = Run { recovery, ..self.run(template, mode) };
            let ends = ends().map(|end| self.prefix.len() + end);
            let ends = ends.take_while(|end| *end <= text.len() && goes_on(*end));
            let recording = match extent {
                Extent::Whole => Recording::of_text(&run, Arc::clone(&text), ends)?,
                Extent::Open | Extent::Start => Recording::of_open_text(&run, Arc::clone(&text), ends)?,
            };
            Ok(Side::new(name, recording))
        };
        let (own, policies) = (&self.template, self.recovery.policies);
        match (showing, &self.other) {
            (Showing::Recovery, _) => Ok(vec![
                record("without policies", own, Mode::Stable, Policies::none())?,
                record("with all policies", own, Mode::Stable, Policies::all())?,
            ]),
            (Showing::Templates(mode), Some(other)) => Ok(vec![
                record(&self.template_file, own, mode, policies)?,
                record(&other.name, &other.template, mode, policies)?,
            ]),
            (Showing::Modes, _) => {
                let both = [Mode::Stable, Mode::Reference].into_iter();
                both.map(|mode| record(mode_name(mode), own, mode, policies)).collect()
            }
            (Showing::One(mode) | Showing::Templates(mode), _) => {
                Ok(vec![record(mode_name(mode), own, mode, policies)?])
            }
        }
    }
}

/// The notice about the stable mode.
const STABLE: &str = "stable: one answer however the output is cut";

impl Session {
    pub fn rechunk(&mut self, chunking: Chunking) {
        if chunking.rule == ChunkRule::Recorded && self.library.material.chunks.is_none() {
            return self.say("the chunks of this output were not recorded");
        }
        self.playback.chunking = chunking;
        self.playback.is_cut_as_asked = true;
        self.record();
        self.say(self.playback.chunking.to_string());
    }

    /// Shows the next of: stable, reference, both, and two templates if there are two.
    pub fn switch_mode(&mut self) {
        let templates = self.library.material.other.is_some();
        self.playback.showing = match self.playback.showing {
            Showing::One(Mode::Stable) => Showing::One(Mode::Reference),
            Showing::One(Mode::Reference) => Showing::Modes,
            Showing::Modes if templates => Showing::Templates(Mode::Stable),
            Showing::Templates(Mode::Stable) => Showing::Templates(Mode::Reference),
            Showing::Modes | Showing::Templates(Mode::Reference) | Showing::Recovery => Showing::One(Mode::Stable),
        };
        self.record();
        if self.playback.sides.len() > 1 {
            self.show_difference();
        } else {
            self.say(match self.playback.showing {
                Showing::One(Mode::Reference) => "reference: transformers' answer for these chunks",
                _ => STABLE,
            });
        }
    }

    /// Shows the output without policies and with all of them, side by side; or leaves that view.
    pub fn switch_recovery(&mut self) {
        if self.playback.showing == Showing::Recovery {
            self.playback.showing = Showing::One(Mode::Stable);
            self.record();
            return self.say(STABLE);
        }
        self.playback.showing = Showing::Recovery;
        self.record();
        let problems = self.playback.sides.last().map_or(&[][..], |side| side.recording.problems());
        let recovered: Vec<String> =
            problems.iter().filter(|problem| problem.is_recovered).map(problem_in_words).collect();
        self.notice = Some(match (problems.len(), recovered.as_slice()) {
            (0, _) => "nothing went wrong: policies leave this output as it is".to_owned(),
            (_, []) => "no policy reads what went wrong here; P goes to it".to_owned(),
            (_, recovered) => format!("{}; x goes to their first difference", recovered.join("; ")),
        });
    }

    /// Parses again and keeps the position: the same text has arrived, and the end stays the end.
    pub(super) fn record(&mut self) {
        let sides = self.recordings();
        self.show(sides, None);
    }

    /// Replaces the recordings and keeps the position; `verdict` is the verdict on the output, if it is known.
    fn show(&mut self, sides: Result<Vec<Side>, TooLarge>, verdict: Option<Verdict>) {
        let before = match sides {
            Ok(sides) => std::mem::replace(&mut self.playback.sides, sides),
            Err(TooLarge) => {
                self.library.problem = Some(Diagnostic::error("too-large", TooLarge.to_string()).into());
                return;
            }
        };
        match verdict {
            Some(verdict) => self.judged(verdict),
            None => self.judge_shown(),
        }
        self.recordings_changed();
        let Some(Side { recording: before, moment, .. }) = before.into_iter().next() else {
            return self.set_moment(|recording, _| recording.start());
        };
        let has_same_text = |new: &Recording| new.text() == before.text();
        // Longer chunks may have moved the moment past the requested position, or only the beginning had been read.
        let target = self.playback.target.filter(|(_, target)| *target == moment).map(|(byte, _)| byte);
        if target.is_none() && moment == before.end() {
            self.set_moment(|recording, _| recording.end());
        } else if before.is_inside_feed(moment) && self.recording().is_some_and(has_same_text) {
            self.set_moment(|recording, _| recording.moment_like(&before, moment));
        } else {
            let byte = target.unwrap_or_else(|| before.arrived(moment).saturating_sub(before.output_start()));
            self.set_moment(|recording, _| recording.moment_before_end(recording.output_start() + byte));
            self.playback.target = self.side().map(|side| (byte, side.moment));
        }
    }

    /// Updates everything that depends on the recordings.
    pub(super) fn recordings_changed(&mut self) {
        self.playback.generation += 1;
        self.playback.difference = match self.playback.sides.as_slice() {
            [one, other] => first_difference(&one.recording, &other.recording),
            _ => None,
        };
        self.judge_events();
        self.playback.moves += 1;
    }

    /// The recordings that are shown now: all of the output, or its beginning while the rest is read.
    fn recordings(&mut self) -> Result<Vec<Side>, TooLarge> {
        let material = &self.library.material;
        let text = match self.recording() {
            // If the text is the same, it is shared with the recording before.
            Some(before) if is_joined(before.text(), &material.prefix, &material.output) => before.text().clone(),
            _ => material.text(),
        };
        let (chunking, showing) = (&self.playback.chunking, self.playback.showing);
        let extent = match self.library.is_awaited {
            true => Extent::Open,
            false if material.output.len() > LARGE => Extent::Start,
            false => Extent::Whole,
        };
        // A task for another output, or another way of parsing this one, is dropped.
        self.library.reading = None;
        let material = &self.library.material;
        let sides = material.record(chunking, showing, text, extent, |_| true)?;
        self.library.reading = (extent == Extent::Start).then(|| BackgroundRead::start(material, chunking, showing));
        Ok(sides)
    }

    /// Shows a large output once it was read; true if the screen changes.
    pub(super) fn take_background_read(&mut self) -> bool {
        let Some(reading) = self.library.reading.take_if(|reading| reading.task.is_finished()) else {
            let Some(reading) = &mut self.library.reading else { return false };
            let now = reading.percent();
            return std::mem::replace(&mut reading.shown, now) != now;
        };
        let Some(read) = reading.task.join().ok().flatten() else {
            self.say("the rest of this output could not be read");
            return true;
        };
        self.show(read.sides, Some(read.verdict));
        self.go_to_opening();
        if self.notice.is_none() {
            self.set_verdict_notice();
        }
        true
    }
}

fn is_joined(text: &str, first: &str, second: &str) -> bool {
    text.len() == first.len() + second.len() && text.starts_with(first) && text.ends_with(second)
}

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
fn judge(material: &Material) -> Verdict {
    let run = material.run(&material.template, Mode::Stable);
    let recording = Recording::new(&run, [material.output.as_str()]);
    recording.map_or(Verdict::Broken, |recording| verdict_of(material, &recording))
}

fn verdict_of(material: &Material, recording: &Recording) -> Verdict {
    match &material.expected {
        Some(expected) if gives(recording, expected) => Verdict::Passed,
        Some(_) if material.is_excused => Verdict::Excused,
        None if !recording.is_in_order() || !recording.suspicious_events().is_empty() => Verdict::Odd,
        None => Verdict::InOrder,
        Some(_) => Verdict::Failed,
    }
}

impl Session {
    pub(super) fn judge_shown(&mut self) {
        match self.library.reading {
            // A large output is judged by its background task.
            Some(_) => self.library.shown_verdict = None,
            None => self.judged(judge(&self.library.material)),
        }
    }

    /// Updates the verdict on the output that is shown.
    fn judged(&mut self, verdict: Verdict) {
        // The stable mode's answer is the same for all chunks; the reference's depends on them.
        let shown = self.recording().filter(|recording| recording.mode() == Mode::Reference);
        self.library.shown_verdict =
            Some(shown.map_or(verdict, |recording| verdict_of(&self.library.material, recording)));
        self.library.set_verdict(self.library.output, verdict);
    }

    /// The verdict on the answer that is shown. `None` if no message is expected.
    pub fn verdict(&self) -> Option<Verdict> {
        self.library.material.expected.as_ref()?;
        self.library.shown_verdict
    }

    /// Whether the last event is not as expected; at the end, whether the message is not.
    pub fn is_mismatch(&self) -> bool {
        let Some(side) = self.side().filter(|_| self.library.material.expected.is_some()) else { return false };
        match side.recording.has_ended(side.moment) {
            true => matches!(self.verdict(), Some(Verdict::Failed | Verdict::Excused)),
            false => {
                let last = side.recording.last_event(side.moment);
                last.is_some_and(|event| self.playback.wrong.binary_search(&event).is_ok())
            }
        }
    }

    /// Finds the events that are wrong or look wrong.
    pub(super) fn judge_events(&mut self) {
        self.playback.wrong = match (&self.library.material.expected, self.recording()) {
            // An event that more text may correct is not wrong yet.
            _ if self.library.is_partial() => Vec::new(),
            (Some(_), _) if self.verdict() == Some(Verdict::Passed) => Vec::new(),
            (Some(expected), Some(recording)) => recording.wrong_events(expected),
            (None, Some(recording)) => recording.suspicious_events(),
            (_, None) => Vec::new(),
        };
    }

    pub fn has_failed(&self, output: usize) -> bool {
        matches!(self.library.verdicts.get(output), Some(Some(Verdict::Failed | Verdict::Odd | Verdict::Broken)))
    }

    /// Whether outputs of a list are still to be judged.
    pub(super) fn has_unjudged(&self) -> bool {
        self.library.names().len() > 1 && self.library.verdicts.contains(&None)
    }

    /// Judges one output that was not judged yet; returns which.
    pub(super) fn judge_one(&mut self) -> Option<usize> {
        if !self.has_unjudged() {
            return None;
        }
        let output = self.library.verdicts.iter().position(Option::is_none)?;
        let verdict = self.library.outputs.material(output).map_or(Verdict::Broken, |material| judge(&material));
        self.library.set_verdict(output, verdict);
        Some(output)
    }
}
