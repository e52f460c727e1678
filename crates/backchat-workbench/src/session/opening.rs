//! Opens outputs: from the list, after their files changed, and while they arrive.

use super::editing::Editing;
use super::findings::Inspection;
use super::playback::{Playback, Position};
use super::recording::{BackgroundRead, Showing, Verdict};
use super::{Conversation, Material, Outputs, ProofState, Session};
use crate::input::{Arrival, Problem};
use crate::replay::{ChunkRule, Chunking};
use std::path::PathBuf;
use std::time::Instant;

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

/// Conversations at the end of the list of outputs.
#[derive(Clone, Copy, Debug)]
struct Failures {
    /// The output whose template misreads them.
    of: usize,
    first: usize,
}

/// The outputs of a session.
pub struct Library {
    /// The outputs and their operations.
    pub(super) outputs: Box<dyn Outputs>,
    /// The open output, counted from 0.
    pub output: usize,
    /// Its material, from the last successful read.
    pub material: Material,
    /// Why the current files cannot be read.
    pub problem: Option<Problem>,
    /// The conversations that a proof failed on, at the end of the list.
    failures: Option<Failures>,
    /// The verdict on each output, in stable mode, as far as they were judged.
    pub verdicts: Vec<Option<Verdict>>,
    pub(super) shown_verdict: Option<Verdict>,
    /// Whether more of the open output may arrive.
    pub is_awaited: bool,
    /// The open output while it is read, if it is large.
    pub(super) reading: Option<BackgroundRead>,
    /// When the next part of it may be read.
    rest_until: Option<Instant>,
}

impl Library {
    /// The outputs, by name.
    pub fn names(&self) -> &[String] {
        self.outputs.names()
    }

    /// The files that the open output is read from.
    pub fn files(&self) -> Vec<PathBuf> {
        self.outputs.files(self.output)
    }

    /// Whether the open output is incomplete.
    pub fn is_partial(&self) -> bool {
        self.is_awaited || self.reading.is_some()
    }

    /// How much of the open output was read, in percent, while it is read.
    pub fn percent_read(&self) -> Option<usize> {
        self.reading.as_ref().map(BackgroundRead::percent)
    }

    /// The output whose template is proved: the open one, or that of the open conversation.
    fn proved_output(&self) -> usize {
        self.failures.filter(|failures| failures.first <= self.output).map_or(self.output, |failures| failures.of)
    }

    pub(super) fn set_verdict(&mut self, output: usize, verdict: Verdict) {
        if let Some(slot) = self.verdicts.get_mut(output) {
            *slot = Some(verdict);
        }
    }

    /// Finds out whether more of the open output has arrived, or may.
    fn look_for_more(&mut self) -> Arrival {
        let arrival = self.outputs.arrival(self.output);
        self.is_awaited = arrival != Arrival::Whole;
        arrival
    }
}

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
                failures: None,
                shown_verdict: None,
                is_awaited: false,
                reading: None,
                rest_until: None,
            },
            editing: Editing::default(),
            inspection: Inspection::default(),
            notice: None,
        };
        match problem {
            Some(problem) => session.cannot_show(problem),
            None => session.begin(start),
        }
        Ok(session)
    }

    fn begin(&mut self, start: &Start) {
        self.library.look_for_more();
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

    /// Reads the files again. If they cannot be read, the last good state stays; typed text is kept in any case.
    pub fn reload(&mut self) {
        self.library.verdicts.fill(None);
        self.playback.cut_search = None;
        if self.has_another_chat_template() && self.close_failures() {
            return self.say("the chat template changed: its conversations are rendered and proved again");
        }
        match self.read(self.library.output) {
            Ok(material) => {
                let notice = self.notice.take();
                let is_same = self.is_same(&material);
                self.take(material);
                self.set_verdict_notice();
                match (notice, is_same) {
                    // Unchanged files are not reported.
                    (Some(notice), true) => self.say(notice),
                    _ if self.editing.edits.contains_key(&self.library.output) => {
                        self.say("reloaded; the typed text is kept, u undoes it");
                    }
                    _ if self.notice.is_none() && !is_same => self.say("reloaded: nothing looks wrong"),
                    _ => {}
                }
            }
            Err(problem) => {
                self.notice = None;
                match self.playback.sides.is_empty() {
                    true => self.cannot_show(problem),
                    false => self.library.problem = Some(problem),
                }
            }
        }
    }

    /// An output from its files, with typed text added.
    fn read(&self, output: usize) -> Result<Material, Problem> {
        let mut material = self.library.outputs.material(output)?;
        if let Some(edit) = self.editing.edits.get(&output) {
            material.output.clone_from(&edit.text);
            material.chunks = Some(edit.lengths.clone());
            material.expected = None;
        }
        Ok(material)
    }

    fn is_same(&self, material: &Material) -> bool {
        let now = &self.library.material;
        now.template == material.template
            && now.output == material.output
            && now.prefix == material.prefix
            && now.expected == material.expected
    }

    /// Reads newly arrived text of an output; true if the screen changes. A replay at the end stays at the end.
    pub(super) fn read_arrived(&mut self, now: Instant) -> bool {
        let was_awaited = self.library.is_awaited;
        let arrival = self.library.look_for_more();
        if arrival != Arrival::More || self.library.rest_until.is_some_and(|rest| now < rest) {
            return self.library.is_awaited != was_awaited;
        }
        let follows = self.side().is_none_or(|side| side.moment >= side.recording.before_end());
        match self.read(self.library.output) {
            Ok(material) => {
                if !self.playback.is_cut_as_asked {
                    self.playback.chunking = material.default_chunking();
                }
                self.library.look_for_more();
                self.take(material);
                if follows {
                    self.set_moment(|recording, _| recording.end());
                    self.go_to_opening();
                }
                if !self.library.is_awaited {
                    self.set_verdict_notice();
                }
            }
            Err(problem) => {
                self.notice = None;
                self.library.problem = Some(problem);
            }
        }
        // The whole text is parsed again each time: leave most of the time for the keyboard.
        self.library.rest_until = Some(now + now.elapsed() * 4);
        true
    }

    /// Adds new outputs; true if there are some. A view at the end of the last output moves to the end of the newest.
    pub(super) fn take_added(&mut self) -> bool {
        let added = self.library.outputs.take_added();
        if added.is_empty() {
            return false;
        }
        let library = &mut self.library;
        let is_at_end = self.playback.sides.first().is_none_or(|side| side.moment == side.recording.end());
        let follows = library.output + 1 == added.start && is_at_end && !self.editing.is_typing;
        library.verdicts.splice(added.start..added.start, added.clone().map(|_| None));
        let moved = |output: usize| if output >= added.start { output + added.len() } else { output };
        library.output = moved(library.output);
        library.failures =
            library.failures.map(|Failures { of, first }| Failures { of: moved(of), first: moved(first) });
        let edits = std::mem::take(&mut self.editing.edits);
        self.editing.edits = edits.into_iter().map(|(output, edit)| (moved(output), edit)).collect();
        if follows {
            self.open(added.end.saturating_sub(1));
            self.set_moment(|recording, _| recording.end());
        }
        true
    }

    /// Goes to the requested start position, once the output is that long.
    pub(super) fn go_to_opening(&mut self) {
        let Some(at) = self.playback.opening_at else { return };
        let has_come = match (at, self.recording()) {
            (Position::Character(offset), Some(recording)) => {
                offset <= recording.characters_before(recording.text().len())
            }
            (Position::Event(count), Some(recording)) => count <= recording.event_count(),
            (Position::End, _) | (_, None) => false,
        };
        if has_come || !self.library.is_partial() {
            self.playback.opening_at = None;
            self.go_to(at);
        }
    }

    /// Whether more of the output may arrive; shows a notice if so.
    pub(super) fn awaits_more(&mut self) -> bool {
        if let Some(percent) = self.library.percent_read() {
            self.say(format!("only {percent} % of this output was read so far; wait for its end"));
        } else if self.library.is_awaited {
            self.say("this output is still arriving; wait for its end");
        }
        self.library.is_partial()
    }

    fn take(&mut self, material: Material) {
        (self.library.material, self.library.problem) = (material, None);
        if self.playback.chunking.rule == ChunkRule::Recorded && self.library.material.chunks.is_none() {
            self.playback.chunking = self.library.material.default_chunking();
        }
        self.record();
        self.inspect_output();
    }

    /// Shows the problem instead of the previous output.
    pub(super) fn cannot_show(&mut self, problem: Problem) {
        self.library.set_verdict(self.library.output, Verdict::Broken);
        self.library.reading = None;
        self.playback.sides.clear();
        (self.playback.difference, self.playback.wrong) = (None, Vec::new());
        self.library.problem = Some(problem);
    }

    /// Moves forward or back in the list of outputs.
    pub fn turn_to(&mut self, forward: bool, count: usize) {
        let wanted = match forward {
            true => self.library.output.saturating_add(count).min(self.library.names().len().saturating_sub(1)),
            false => self.library.output.saturating_sub(count),
        };
        if wanted != self.library.output {
            return self.open(wanted);
        }
        self.say(match (self.library.names().len(), forward) {
            (0 | 1, _) => "there is only one output",
            (_, true) => "this is the last output",
            (_, false) => "this is the first output",
        });
    }

    pub fn open(&mut self, output: usize) {
        self.library.output = output;
        self.playback.cut_search = None;
        self.playback.target = None;
        match self.read(output) {
            Ok(material) => {
                self.playback.sides.clear();
                // Cuts belong to the output they were made in.
                self.playback.chunking.cuts.clear();
                let rule = self.playback.chunking.rule;
                if !self.playback.is_cut_as_asked || rule == ChunkRule::Recorded || material.chunks.is_some() {
                    self.playback.chunking = material.default_chunking();
                }
                self.take(material);
                self.set_verdict_notice();
            }
            Err(problem) => self.cannot_show(problem),
        }
    }

    /// Appends the failing conversations to the outputs and opens the first; returns its index.
    pub fn open_failures(&mut self) -> Option<usize> {
        let refusal = match self.proof() {
            ProofState::Done(proof) if !proof.failures.is_empty() => {
                let (failures, of) = (proof.failures.clone(), self.library.proved_output());
                let first = self.replace_failures(failures, of);
                self.library.failures = Some(Failures { of, first });
                self.open(first);
                return Some(first);
            }
            ProofState::Done(proof) => format!("all {} conversations parse back exactly", proof.cases),
            ProofState::Running => "the proof is still running".to_owned(),
            ProofState::Impossible(why) => format!("nothing is proved: {why}"),
            ProofState::Unknown => {
                "nothing to prove with: name the chat template with --chat-template SOURCE".to_owned()
            }
        };
        self.refuse(refusal)
    }

    /// Removes the conversations that the proof with another chat template failed on, and opens the output that it was
    /// about if one of them is open; true if it was.
    fn close_failures(&mut self) -> bool {
        let Some(Failures { of, .. }) = self.library.failures.take() else { return false };
        let first = self.replace_failures(Vec::new(), of);
        let was_open = self.library.output >= first;
        if was_open {
            self.open(of);
        }
        was_open
    }

    /// Replaces the conversations at the end of the list; returns the index of the first.
    fn replace_failures(&mut self, failures: Vec<Conversation>, of: usize) -> usize {
        let library = &mut self.library;
        let first = library.outputs.append_conversations(failures, of);
        library.verdicts.truncate(first);
        library.verdicts.resize(library.names().len(), None);
        self.editing.edits.retain(|output, _| *output < first);
        first
    }

    /// Finds out which operations the open output allows, and starts the proof and the linter.
    pub(super) fn inspect_output(&mut self) {
        self.editing.can_edit =
            self.library.material.has_template_file() || self.library.outputs.place(self.library.output).is_some();
        self.editing.can_derive = self.library.outputs.can_derive(self.library.output);
        self.start_inspection();
    }
}
