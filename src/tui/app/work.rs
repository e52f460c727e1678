//! Working on template and outputs: reload, walk the list, type, edit, derive, bless, copy.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::super::Chunking;
use super::super::action::Effect;
use super::super::desk::{Material, Problem, View};
use super::super::line::wrap;
use super::App;
use super::overlay::{Overlay, Verdict};
use crate::diagnostic::{Diagnostic, Format, Place, line_column, render};
use crate::json::{self, Path, Value};
use crate::parser::Mode;
use crate::replay::{Kind, Outcome, Recording, Run};

impl App {
    /// Reads the files again. What cannot be read leaves the last good state as it is.
    pub fn reload(&mut self) {
        self.verdicts.fill(None);
        match self.desk.material(self.output) {
            Ok(material) => {
                self.problem = None;
                self.take(material);
                self.tell_what_is_wrong();
                if self.notice.is_none() {
                    self.notice = Some("read again: nothing looks wrong".to_owned());
                }
            }
            Err(problem) => self.problem = Some(problem),
        }
    }

    fn take(&mut self, material: Material) {
        self.material = material;
        if self.chunking == Chunking::Recorded && self.material.chunks.is_none() {
            self.chunking = super::default_chunking(&self.material);
        }
        self.judge_shown();
        self.record();
    }

    /// Opens the next output of the list, or the one before.
    pub(super) fn turn_to(&mut self, forward: bool) {
        let count = self.count.unwrap_or(1);
        let wanted = match forward {
            true => self.output.saturating_add(count).min(self.names.len().saturating_sub(1)),
            false => self.output.saturating_sub(count),
        };
        if wanted == self.output {
            let which = if forward { "last" } else { "first" };
            self.notice = Some(match self.names.len() {
                0 | 1 => "there is one output only".to_owned(),
                _ => format!("this is the {which} output"),
            });
            return;
        }
        self.open(wanted);
    }

    /// Opens an output of the list.
    pub(super) fn open(&mut self, output: usize) {
        self.output = output;
        self.hunt = None;
        match self.desk.material(output) {
            Ok(material) => {
                self.problem = None;
                self.sides.clear();
                self.chunking = match (&self.chunking, &material.chunks) {
                    (Chunking::Rule(rule), None) => Chunking::Rule(*rule),
                    _ => super::default_chunking(&material),
                };
                self.take(material);
                self.tell_what_is_wrong();
            }
            Err(problem) => {
                if let Some(verdict) = self.verdicts.get_mut(output) {
                    *verdict = Some(Verdict::Broken);
                }
                // What was shown before is of another output.
                self.sides.clear();
                (self.difference, self.wrong) = (None, Vec::new());
                self.problem = Some(problem);
            }
        }
    }

    pub(super) fn has_failed(&self, output: usize) -> bool {
        matches!(self.verdicts.get(output), Some(Some(Verdict::Failed | Verdict::Broken)))
    }

    pub(super) fn has_unjudged(&self) -> bool {
        self.names.len() > 1 && self.verdicts.contains(&None)
    }

    /// Judges an output that was not judged yet.
    pub(super) fn judge_one(&mut self) -> bool {
        if !self.has_unjudged() {
            return false;
        }
        let Some(output) = self.verdicts.iter().position(Option::is_none) else { return false };
        let verdict = match self.desk.material(output) {
            Ok(material) => judge(&material),
            Err(_) => Verdict::Broken,
        };
        if let Some(slot) = self.verdicts.get_mut(output) {
            *slot = Some(verdict);
        }
        output == self.output || matches!(self.overlay, Some(Overlay::Outputs { .. })) || !self.has_unjudged()
    }

    /// Judges the output that is shown.
    pub(super) fn judge_shown(&mut self) {
        let verdict = judge(&self.material);
        if let Some(slot) = self.verdicts.get_mut(self.output) {
            *slot = Some(verdict);
        }
    }

    /// What is to be said of the output that is shown, where it is known what it should give.
    pub(in super::super) fn verdict(&self) -> Option<Verdict> {
        self.material.expected.as_ref()?;
        self.verdicts.get(self.output).copied().flatten()
    }

    pub(super) fn start_typing(&mut self) {
        if self.sides.is_empty() {
            return;
        }
        self.is_typing = true;
        self.set_moment(|recording, _| recording.before_end());
        self.notice = Some("type or paste; each key is a chunk, esc ends".to_owned());
    }

    pub(super) fn typed(&mut self, key: KeyEvent) {
        match key.code {
            KeyCode::Esc => {
                self.is_typing = false;
                self.set_moment(|recording, _| recording.end());
            }
            KeyCode::Enter => self.append("\n"),
            KeyCode::Tab => self.append("\t"),
            KeyCode::Backspace => self.take_back(),
            KeyCode::Char(c)
                if (key.modifiers - KeyModifiers::SHIFT).is_empty() || key.modifiers == KeyModifiers::ALT =>
            {
                self.append(c.encode_utf8(&mut [0; 4]));
            }
            _ => {}
        }
    }

    /// Takes a text that was pasted.
    pub fn paste(&mut self, text: &str) {
        match &mut self.overlay {
            Some(Overlay::Ask { typed, .. }) => typed.push_str(text),
            Some(_) => {}
            None if self.sides.is_empty() => {}
            None => {
                self.is_typing = true;
                // Terminals send a carriage return for each line of a paste.
                self.append(&text.replace("\r\n", "\n").replace('\r', "\n"));
            }
        }
    }

    /// Lets the output go on with one more chunk.
    fn append(&mut self, text: &str) {
        let lengths = self.lengths().into_iter().chain([text.chars().count()]).collect();
        self.material.output.push_str(text);
        self.retype(lengths);
    }

    fn take_back(&mut self) {
        let mut lengths = self.lengths();
        if self.material.output.pop().is_some() {
            match lengths.last_mut() {
                Some(last) if *last > 1 => *last -= 1,
                _ => drop(lengths.pop()),
            }
        }
        self.retype(lengths);
    }

    /// The lengths of the chunks as they are, in characters.
    fn lengths(&self) -> Vec<usize> {
        let output = &self.material.output;
        let mut start = 0;
        let ends = self.chunking.ends(output, self.material.chunks.as_deref());
        let lengths = ends.map(|end| {
            let length = output.get(start..end).unwrap_or("").chars().count();
            start = end;
            length
        });
        lengths.collect()
    }

    /// What was typed is a recording of how it was typed.
    fn retype(&mut self, lengths: Vec<usize>) {
        self.material.chunks = Some(lengths);
        self.material.expected = None;
        self.chunking = Chunking::Recorded;
        self.record();
        self.set_moment(|recording, _| recording.before_end());
    }

    /// Opens the editor at the part of the template that acted.
    pub(super) fn edit(&mut self) -> Option<Effect> {
        let file = self.material.template_file.clone();
        if file.is_empty() || file.starts_with('<') {
            self.notice = Some("the template is in no file that an editor could open".to_owned());
            return None;
        }
        if let Some(place) = self.problem.as_ref().and_then(|problem| problem.diagnostics.first()?.place.clone())
            && let (Some(file), Some((line, _))) = (place.file, place.line_column)
        {
            return Some(Effect::Edit { file: file.into(), line });
        }
        let byte = self.acting_span().map_or(self.material.template_span.start, |span| span.start);
        Some(Effect::Edit { file: file.into(), line: line_column(&self.material.template_text, byte).0 })
    }

    /// Where the part of the template that acted stands in its file.
    fn acting_span(&self) -> Option<std::ops::Range<usize>> {
        let (field, keys) = self.acting()?;
        let (_, places) =
            json::read_with_places_at(&self.material.template_text, self.material.template_span.start).ok()?;
        let path = Path::root().key("fields").key(&field);
        let found = keys.iter().find_map(|key| places.at(&path.key(key)));
        found.or_else(|| places.at(&path)).map(|found| found.key.clone().unwrap_or_else(|| found.value.clone()))
    }

    /// The field that acted last, and the keys of the template by which it did.
    pub(in super::super) fn acting(&self) -> Option<(String, &'static [&'static str])> {
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

    /// Derives again and shows what changed.
    pub(super) fn derive(&mut self) {
        let derived = match self.desk.derive(self.output) {
            Ok(derived) => derived,
            Err(problem) => return self.show_problem("Derive", &problem),
        };
        let now = self.material.template.to_json();
        let Some(template) = derived.template else {
            self.notice = Some(format!("deriving gives no template: {}", derived.status));
            return;
        };
        let new = template.to_pretty("  ") + "\n";
        if new == now {
            self.notice = Some(format!("deriving gives this very template ({})", derived.status));
            return;
        }
        let diff = similar::TextDiff::from_lines(&now, &new);
        let lines = diff.unified_diff().context_radius(3).header("this template", "derived").to_string();
        let lines = lines.lines().map(|line| crate::diagnostic::escape(line).into_owned()).collect();
        self.overlay = Some(Overlay::Text { title: format!("Derived again: {}", derived.status), lines, top: 0 });
    }

    /// Writes the message of the whole output into its fixture.
    pub(super) fn bless(&mut self) {
        let Some(recording) = self.recording() else { return };
        if matches!(recording.outcome(), Outcome::Failed(_)) {
            self.notice = Some("this output gives no message that could be blessed".to_owned());
            return;
        }
        if recording.mode() == Mode::Reference {
            self.notice = Some("the message of the stable mode is what a fixture holds; m switches".to_owned());
            return;
        }
        let message = recording.message(recording.end());
        match self.desk.bless(self.output, &self.material, &message) {
            Ok(done) => {
                self.material.expected = Some(message);
                self.judge_shown();
                self.notice = Some(done);
            }
            Err(problem) => self.show_problem("Bless", &problem),
        }
    }

    pub(super) fn copy_region(&mut self) -> Option<Effect> {
        let side = self.side()?;
        let recording = &side.recording;
        let last = recording.last_event(side.moment).and_then(|event| recording.event(event));
        let span = match (recording.region(side.moment), last) {
            (Some(region), _) => region.body,
            (None, Some(event)) if !event.body.is_empty() => event.body,
            _ => {
                self.notice = Some("no region is open here".to_owned());
                return None;
            }
        };
        let text = recording.slice(span).to_owned();
        self.copied("the region", text)
    }

    pub(super) fn copy_message(&mut self) -> Option<Effect> {
        let side = self.side()?;
        let text = Value::Object(side.recording.message(side.moment)).to_pretty("  ");
        self.copied("the message", text)
    }

    pub(super) fn copy_command(&mut self) -> Option<Effect> {
        let side = self.side()?;
        let at = side.recording.offset_of(side.recording.arrived(side.moment));
        let view =
            View { at: usize::try_from(at).unwrap_or(0), chunking: self.chunking.clone(), mode: self.showing.mode() };
        let text = self.desk.command(self.output, &view);
        self.copied("the command", text)
    }

    fn copied(&mut self, what: &str, text: String) -> Option<Effect> {
        self.notice = Some(format!("copied {what}, {} characters", text.chars().count()));
        Some(Effect::Copy(text))
    }

    /// Shows all there is to say about the problem at hand, or about the last event.
    pub(super) fn show_details(&mut self) {
        if let Some(problem) = self.problem.clone() {
            return self.show_problem("The files as they are now", &problem);
        }
        let Some(side) = self.side() else { return };
        let recording = &side.recording;
        let Some(event) = recording.last_event(side.moment) else {
            self.notice = Some("nothing has happened yet".to_owned());
            return;
        };
        let lines = event_in_full(recording, event);
        self.overlay = Some(Overlay::Text { title: format!("Event {}", event + 1), lines, top: 0 });
    }

    fn show_problem(&mut self, title: &str, problem: &Problem) {
        let text = render(&problem.diagnostics, Format::Full, &problem.sources, false);
        let lines = text.lines().map(|line| crate::diagnostic::escape(line).into_owned()).collect();
        self.overlay = Some(Overlay::Text { title: title.to_owned(), lines, top: 0 });
    }

    /// A problem that came up while working.
    pub fn tell(&mut self, message: &str, file: &str) {
        self.problem = Some(Diagnostic::error("editor", message).at(Place::file(file)).into());
    }
}

/// All about an event, in lines that are safe to show.
fn event_in_full(recording: &Recording, event: usize) -> Vec<String> {
    let Some(seen) = recording.event(event) else { return Vec::new() };
    let safe = |text: &str| crate::diagnostic::escape(text).into_owned();
    let mut lines = vec![recording.event_in_words(event), String::new()];
    let (start, end) = (recording.offset_of(seen.span.start), recording.offset_of(seen.span.end));
    lines.push(format!("characters {start} to {end} of the output"));
    for capture in seen.captures {
        lines.push(format!(
            "captured {} = {}",
            safe(&capture.name),
            safe(&Value::from(capture.text.as_str()).to_string())
        ));
    }
    if seen.value.is_some() {
        lines.push(String::new());
        lines.push("the body, raw:".to_owned());
        let raw = Value::from(recording.slice(seen.body.clone())).to_string();
        lines.extend(wrap(&safe(&raw), 100));
    }
    lines.push(String::new());
    lines.push("the event as transformers writes it:".to_owned());
    let json = recording.event_value(event).unwrap_or_default().to_pretty("  ");
    lines.extend(json.lines().flat_map(|line| wrap(&safe(line), 100)));
    lines
}

fn judge(material: &Material) -> Verdict {
    let run = Run {
        template: &material.template,
        prefix: &material.prefix,
        mode: Mode::Stable,
        tools: material.tools.clone(),
    };
    let Ok(recording) = Recording::new(&run, [material.output.as_str()]) else { return Verdict::Broken };
    match (&material.expected, recording.outcome()) {
        (Some(expected), Outcome::Finished { .. }) if recording.message(recording.end()) == *expected => {
            Verdict::Passed
        }
        (None, _) if recording.is_in_order() => Verdict::InOrder,
        _ => Verdict::Failed,
    }
}
