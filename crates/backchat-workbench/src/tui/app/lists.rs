//! Keys and clicks in the filtered lists: outputs and actions.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Position as Cell;

use super::super::action::Effect;
use super::App;
use super::fuzzy::ranked;
use super::overlay::Overlay;
use super::palette::{Command, commands};
use super::picker::Picker;

impl App {
    /// The outputs that match the filter, the best first. Verdicts match as well.
    pub(in super::super) fn outputs_found(&self, picker: &Picker) -> Vec<usize> {
        let library = &self.session.library;
        if picker.typed.trim().is_empty() {
            return (0..library.names.len()).collect();
        }
        let named = library.names.iter().enumerate().map(|(at, name)| {
            let verdict = library.verdicts.get(at).copied().flatten();
            format!("{name} {}", verdict.map_or("", |verdict| verdict.words()))
        });
        let named: Vec<String> = named.collect();
        ranked(named.iter().map(String::as_str), &picker.typed)
    }

    pub(super) fn outputs_key(&mut self, mut picker: Picker, key: KeyEvent) {
        let found = self.outputs_found(&picker);
        if key.code == KeyCode::Tab {
            let after = (picker.selected + 1..found.len()).chain(0..=picker.selected);
            let failed = |row: &usize| found.get(*row).is_some_and(|output| self.session.has_failed(*output));
            picker.selected = after.into_iter().find(failed).unwrap_or(picker.selected);
        } else if picker.key(key, found.len(), self.layout.drawn.overlay_page()) {
            match found.get(picker.selected) {
                Some(output) => return self.session.open(*output),
                None => self.session.say(format!("no output fits {:?}", picker.typed)),
            }
        }
        self.layout.overlay = Some(Overlay::Outputs(picker));
    }

    pub(super) fn palette_key(&mut self, mut picker: Picker, key: KeyEvent) -> Option<Effect> {
        let found = commands(&picker.typed);
        if picker.key(key, found.len(), self.layout.drawn.overlay_page()) {
            match found.get(picker.selected) {
                Some(command) => return self.perform(*command),
                None => self.session.say("no action fits that"),
            }
        }
        self.layout.overlay = Some(Overlay::Palette(picker));
        None
    }

    fn perform(&mut self, command: Command) -> Option<Effect> {
        match command {
            Command::Go(place) => {
                self.session.go_to(place);
                None
            }
            Command::Key(binding) => self.act(binding.action),
        }
    }

    /// Opens the row of a list that was clicked on; a click on anything else closes the overlay.
    pub(super) fn click_on_list(&mut self, place: Cell) -> Option<Effect> {
        let row = self.layout.drawn.list_row(place);
        match (self.layout.overlay.take(), row) {
            (Some(Overlay::Outputs(picker)), Some(row)) => {
                if let Some(output) = self.outputs_found(&picker).get(row) {
                    self.session.open(*output);
                }
                None
            }
            (Some(Overlay::Palette(picker)), Some(row)) => {
                let command = commands(&picker.typed).get(row).copied()?;
                self.perform(command)
            }
            _ => None,
        }
    }

    pub(super) fn move_mark(&mut self, rows: isize) {
        let count = match &self.layout.overlay {
            Some(Overlay::Outputs(picker)) => self.outputs_found(picker).len(),
            Some(Overlay::Palette(picker)) => commands(&picker.typed).len(),
            _ => return,
        };
        if let Some(Overlay::Outputs(picker) | Overlay::Palette(picker)) = &mut self.layout.overlay {
            picker.move_by(rows, count);
        }
    }
}
