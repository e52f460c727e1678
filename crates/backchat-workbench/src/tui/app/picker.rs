//! A filtered list: the filter text, and the selected one of the matching rows.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picker {
    pub typed: String,
    /// The index of the selected row among those that match.
    pub selected: usize,
}

impl Picker {
    /// A list with this row selected.
    pub fn at(selected: usize) -> Self {
        Self { typed: String::new(), selected }
    }

    /// Handles a key; true if it chooses the selected row. `rows` match, and `page` of them are on the screen.
    pub fn key(&mut self, key: KeyEvent, rows: usize, page: usize) -> bool {
        let at = self.selected;
        match (key.code, key.modifiers - KeyModifiers::SHIFT) {
            (KeyCode::Enter, _) => return true,
            (KeyCode::Down, _) | (KeyCode::Char('n' | 'j'), KeyModifiers::CONTROL) => self.selected = at + 1,
            (KeyCode::Up, _) | (KeyCode::Char('p' | 'k'), KeyModifiers::CONTROL) => {
                self.selected = at.saturating_sub(1);
            }
            (KeyCode::PageDown, _) => self.selected = at + page,
            (KeyCode::PageUp, _) => self.selected = at.saturating_sub(page),
            (KeyCode::Home, _) => self.selected = 0,
            (KeyCode::End, _) => self.selected = usize::MAX,
            (KeyCode::Backspace, _) if self.typed.pop().is_some() => self.selected = 0,
            (KeyCode::Char('u' | 'w'), KeyModifiers::CONTROL) => *self = Self::default(),
            (KeyCode::Char(c), KeyModifiers::NONE) => self.add(c.encode_utf8(&mut [0; 4])),
            _ => {}
        }
        self.selected = self.selected.min(rows.saturating_sub(1));
        false
    }

    /// Adds text and selects the best match.
    pub fn add(&mut self, text: &str) {
        self.typed.push_str(text);
        self.selected = 0;
    }
}
