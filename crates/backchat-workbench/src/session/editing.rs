//! Operations on templates and fixtures: edit, derive, bless, verify, copy. Each returns what to show or do.

use super::material::{Material, Proof};
use super::outputs::View;
use super::playback::Position;
use super::session::Session;
use crate::check::Reading;
use crate::check::fixture::{self, Actual};
use crate::input::{Problem, path_from};
use crate::replay::{Kind, Outcome};
use backchat_core::diagnostic::{Diagnostic, Place, line_column};
use backchat_core::json::{self, Object, Value};
use backchat_parser::parser::{Mode, Options, Parser};
use backchat_parser::template::source;
use std::path::{Path, PathBuf};

/// A fixture that holds an output and the message it gives.
pub fn new_fixture(
    file: &Path,
    template: &str,
    material: &Material,
    tools: Option<&Value>,
    message: &Object,
) -> String {
    let folder = file.parent().unwrap_or(Path::new(""));
    let template = path_from(folder, Path::new(template));
    fixture::write_case(&template, &material.prefix, tools, &material.output, message)
}

/// The actual result of a case: the message, the problems, the events.
pub fn actual(material: &Material) -> Result<Actual, Problem> {
    let options = Options::default().tools(material.tools.clone());
    let options = options.recover(material.recovery.policies).validate(material.recovery.validate);
    let parser = Parser::new(&material.template, &material.prefix, options);
    let parser = parser.map_err(|error| Diagnostic::error("parse-failed", error.to_string()))?;
    Ok(Reading::new(parser, std::iter::once(material.output.as_str())).into_actual())
}

/// Replaces a file as a whole.
pub fn write(file: &Path, text: &str) -> Result<(), Problem> {
    source::replace_file(file, text.as_bytes()).map_err(|error| {
        Diagnostic::error("unwritable-file", format!("cannot write the file: {error}"))
            .at(Place::file(file.display().to_string()))
            .help("the file is as it was; check that you may write to its folder")
            .into()
    })
}

/// A change of a text, to be shown before or after it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What it is about.
    pub title: String,
    /// The text before; empty if there was none.
    pub old: String,
    /// The text after.
    pub new: String,
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
        let nowhere = "an editor can open neither the template nor the output: they are not in files";
        place.or_else(|| self.refuse(nowhere))
    }

    /// The byte of the template's file at which to fix the last event: its cause, not its symptom.
    fn byte_to_edit(&self) -> Option<usize> {
        let side = self.side()?;
        let last = side.recording.last_event(side.moment)?;
        let found = self.findings_at(last).find_map(|finding| finding.said.place.as_ref()?.span.clone());
        let cause = || {
            let (field, keys) = self.playback.wrong.contains(&last).then(|| side.recording.cause(last)).flatten()?;
            self.span_of(side.recording.field_name(field), keys)
        };
        let acting = || self.acting().and_then(|(field, keys)| self.span_of(&field, keys));
        found.or_else(cause).or_else(acting).map(|span| span.start)
    }

    /// The bytes of the template's file that hold a field's first known key of these, or the field.
    fn span_of(&self, field: &str, keys: &[&str]) -> Option<std::ops::Range<usize>> {
        let (_, places) =
            json::read_with_places_at(&self.library.material.template_text, self.library.material.template_span.start)
                .ok()?;
        let path = json::Path::root().key("fields").key(field);
        let found = keys.iter().find_map(|key| places.at(&path.key(key)));
        found.or_else(|| places.at(&path)).map(|found| found.key.clone().unwrap_or_else(|| found.value.clone()))
    }

    /// The field that acted last, and the keys of the template that caused it.
    pub fn acting(&self) -> Option<(String, &'static [&'static str])> {
        let side = self.side()?;
        let event = side.recording.event(side.recording.last_event(side.moment)?)?;
        let keys: &[&str] = match event.kind {
            Kind::Open => &["open", "open_pattern"],
            Kind::Close => &["close", "close_pattern"],
            Kind::Malformed => &["content", "transform", "content_args"],
            Kind::Chunk => &[],
        };
        Some((side.recording.field_name(event.field).to_owned(), keys))
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

    /// The text of the open region, or of the one that closed last.
    pub fn region_text(&mut self) -> Option<String> {
        let side = self.side()?;
        let recording = &side.recording;
        let last = recording.last_event(side.moment).and_then(|event| recording.event(event));
        let span = match (recording.region(side.moment), last) {
            (Some(region), _) => region.body,
            (None, Some(event)) if !event.body.is_empty() => event.body,
            _ => return self.refuse("no region is open here"),
        };
        Some(recording.slice(span).to_owned())
    }

    pub fn message_text(&self) -> Option<String> {
        let side = self.side()?;
        Some(Value::Object(side.recording.message(side.moment)).to_pretty("  "))
    }

    /// The command line that shows the same view.
    pub fn command(&mut self) -> Option<String> {
        let side = self.side()?;
        if self.editing.edits.contains_key(&self.library.output) {
            return self.refuse("no command shows typed text; save it in a file, and replay that");
        }
        let arrived = side.recording.offset_of(side.recording.arrived(side.moment));
        let at = match side.moment {
            moment if moment == side.recording.end() => Position::End,
            moment if side.recording.is_inside_feed(moment) => Position::Event(moment.event),
            _ => Position::Character(usize::try_from(arrived).unwrap_or(0)),
        };
        let view = View { at, chunking: self.playback.chunking.clone(), showing: self.playback.showing };
        match self.library.outputs.command(self.library.output, &view) {
            Ok(text) => Some(text),
            Err(reason) => self.refuse(reason),
        }
    }

    /// The proof of the template as it is now, once it is finished. `None` if its chat template is not known.
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
    pub(super) fn hear_proof(&mut self) -> bool {
        let is_news = self.library.prover.hear();
        if is_news {
            // The result is shown where notices are.
            self.notice = self.proof_of_repair();
        }
        is_news
    }

    /// Appends the failing conversations to the outputs and opens the first; returns its index.
    pub fn open_failures(&mut self) -> Option<usize> {
        let Some(proof) = self.proof() else {
            self.notice = Some(match self.library.prover.is_running() {
                true => "the proof is still running".to_owned(),
                false => "nothing to prove with: name the chat template with --chat-template SOURCE".to_owned(),
            });
            return None;
        };
        if proof.failures.is_empty() {
            return self.refuse(format!("all {} conversations parse back exactly", proof.cases));
        }
        let failures = proof.failures.clone();
        let library = &mut self.library;
        let first = library.outputs.append_conversations(failures, library.output);
        library.names = library.outputs.names().to_vec();
        library.verdicts.truncate(first);
        library.verdicts.resize(library.names.len(), None);
        self.editing.edits.retain(|output, _| *output < first);
        self.open(first);
        Some(first)
    }
}
