//! Changes outputs, templates and fixtures: type, repair, undo, derive, bless; and finds the place to edit by hand.

use super::Session;
use crate::input::Problem;
use crate::replay::{Chunking, Outcome, acting};
use backchat_core::diagnostic::line_column;
use backchat_core::json::{self, Value};
use backchat_core::text::slice;
use backchat_parser::parser::Mode;
use std::collections::HashMap;
use std::path::PathBuf;

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

/// A repair that was written into the file of a template.
#[derive(Clone, Debug)]
struct Applied {
    file: PathBuf,
    /// The text before and after.
    before: String,
    after: String,
    /// The change in words.
    message: String,
    /// Whether the proof after it was reported.
    is_proved: bool,
}

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

/// An output that was typed, or typed on.
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
}

/// Repairs of the template, and the way back.
impl Session {
    pub fn repair(&mut self, finding: usize) -> Result<(), Problem> {
        let Some(found) = self.findings().get(finding) else {
            self.say(self.nothing_found());
            return Ok(());
        };
        let Some(fix) = found.fix().cloned() else {
            self.say("there is no proved repair for this; e opens the line");
            return Ok(());
        };
        let material = &self.library.material;
        if !material.has_template_file() {
            self.say("the template is not in a file that can be changed");
            return Ok(());
        }
        let before = material.template_text.clone();
        let applied = Applied {
            file: material.template_file.clone().into(),
            after: fix.apply(&before),
            before,
            message: fix.message,
            is_proved: false,
        };
        self.library.outputs.write_template(&applied.file, &applied.before, &applied.after)?;
        self.reload();
        self.say(format!("written to {}: {}; u undoes it", applied.file.display(), applied.message));
        self.editing.applied.push(applied);
        Ok(())
    }

    /// Undoes typing on the open output, or else the last repair.
    pub fn undo(&mut self) -> Result<(), Problem> {
        if self.editing.edits.remove(&self.library.output).is_some() {
            self.open(self.library.output);
            self.say("typing undone");
            return Ok(());
        }
        let Some(applied) = self.editing.applied.last() else {
            self.say("nothing was typed, and no repair was applied");
            return Ok(());
        };
        self.library.outputs.write_template(&applied.file, &applied.after, &applied.before)?;
        let message = format!("undone: {}", applied.message);
        self.editing.applied.pop();
        self.reload();
        self.say(message);
        Ok(())
    }

    /// The result of the first proof after a repair.
    pub(super) fn proof_of_repair(&mut self) -> Option<String> {
        let (passed, cases) = self.proof().done().map(|proof| (proof.passed, proof.cases))?;
        let now = &self.library.material.template_text;
        let applied = self.editing.applied.last_mut().filter(|applied| !applied.is_proved && applied.after == *now)?;
        applied.is_proved = true;
        let file = applied.file.display();
        Some(format!("written to {file}: {passed} of {cases} conversations come back; u undoes it"))
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
}
