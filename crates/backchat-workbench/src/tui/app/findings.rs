//! Shows a finding about the template with its repair; applies and undoes repairs.

use backchat_core::diagnostic::{counted, escape};
use crossterm::event::KeyCode;

use super::App;
use super::overlay::Overlay;
use super::session_actions::difference;
use crate::session::Finding;

impl App {
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
        let done = self.session.repair(index);
        self.show_failure("Repair", done);
    }

    pub(super) fn undo(&mut self) {
        let done = self.session.undo();
        self.show_failure("Undo", done);
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
        let mut lines = vec![escape(&finding.line()).into_owned()];
        if let Some(place) = &finding.said.place {
            let file = place.file.as_deref().unwrap_or(&material.template_file);
            let line = place.line_column.map_or_else(String::new, |(line, _)| format!(":{line}"));
            let path = place.path.as_deref().map_or_else(String::new, |path| format!("  {path}"));
            lines.push(escape(&format!("{file}{line}{path}")).into_owned());
        }
        if let Some(event) = finding.event {
            lines.push(format!("it shows at event {}", self.session.event_number(event)));
        }
        lines.extend(finding.said.help.iter().map(|help| escape(help).into_owned()));
        let Some(fix) = finding.fix() else { return lines };
        lines.push(String::new());
        lines.push(match (finding.effect, self.session.is_inspecting()) {
            (Some(effect), _) => {
                let [fixed, broken] = [effect.mends, effect.breaks].map(|count| match count {
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
            lines.push(escape(&fix.message).into_owned());
        }
        let before = &material.template_text;
        lines.extend(difference(before, &fix.apply(before)));
        lines
    }
}
