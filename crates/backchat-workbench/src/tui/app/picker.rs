//! A list that is filtered as one types: the text so far, and which of the rows that fit is marked.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The state of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picker {
    /// The text typed so far.
    pub typed: String,
    /// The row that is marked, of those that fit.
    pub selected: usize,
}

/// What a key does to a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picked {
    /// The text or the mark changed, if anything did.
    Stays,
    /// The marked row is taken.
    Taken,
}

impl Picker {
    /// A list with this row marked.
    pub fn at(selected: usize) -> Self {
        Self { typed: String::new(), selected }
    }

    /// Takes a key; `rows` fit, and `page` of them are on the screen.
    pub fn key(&mut self, key: KeyEvent, rows: usize, page: usize) -> Picked {
        let at = self.selected;
        match (key.code, key.modifiers - KeyModifiers::SHIFT) {
            (KeyCode::Enter, _) => return Picked::Taken,
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
        Picked::Stays
    }

    /// Adds text: what fits best is marked.
    pub fn add(&mut self, text: &str) {
        self.typed.push_str(text);
        self.selected = 0;
    }

    /// Moves the mark by some rows.
    pub fn move_by(&mut self, rows: isize, count: usize) {
        self.selected = self.selected.saturating_add_signed(rows).min(count.saturating_sub(1));
    }
}
