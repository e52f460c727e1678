//! Working on template and outputs: reload, walk the list, type, edit, derive, bless, copy.

use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::super::action::Effect;
use super::super::desk::{Arrival, Material, Problem, View};
use super::super::{At, ChunkRule, Chunking};
use super::overlay::{Overlay, Verdict};
use super::proof::READ_AGAIN;
use super::{App, Edit};
use crate::diagnostic::{Format, line_column, render};
use crate::json::{self, Path, Value};
use crate::parser::Mode;
use crate::replay::{Kind, Outcome, Recording, Run, quoted};

impl App {
    /// Reads the files again. What cannot be read leaves the last good state as it is, and what was typed is kept.
    pub fn reload(&mut self) {
        self.verdicts.fill(None);
        self.hunt = None;
        if matches!(self.overlay, Some(Overlay::Bless { .. })) {
            self.overlay = None;
        }
        match self.read(self.output) {
            Ok(material) => {
                let told = self.notice.take();
                let is_same = self.is_same(&material);
                self.problem = None;
                self.take(material);
                self.tell_what_is_wrong();
                match (told, is_same) {
                    // Files that say what they said before are no news.
                    (Some(told), true) => self.notice = Some(told),
                    _ if self.edits.contains_key(&self.output) => {
                        self.notice = Some("read again; what was typed is kept, u takes it back".to_owned());
                    }
                    _ if self.notice.is_none() => {
                        self.notice = Some(READ_AGAIN.to_owned());
                    }
                    _ => {}
                }
            }
            Err(problem) => {
                self.notice = None;
                match self.sides.is_empty() {
                    true => self.cannot_show(problem),
                    false => self.problem = Some(problem),
                }
            }
        }
    }

    /// An output as its files have it, and as it was typed on.
    fn read(&self, output: usize) -> Result<Material, Problem> {
        let mut material = self.desk.material(output)?;
        if let Some(edit) = self.edits.get(&output) {
            material.output.clone_from(&edit.text);
            material.chunks = Some(edit.lengths.clone());
            material.expected = None;
        }
        Ok(material)
    }

    fn is_same(&self, material: &Material) -> bool {
        let now = &self.material;
        now.template == material.template
            && now.output == material.output
            && now.prefix == material.prefix
            && now.expected == material.expected
    }

    /// Takes what has come of an output since it was read; true where the screen changes. Who stands at its end stays
    /// there.
    pub(super) fn take_more(&mut self, now: Instant) -> bool {
        let was_awaited = self.is_awaited;
        let arrival = self.desk.arrival(self.output);
        self.is_awaited = arrival != Arrival::Whole;
        if arrival != Arrival::More || self.rest_until.is_some_and(|rest| now < rest) {
            return self.is_awaited != was_awaited;
        }
        let follows = self.side().is_none_or(|side| side.moment >= side.recording.before_end());
        let is_default = !self.is_cut_as_asked;
        match self.read(self.output) {
            Ok(material) => {
                if is_default {
                    self.chunking = super::default_chunking(&material);
                }
                self.is_awaited = self.desk.arrival(self.output) != Arrival::Whole;
                self.problem = None;
                self.take(material);
                if follows {
                    self.set_moment(|recording, _| recording.end());
                    self.go_to_asked();
                }
                if !self.is_awaited {
                    self.tell_what_is_wrong();
                }
            }
            Err(problem) => {
                self.notice = None;
                self.problem = Some(problem);
            }
        }
        // Each time the whole text is parsed again; the keyboard gets most of the time.
        self.rest_until = Some(now + now.elapsed() * 4);
        true
    }

    /// Goes to where the workbench was asked to open, once that much of the output has come.
    pub(super) fn go_to_asked(&mut self) {
        let Some(at) = self.asked_at else { return };
        let has_come = match (at, self.recording()) {
            (At::Character(offset), Some(recording)) => {
                let come = recording.offset_of(recording.text().len());
                isize::try_from(offset).is_ok_and(|offset| offset <= come)
            }
            (At::Event(count), Some(recording)) => count <= recording.event_count(),
            (At::End, _) | (_, None) => false,
        };
        if has_come || !self.is_awaited {
            self.asked_at = None;
            self.go_to(at);
        }
    }

    fn take(&mut self, material: Material) {
        self.material = material;
        if self.chunking.rule == ChunkRule::Recorded && self.material.chunks.is_none() {
            self.chunking = super::default_chunking(&self.material);
        }
        self.record();
        self.look_around();
    }

    /// Shows nothing but the problem: what was shown before is of another output.
    pub(super) fn cannot_show(&mut self, problem: Problem) {
        if let Some(verdict) = self.verdicts.get_mut(self.output) {
            *verdict = Some(Verdict::Broken);
        }
        self.sides.clear();
        (self.difference, self.wrong) = (None, Vec::new());
        self.problem = Some(problem);
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
        self.stood = None;
        match self.read(output) {
            Ok(material) => {
                self.problem = None;
                self.sides.clear();
                // Cuts belong to the output they were made in.
                self.chunking.cuts.clear();
                let rule = self.chunking.rule;
                if !self.is_cut_as_asked || rule == ChunkRule::Recorded || material.chunks.is_some() {
                    self.chunking = super::default_chunking(&material);
                }
                self.take(material);
                self.tell_what_is_wrong();
            }
            Err(problem) => self.cannot_show(problem),
        }
    }

    pub(in super::super) fn has_failed(&self, output: usize) -> bool {
        matches!(self.verdicts.get(output), Some(Some(Verdict::Failed | Verdict::Odd | Verdict::Broken)))
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
        // In stable mode the answer is the same for all chunks; in reference mode it is the one for these.
        let shown = self.recording().filter(|recording| recording.mode() == Mode::Reference);
        self.shown_verdict = Some(shown.map_or(verdict, |recording| verdict_of(&self.material, recording)));
        if let Some(slot) = self.verdicts.get_mut(self.output) {
            *slot = Some(verdict);
        }
    }

    /// What is to be said of the answer that is shown, where it is known what the output should give.
    pub(in super::super) fn verdict(&self) -> Option<Verdict> {
        self.material.expected.as_ref()?;
        self.shown_verdict
    }

    pub(super) fn start_typing(&mut self) {
        if self.sides.is_empty() || self.awaits_more() {
            return;
        }
        self.is_typing = true;
        self.set_moment(|recording, _| recording.before_end());
        self.notice = Some("type or paste; each key is a chunk, esc ends".to_owned());
    }

    /// Whether what is asked for has to wait until the whole output is there, which is told.
    fn awaits_more(&mut self) -> bool {
        if self.is_awaited {
            self.notice = Some("more of this output is to come; that has to wait for its end".to_owned());
        }
        self.is_awaited
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
        if let Some(Overlay::Ask { typed, .. }) = &mut self.overlay {
            return typed.push_str(text);
        }
        if self.overlay.is_some() || self.sides.is_empty() || self.awaits_more() {
            return;
        }
        self.is_typing = true;
        // Terminals send a carriage return for each line of a paste.
        self.append(&text.replace("\r\n", "\n").replace('\r', "\n"));
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

    /// Shows the output as its file has it.
    pub(super) fn untype(&mut self) {
        match self.edits.remove(&self.output) {
            Some(_) => {
                self.open(self.output);
                self.notice = Some("what was typed is taken back".to_owned());
            }
            None => self.notice = Some("nothing was typed".to_owned()),
        }
    }

    /// What was typed is a recording of how it was typed.
    fn retype(&mut self, lengths: Vec<usize>) {
        self.edits.insert(self.output, Edit { text: self.material.output.clone(), lengths: lengths.clone() });
        self.material.chunks = Some(lengths);
        self.material.expected = None;
        self.chunking = Chunking::RECORDED;
        self.record();
        self.set_moment(|recording, _| recording.before_end());
    }

    /// Opens the editor at the problem, or at the part of the template that acted; at the output itself where the
    /// template stands in no file of its own.
    pub(super) fn edit(&mut self) -> Option<Effect> {
        if let Some(place) = self.problem.as_ref().and_then(|problem| problem.diagnostics.first()?.place.clone())
            && let (Some(file), Some((line, _))) = (place.file, place.line_column)
            && !file.starts_with('<')
        {
            return Some(Effect::Edit { file: file.into(), line });
        }
        if self.has_template_file() && !self.sides.is_empty() {
            let byte = self.acting_span().map_or(self.material.template_span.start, |span| span.start);
            let line = line_column(&self.material.template_text, byte).0;
            return Some(Effect::Edit { file: self.material.template_file.clone().into(), line });
        }
        let Some((file, line)) = self.desk.place(self.output) else {
            self.notice = Some("the template is in no file that an editor could open".to_owned());
            return None;
        };
        Some(Effect::Edit { file, line })
    }

    fn has_template_file(&self) -> bool {
        let file = &self.material.template_file;
        !file.is_empty() && !file.starts_with('<')
    }

    /// Finds out what can be done to the output at hand.
    pub(super) fn look_around(&mut self) {
        self.can_edit = self.has_template_file() || self.desk.place(self.output).is_some();
        self.can_derive = self.desk.can_derive(self.output);
        self.prove();
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
        if !self.can_derive {
            self.notice = Some("the chat template is not known: name it with --chat-template SOURCE".to_owned());
            return;
        }
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
        let lines = difference(&now, &new);
        self.overlay = Some(Overlay::Text { title: format!("Derived again: {}", derived.status), lines, top: 0 });
    }

    /// Asks whether the message of the whole output is to be written into its fixture, and shows what that changes.
    pub(super) fn ask_to_bless(&mut self) {
        if self.awaits_more() {
            return;
        }
        let Some(recording) = self.recording() else { return };
        if matches!(recording.outcome(), Outcome::Failed(_)) {
            self.notice = Some("this output gives no message that could be blessed".to_owned());
            return;
        }
        if recording.mode() == Mode::Reference {
            self.notice = Some("the message of the stable mode is what a fixture holds; m switches".to_owned());
            return;
        }
        let new = Value::Object(recording.message(recording.end()));
        let old = self.material.expected.clone().map(Value::Object);
        if old.as_ref() == Some(&new) {
            self.notice = Some("the fixture holds this very message".to_owned());
            return;
        }
        let text = |value: &Value| value.to_pretty("  ") + "\n";
        let lines = difference(&old.as_ref().map_or_else(String::new, text), &text(&new));
        self.overlay = Some(Overlay::Bless { lines, top: 0 });
    }

    /// Writes the message of the whole output into its fixture.
    pub(super) fn bless(&mut self) {
        let Some(recording) = self.recording() else { return };
        let message = recording.message(recording.end());
        match self.desk.bless(self.output, &self.material, &message) {
            Ok(done) => {
                if !self.edits.contains_key(&self.output) {
                    self.material.expected = Some(message);
                }
                self.judge_shown();
                self.judge_events();
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
        if self.edits.contains_key(&self.output) {
            self.notice = Some("no command shows what was typed here; save it in a file, and replay that".to_owned());
            return None;
        }
        let arrived = side.recording.offset_of(side.recording.arrived(side.moment));
        let at = match side.moment {
            moment if moment == side.recording.end() => At::End,
            moment if side.recording.is_inside_feed(moment) => At::Event(moment.event),
            _ => At::Character(usize::try_from(arrived).unwrap_or(0)),
        };
        let view = View { at, chunking: self.chunking.clone(), showing: self.showing };
        match self.desk.command(self.output, &view) {
            Ok(text) => {
                // Not every terminal lets itself be written to; then it is taken by hand.
                let lines = vec![crate::diagnostic::escape(&text).into_owned()];
                self.overlay = Some(Overlay::Text { title: "Copied".to_owned(), lines, top: 0 });
                Some(Effect::Copy(text))
            }
            Err(reason) => {
                self.notice = Some(reason);
                None
            }
        }
    }

    fn copied(&mut self, what: &str, text: String) -> Option<Effect> {
        self.notice = Some(format!("copied {what}, {} characters: {}", text.chars().count(), quoted(&text)));
        Some(Effect::Copy(text))
    }

    /// Shows all there is to say about the problem at hand, or about the last event.
    pub(super) fn show_details(&mut self) {
        if let Some(problem) = self.problem.clone() {
            return self.show_problem("The files as they are now", &problem);
        }
        let Some(side) = self.side() else { return };
        let mut lines = Vec::new();
        let mut title = "Here".to_owned();
        for side in &self.sides {
            if self.sides.len() > 1 {
                lines.push(format!("{}:", crate::diagnostic::escape(&side.name)));
            }
            lines.extend(side.recording.why_in_full(side.moment));
            lines.push(String::new());
        }
        if let Some(event) = side.recording.last_event(side.moment) {
            title = format!("Event {}", self.event_number(event));
            lines.extend(event_in_full(&side.recording, event));
        }
        if lines.is_empty() {
            self.notice = Some("nothing has happened yet".to_owned());
            return;
        }
        self.overlay = Some(Overlay::Text { title, lines, top: 0 });
    }

    fn show_problem(&mut self, title: &str, problem: &Problem) {
        let text = render(&problem.diagnostics, Format::Full, &problem.sources, false);
        let lines = text.lines().map(|line| crate::diagnostic::escape(line).into_owned()).collect();
        self.overlay = Some(Overlay::Text { title: title.to_owned(), lines, top: 0 });
    }

    /// Tells of something until the next key.
    pub fn tell(&mut self, message: String) {
        self.notice = Some(message);
    }
}

/// What changes from a text to another, in lines that are safe to show.
fn difference(old: &str, new: &str) -> Vec<String> {
    let diff = similar::TextDiff::from_lines(old, new);
    let diff = diff.unified_diff().context_radius(3).to_string();
    diff.lines().map(|line| crate::diagnostic::escape(line).into_owned()).collect()
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
        lines.push(safe(&Value::from(recording.slice(seen.body.clone())).to_string()));
    }
    lines.push(String::new());
    lines.push("the event as transformers writes it:".to_owned());
    let json = recording.event_value(event).unwrap_or_default().to_pretty("  ");
    lines.extend(json.lines().map(safe));
    lines
}

fn judge(material: &Material) -> Verdict {
    let run = Run {
        template: &material.template,
        prefix: &material.prefix,
        mode: Mode::Stable,
        tools: material.tools.clone(),
    };
    let recording = Recording::new(&run, [material.output.as_str()]);
    recording.map_or(Verdict::Broken, |recording| verdict_of(material, &recording))
}

fn verdict_of(material: &Material, recording: &Recording) -> Verdict {
    let is_finished = matches!(recording.outcome(), Outcome::Finished { .. });
    match &material.expected {
        Some(expected) if is_finished && recording.message(recording.end()) == *expected => Verdict::Passed,
        Some(_) if material.is_excused => Verdict::Excused,
        None if !recording.is_in_order() => Verdict::Failed,
        None if !recording.suspicious_events().is_empty() => Verdict::Odd,
        None => Verdict::InOrder,
        Some(_) => Verdict::Failed,
    }
}
