//! The filtered lists, with their keys and clicks: outputs, and the palette of actions and positions.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Position as Cell;

use super::super::keys::{Action, Binding, KEYS};
use super::fuzzy::ranked;
use super::overlay::Overlay;
use super::picker::Picker;
use super::{App, Effect};
use crate::session::Position;

/// A row of the palette.
#[derive(Clone, Copy)]
pub enum Command {
    /// Go to the place that was typed.
    Go(Position),
    Key(&'static Binding),
}

/// The rows for what was typed, the best first.
pub fn commands(typed: &str) -> Vec<Command> {
    let place = typed.trim().parse::<Position>().ok().map(Command::Go);
    // Closing the palette is not an action to choose from it.
    let bindings: Vec<&Binding> = KEYS.iter().filter(|binding| binding.action != Action::Leave).collect();
    let named: Vec<String> = bindings.iter().map(|binding| format!("{} {}", binding.words, binding.short)).collect();
    let found = ranked(named.iter().map(String::as_str), typed)
        .into_iter()
        .filter_map(|at| bindings.get(at).copied().map(Command::Key));
    place.into_iter().chain(found).collect()
}

impl Command {
    pub fn words(self) -> String {
        match self {
            Command::Go(Position::Character(offset)) => format!("go to character {offset}"),
            Command::Go(Position::Event(count)) => format!("go to event {count}"),
            Command::Go(Position::End) => "go to the end".to_owned(),
            Command::Key(binding) => binding.words.to_owned(),
        }
    }

    pub fn keys(self) -> String {
        match self {
            Command::Go(_) => String::new(),
            Command::Key(binding) => binding.key_names(),
        }
    }
}

impl App {
    /// The outputs that match the filter, the best first. Verdicts match as well.
    pub(in super::super) fn outputs_found(&self, picker: &Picker) -> Vec<usize> {
        let library = &self.session.library;
        if picker.typed.trim().is_empty() {
            return (0..library.names().len()).collect();
        }
        let named = library.names().iter().enumerate().map(|(at, name)| {
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
                None => self.session.say(format!("no output matches {:?}", picker.typed)),
            }
        }
        self.layout.overlay = Some(Overlay::Outputs(picker));
    }

    pub(super) fn palette_key(&mut self, mut picker: Picker, key: KeyEvent) -> Option<Effect> {
        let found = commands(&picker.typed);
        if picker.key(key, found.len(), self.layout.drawn.overlay_page()) {
            match found.get(picker.selected) {
                Some(command) => return self.perform(*command),
                None => self.session.say("no action matches"),
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
            picker.selected = picker.selected.saturating_add_signed(rows).min(count.saturating_sub(1));
        }
    }
}
