//! Operations on outputs, templates and fixtures: type, edit, derive, bless, verify, copy.

use super::Session;
use super::outputs::{Proof, View};
use super::playback::Position;
use crate::input::Problem;
use crate::replay::{Chunking, Outcome, acting};
use backchat_core::diagnostic::line_column;
use backchat_core::json::{self, Value};
use backchat_core::text::slice;
use backchat_parser::parser::Mode;
use std::path::PathBuf;

/// A change of a text, to be shown before or after it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The subject of the change.
    pub title: String,
    /// The text before; empty if there was none.
    pub old: String,
    /// The text after.
    pub new: String,
}

#[derive(Clone, Debug)]
pub struct Edit {
    pub text: String,
    /// The lengths of its chunks, in characters.
    pub lengths: Vec<usize>,
}

impl Session {
    /// The file and the line to open in an editor: those of the problem; of the finding at the last event; of the part
    /// of the template that caused that event; of the output itself if the template has no file.
    pub fn place_to_edit(&mut self) -> Option<(PathBuf, usize)> {
        let problem = self.library.problem.as_ref();
        if let Some(place) = problem.and_then(|problem| problem.diagnostics.first()?.place.clone())
            && let (Some(file), Some((line, _))) = (place.file, place.line_column)
            && !file.starts_with('<')
        {
            return Some((file.into(), line));
        }
        let material = &self.library.material;
        if material.has_template_file() && !self.playback.sides.is_empty() {
            let byte = self.byte_to_edit().unwrap_or(material.template_span.start);
            let line = line_column(&material.template_text, byte).0;
            return Some((material.template_file.clone().into(), line));
        }
        let place = self.library.outputs.place(self.library.output);
        place.or_else(|| self.refuse("an editor can open neither the template nor the output: they are not in files"))
    }

    /// The byte of the template's file at which to fix the last event: its cause, not its symptom.
    fn byte_to_edit(&self) -> Option<usize> {
        let side = self.side()?;
        let last = side.recording.last_event(side.moment)?;
        let found = self.findings_at(last).find_map(|finding| finding.said.place.as_ref()?.span.clone());
        let is_wrong = self.playback.wrong.contains(&last);
        let cause = || if is_wrong { side.recording.cause(last) } else { None };
        let span = |(field, keys): (usize, &[&str])| self.span_of(side.recording.field_name(field), keys);
        found.or_else(|| span(cause()?)).or_else(|| span(acting(&side.recording, last)?)).map(|span| span.start)
    }

    /// The bytes of the template's file that hold a field's first known key of these, or the field.
    fn span_of(&self, field: &str, keys: &[&str]) -> Option<std::ops::Range<usize>> {
        let material = &self.library.material;
        let (_, places) = json::read_with_places_at(&material.template_text, material.template_span.start).ok()?;
        let path = json::Path::root().key("fields").key(field);
        let found = keys.iter().find_map(|key| places.at(&path.key(key)));
        found.or_else(|| places.at(&path)).map(|found| found.key.clone().unwrap_or_else(|| found.value.clone()))
    }

    /// Derives the template again; returns the change, if any.
    pub fn derive(&mut self) -> Result<Option<Change>, Problem> {
        if !self.editing.can_derive {
            return Ok(self.refuse("the chat template is not known: name it with --chat-template SOURCE"));
        }
        let derived = self.library.outputs.derive(self.library.output)?;
        let Some(template) = derived.template else {
            return Ok(self.refuse(format!("deriving gives no template: {}", derived.status)));
        };
        let (old, new) = (self.library.material.template.to_json(), template.to_pretty("  ") + "\n");
        if new == old {
            return Ok(self.refuse(format!("deriving gives the same template ({})", derived.status)));
        }
        Ok(Some(Change { title: format!("Derived again: {}", derived.status), old, new }))
    }

    /// The change that blessing would make in the fixture, if any.
    pub fn blessing(&mut self) -> Option<Change> {
        if self.awaits_more() {
            return None;
        }
        let recording = self.recording()?;
        if matches!(recording.outcome(), Outcome::Failed(_)) {
            return self.refuse("this output gives no message to bless");
        }
        if recording.mode() == Mode::Reference {
            return self.refuse("a fixture holds the message of the stable mode; m switches");
        }
        let new = Value::Object(recording.message(recording.end()));
        let old = self.library.material.expected.clone().map(Value::Object);
        if old.as_ref() == Some(&new) {
            return self.refuse("the fixture already holds this message");
        }
        let text = |value: &Value| value.to_pretty("  ") + "\n";
        let title = "Write this message into the fixture?".to_owned();
        Some(Change { title, old: old.as_ref().map_or_else(String::new, text), new: text(&new) })
    }

    /// Writes the message of the whole output into its fixture.
    pub fn bless(&mut self) -> Result<(), Problem> {
        let Some(recording) = self.recording() else { return Ok(()) };
        let message = recording.message(recording.end());
        let library = &mut self.library;
        let done = library.outputs.bless(library.output, &library.material, &message)?;
        if !self.editing.edits.contains_key(&library.output) {
            library.material.expected = Some(message);
        }
        self.judge_shown();
        self.judge_events();
        self.say(done);
        Ok(())
    }

    /// The command line that shows the same view.
    pub fn command(&mut self) -> Option<String> {
        let side = self.side()?;
        if self.editing.edits.contains_key(&self.library.output) {
            return self.refuse("no command shows typed text; save it in a file, and replay that");
        }
        let arrived = side.recording.characters_before(side.recording.arrived(side.moment));
        let at = match side.moment {
            moment if moment == side.recording.end() => Position::End,
            moment if side.recording.is_inside_feed(moment) => Position::Event(moment.event),
            _ => Position::Character(arrived),
        };
        let view = View { at, chunking: self.playback.chunking.clone(), showing: self.playback.showing };
        match self.library.outputs.command(self.library.output, &view) {
            Ok(text) => Some(text),
            Err(reason) => self.refuse(reason),
        }
    }

    /// The proof of the current template, once it is finished. `None` if its chat template is not known.
    pub fn proof(&self) -> Option<&Proof> {
        self.library.prover.done()
    }

    /// Starts verifying the template, unless that was done.
    pub(super) fn start_proof(&mut self) {
        let library = &mut self.library;
        if !library.prover.is_about(&library.material.template) {
            let task = library.outputs.proof_task(library.output, &library.material.template);
            library.prover.start(library.material.template.clone(), task);
        }
    }

    /// Takes the proof once it is finished; true if the screen changes.
    pub(super) fn poll_proof(&mut self) -> bool {
        let is_news = self.library.prover.poll();
        if is_news {
            // The result is shown where notices are.
            self.notice = self.proof_of_repair();
        }
        is_news
    }

    /// Appends the failing conversations to the outputs and opens the first; returns its index.
    pub fn open_failures(&mut self) -> Option<usize> {
        let Some(proof) = self.proof() else {
            return self.refuse(match self.library.prover.is_running() {
                true => "the proof is still running",
                false => "nothing to prove with: name the chat template with --chat-template SOURCE",
            });
        };
        if proof.failures.is_empty() {
            return self.refuse(format!("all {} conversations parse back exactly", proof.cases));
        }
        let failures = proof.failures.clone();
        let library = &mut self.library;
        let first = library.outputs.append_conversations(failures, library.output);
        library.verdicts.truncate(first);
        library.verdicts.resize(library.names().len(), None);
        self.editing.edits.retain(|output, _| *output < first);
        self.open(first);
        Some(first)
    }
}

/// Typing: each key is a chunk, and nothing is written to a file.
impl Session {
    /// Switches to typing at the end of the output.
    pub fn start_typing(&mut self) {
        if self.playback.sides.is_empty() || self.awaits_more() {
            return;
        }
        self.editing.is_typing = true;
        self.set_moment(|recording, _| recording.before_end());
        self.say("type or paste; each key is a chunk, esc ends");
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

    /// Ends typing, and goes to the end of the output.
    pub fn stop_typing(&mut self) {
        self.editing.is_typing = false;
        self.set_moment(|recording, _| recording.end());
    }

    /// Appends text that was pasted, as one chunk.
    pub fn paste(&mut self, text: &str) {
        if self.playback.sides.is_empty() || self.awaits_more() {
            return;
        }
        self.editing.is_typing = true;
        // Terminals send a carriage return for each line of a paste.
        self.append(&text.replace("\r\n", "\n").replace('\r', "\n"));
    }

    /// Appends one chunk to the output.
    pub fn append(&mut self, text: &str) {
        let lengths = self.lengths().into_iter().chain([text.chars().count()]).collect();
        self.library.material.output.push_str(text);
        self.record_typed(lengths);
    }

    pub fn take_back(&mut self) {
        let mut lengths = self.lengths();
        if self.library.material.output.pop().is_some() {
            match lengths.last_mut() {
                Some(last) if *last > 1 => *last -= 1,
                _ => drop(lengths.pop()),
            }
        }
        self.record_typed(lengths);
    }

    /// The lengths of the chunks, in characters.
    fn lengths(&self) -> Vec<usize> {
        let output = &self.library.material.output;
        let mut start = 0;
        let ends = self.playback.chunking.ends(output, self.library.material.chunks.as_deref());
        ends.map(|end| slice(output, std::mem::replace(&mut start, end)..end).chars().count()).collect()
    }

    /// Records the output with the typed chunks.
    fn record_typed(&mut self, lengths: Vec<usize>) {
        self.editing
            .edits
            .insert(self.library.output, Edit { text: self.library.material.output.clone(), lengths: lengths.clone() });
        self.library.material.chunks = Some(lengths);
        self.library.material.expected = None;
        self.playback.chunking = Chunking::RECORDED;
        self.record();
        self.set_moment(|recording, _| recording.before_end());
    }

    /// Undoes typing: shows the output as its file has it.
    pub(super) fn undo_typing(&mut self) {
        match self.editing.edits.remove(&self.library.output) {
            Some(_) => {
                self.open(self.library.output);
                self.say("typing undone");
            }
            None => self.say("nothing was typed"),
        }
    }
}
