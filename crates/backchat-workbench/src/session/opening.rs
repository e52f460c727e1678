//! Opens outputs: from the list, after their files changed, and while they arrive; judges each of them.

use super::Session;
use super::outputs::Material;
use super::playback::Position;
use super::recording::{Verdict, judge};
use crate::input::{Arrival, Problem};
use crate::replay::ChunkRule;
use std::time::Instant;

impl Session {
    /// Reads the files again. If they cannot be read, the last good state stays; typed text is kept in any case.
    pub fn reload(&mut self) {
        self.library.verdicts.fill(None);
        self.playback.cut_search = None;
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
        let arrival = self.library.outputs.arrival(self.library.output);
        self.library.is_awaited = arrival != Arrival::Whole;
        if arrival != Arrival::More || self.library.rest_until.is_some_and(|rest| now < rest) {
            return self.library.is_awaited != was_awaited;
        }
        let follows = self.side().is_none_or(|side| side.moment >= side.recording.before_end());
        match self.read(self.library.output) {
            Ok(material) => {
                if !self.playback.is_cut_as_asked {
                    self.playback.chunking = material.default_chunking();
                }
                self.library.is_awaited = self.library.outputs.arrival(self.library.output) != Arrival::Whole;
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
        if let Some(verdict) = self.library.verdicts.get_mut(self.library.output) {
            *verdict = Some(Verdict::Broken);
        }
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

    /// Finds out which operations the open output allows, and starts the proof and the linter.
    pub(super) fn inspect_output(&mut self) {
        self.editing.can_edit =
            self.library.material.has_template_file() || self.library.outputs.place(self.library.output).is_some();
        self.editing.can_derive = self.library.outputs.can_derive(self.library.output);
        self.start_proof();
        self.start_inspection();
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
        if let Some(slot) = self.library.verdicts.get_mut(output) {
            *slot = Some(verdict);
        }
        Some(output)
    }
}
