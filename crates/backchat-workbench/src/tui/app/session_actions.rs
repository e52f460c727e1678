//! Keys that work on the session: derive, bless, verify, repair, copy, explain. Their results are overlays.

use crossterm::event::KeyCode;

use super::super::mismatch::mismatch;
use super::overlay::Overlay;
use super::picker::Picker;
use super::{App, Effect};
use crate::replay::{Recording, Side, quoted};
use crate::session::{Finding, Problem, Session};
use backchat_core::diagnostic::{Format, counted, escape, render};
use backchat_core::json::Value;
use backchat_probe::diff::unified;

impl App {
    pub(super) fn derive(&mut self) {
        match self.session.derive() {
            Ok(Some(change)) => {
                self.layout.overlay = Some(Overlay::text(change.title, difference(&change.old, &change.new)));
            }
            Ok(None) => {}
            Err(problem) => self.show_problem("Derive", &problem),
        }
    }

    /// Shows the changes of blessing, and asks.
    pub(super) fn ask_to_bless(&mut self) {
        if let Some(change) = self.session.blessing() {
            let lines = difference(&change.old, &change.new);
            self.layout.overlay = Some(Overlay::Bless { title: change.title, lines, top: 0 });
        }
    }

    /// Lists the conversations that the proof fails on.
    pub(super) fn show_failures(&mut self) {
        if let Some(selected) = self.session.open_failures() {
            self.layout.overlay = Some(Overlay::Outputs(Picker::at(selected)));
        }
    }

    pub(super) fn copy_command(&mut self) -> Option<Effect> {
        let text = self.session.command()?;
        // Some terminals refuse to write the clipboard; then the text can be selected by hand.
        self.layout.overlay = Some(Overlay::text("Copied", vec![safe(&text)]));
        Some(Effect::Copy(text))
    }

    /// Copies the text of the open region, or of the one that closed last.
    pub(super) fn copy_region(&mut self) -> Option<Effect> {
        let Side { recording, moment, .. } = self.session.side()?;
        let last = recording.last_event(*moment).and_then(|event| recording.event(event));
        let span = match (recording.region(*moment), last) {
            (Some(region), _) => region.body,
            (None, Some(event)) if !event.body.is_empty() => event.body,
            _ => {
                self.session.say("no region is open here");
                return None;
            }
        };
        let text = recording.slice(span).to_owned();
        Some(self.copied("the region", text))
    }

    pub(super) fn copy_message(&mut self) -> Option<Effect> {
        let Side { recording, moment, .. } = self.session.side()?;
        let text = Value::Object(recording.message(*moment)).to_pretty("  ");
        Some(self.copied("the message", text))
    }

    fn copied(&mut self, what: &str, text: String) -> Effect {
        self.session.say(format!("copied {what}, {} characters: {}", text.chars().count(), quoted(&text)));
        Effect::Copy(text)
    }

    /// Shows the details of the current problem, or of the last event.
    pub(super) fn show_details(&mut self) {
        if let Some(problem) = self.session.library.problem.clone() {
            return self.show_problem("The files as they are now", &problem);
        }
        let Some(side) = self.session.side() else { return };
        let mut lines = Vec::new();
        let mut title = "Here".to_owned();
        for side in &self.session.playback.sides {
            if self.session.playback.sides.len() > 1 {
                lines.push(format!("{}:", escape(&side.name)));
            }
            lines.extend(side.recording.why_in_full(side.moment));
            lines.push(String::new());
        }
        if let Some(event) = side.recording.last_event(side.moment) {
            title = format!("Event {}", self.session.event_number(event));
            lines.extend(event_in_full(&side.recording, event));
        }
        if lines.is_empty() {
            return self.session.say("nothing has happened yet");
        }
        self.layout.overlay = Some(Overlay::Text { title, mismatch: mismatch(&self.session), lines, top: 0 });
    }

    pub(super) fn show_findings(&mut self) {
        match self.session.finding_here() {
            Some(index) => {
                let version = self.session.findings_version();
                self.layout.overlay = Some(Overlay::Finding { index, top: 0, version });
            }
            None => self.session.say(self.session.nothing_found()),
        }
    }

    pub(super) fn finding_key(&mut self, index: usize, top: usize, version: usize, key: KeyCode) {
        if version != self.session.findings_version() && key == KeyCode::Char('F') {
            self.layout.overlay = None;
            self.session.say("the findings have changed; f shows them again");
            return;
        }
        let count = self.session.findings().len().max(1);
        let version = self.session.findings_version();
        let at = |index: usize| Some(Overlay::Finding { index, top: 0, version });
        self.layout.overlay = match key {
            KeyCode::Char('F') => return self.apply(index),
            KeyCode::Tab | KeyCode::Right | KeyCode::Char('f' | 'l') => at((index + 1) % count),
            KeyCode::BackTab | KeyCode::Left | KeyCode::Char('h') => at((index + count - 1) % count),
            KeyCode::Enter => return self.go_to_finding(index),
            key => return self.text_key(Overlay::Finding { index, top, version }, key),
        };
    }

    pub(super) fn repair_here(&mut self) {
        match self.session.finding_here() {
            Some(index) => self.apply(index),
            None => self.session.say(self.session.nothing_found()),
        }
    }

    fn apply(&mut self, index: usize) {
        self.attempt("Repair", |session| session.repair(index));
    }

    fn go_to_finding(&mut self, index: usize) {
        match self.session.findings().get(index).and_then(|finding| finding.event) {
            Some(event) => self.session.set_moment(|recording, _| recording.moment_of_event(event)),
            None => self.session.say("no event of this output shows it"),
        }
    }

    /// A finding in lines that are safe to show: its message, its position, the effect and the diff of its repair.
    pub(in super::super) fn finding_in_full(&self, finding: &Finding) -> Vec<String> {
        let material = &self.session.library.material;
        let mut lines = vec![safe(&finding.line())];
        if let Some(place) = &finding.said.place {
            let file = place.file.as_deref().unwrap_or(&material.template_file);
            let line = place.line_column.map_or_else(String::new, |(line, _)| format!(":{line}"));
            let path = place.path.as_deref().map_or_else(String::new, |path| format!("  {path}"));
            lines.push(safe(&format!("{file}{line}{path}")));
        }
        if let Some(event) = finding.event {
            lines.push(format!("it shows at event {}", self.session.event_number(event)));
        }
        lines.extend(finding.said.help.iter().map(|help| safe(help)));
        let Some(fix) = finding.fix() else { return lines };
        lines.push(String::new());
        lines.push(match (finding.effect, self.session.is_inspecting()) {
            (Some(effect), _) => {
                let [fixed, broken] = [effect.fixes, effect.breaks].map(|count| match count {
                    0 => "none".to_owned(),
                    count => counted(count, "conversation"),
                });
                format!("The repair fixes {fixed}, breaks {broken}:")
            }
            (None, true) => "The repair (its effect on the conversations is being counted):".to_owned(),
            (None, false) => "The repair (its effect on the conversations is not known):".to_owned(),
        });
        if finding.settles {
            lines.push("with it, this output gives the expected message".to_owned());
        }
        if !finding.is_proof() {
            lines.push(safe(&fix.message));
        }
        let before = &material.template_text;
        lines.extend(difference(before, &fix.apply(before)));
        lines
    }

    /// Runs an operation, and shows the problem if it fails.
    pub(super) fn attempt(&mut self, title: &str, run: impl FnOnce(&mut Session) -> Result<(), Problem>) {
        if let Err(problem) = run(&mut self.session) {
            self.show_problem(title, &problem);
        }
    }

    fn show_problem(&mut self, title: &str, problem: &Problem) {
        let text = render(&problem.diagnostics, Format::Full, &problem.sources, false);
        self.layout.overlay = Some(Overlay::text(title, safe_lines(&text)));
    }
}

/// The changes from one text to another, in lines that are safe to show.
pub(super) fn difference(old: &str, new: &str) -> Vec<String> {
    safe_lines(&unified(old, new, 3, None))
}

fn safe_lines(text: &str) -> Vec<String> {
    text.lines().map(safe).collect()
}

fn safe(text: &str) -> String {
    escape(text).into_owned()
}

/// The details of an event, in lines that are safe to show.
fn event_in_full(recording: &Recording, event: usize) -> Vec<String> {
    let Some(seen) = recording.event(event) else { return Vec::new() };
    let mut lines = vec![recording.event_in_words(event), String::new()];
    let (start, end) = (recording.offset_of(seen.span.start), recording.offset_of(seen.span.end));
    lines.push(format!("characters {start} to {end} of the output"));
    for capture in seen.captures {
        let text = Value::from(capture.text.as_str());
        lines.push(safe(&format!("captured {} = {text}", capture.name)));
    }
    if seen.value.is_some() {
        let body = safe(&Value::from(recording.slice(seen.body.clone())).to_string());
        lines.extend([String::new(), "the body, raw:".to_owned(), body]);
    }
    if let Some(value) = recording.event_value(event) {
        lines.extend([String::new(), "the event as transformers writes it:".to_owned()]);
        lines.extend(value.to_pretty("  ").lines().map(safe));
    }
    lines
}
