//! The review: the pending differences of fixtures, one at a time, each accepted, rejected or skipped.
//!
//! [`Review`] is the state, changed only by keys; `view` draws it; [`run`] connects it to the terminal. The caller's [`Docket`] supplies the differences and writes accepted ones.

mod alike;
mod deciding;
mod screen;
mod view;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::keys::moved;
use super::theme::Theme;
use crate::check::PendingSection;
use crate::session::Problem;
use deciding::Made;

pub use alike::difference;
pub use screen::run;

/// The differences to decide about.
pub trait Docket {
    /// The cases, by name.
    fn names(&self) -> &[String];

    /// The difference of a case in the current files; `None` if there is none.
    fn change(&mut self, index: usize) -> Result<Option<Change>, Problem>;

    /// Cases of one group have the same difference.
    fn group(&self, index: usize) -> usize;

    /// Writes the last result of [`Docket::change`].
    fn accept(&mut self) -> Result<(), Problem>;

    /// Undoes the last write, if the file has not changed since.
    fn take_back(&mut self) -> Result<(), Problem>;

    /// Whether the workbench can show the case.
    fn can_open(&self, index: usize) -> bool;
}

/// A difference between the expectation of a case and the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The findings of the check about it, one sentence each.
    pub reasons: Vec<String>,
    /// The sections that would be written.
    pub sections: Vec<PendingSection>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The expectation was written.
    Accepted,
    /// The expectation is right, so the template has to change.
    Rejected,
    /// Nothing yet.
    Skipped,
    /// There was nothing left to decide.
    Settled,
}

/// The effect of a key outside the review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewEffect {
    /// The review is over.
    End,
    /// Show this case in the workbench.
    Open(usize),
    /// Restore the terminal and suspend the process.
    Suspend,
    Redraw,
}

/// How a run of the review ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every case was seen, or the user left.
    Done,
    /// The user wants to see this case in the workbench.
    Open(usize),
    Signal(i32),
}

pub struct Review<'d> {
    docket: &'d mut dyn Docket,
    index: usize,
    decisions: Vec<Option<Decision>>,
    /// The decisions in their order.
    made: Vec<Made>,
    /// The accepted differences, which no longer exist once written.
    accepted: HashMap<usize, Change>,
    /// The current difference, or why it cannot be shown.
    shown: Result<Change, Problem>,
    /// Side by side or line by line; chosen by the width until the user chooses.
    side_by_side: Option<bool>,
    /// Whether two sides fitted when the screen was last drawn.
    is_wide: bool,
    /// The first shown row of the difference, the last possible first row, and the rows per page.
    top: usize,
    last: usize,
    page: usize,
    notice: Option<String>,
    theme: Theme,
    /// Whether every case is decided.
    is_over: bool,
    /// Whether the user is being asked to confirm leaving.
    asks: bool,
}

impl<'d> Review<'d> {
    /// A review of all cases of a docket, from the first on.
    pub fn new(docket: &'d mut dyn Docket, theme: Theme) -> Self {
        let decisions = vec![None; docket.names().len()];
        let shown = Ok(Change { reasons: Vec::new(), sections: Vec::new() });
        let mut review = Self {
            docket,
            index: 0,
            decisions,
            made: Vec::new(),
            accepted: HashMap::new(),
            shown,
            side_by_side: None,
            is_wide: false,
            top: 0,
            last: 0,
            page: 1,
            notice: None,
            theme,
            is_over: false,
            asks: false,
        };
        review.go_on();
        review
    }

    /// The decisions, case by case; nothing about a case that was not reached.
    pub fn decisions(&self) -> &[Option<Decision>] {
        &self.decisions
    }

    pub fn name(&self, index: usize) -> &str {
        self.docket.names().get(index).map_or("", String::as_str)
    }

    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Reads the current case again, which the workbench may have changed. One with nothing left to decide is done.
    pub fn look(&mut self) {
        if !self.show() {
            self.go_on();
        }
    }

    /// Shows the current case; false if nothing is left to decide about it.
    fn show(&mut self) -> bool {
        self.top = 0;
        let accepted = self.accepted.get(&self.index).cloned();
        match accepted.map_or_else(|| self.docket.change(self.index), |change| Ok(Some(change))) {
            Ok(Some(change)) => self.shown = Ok(change),
            Ok(None) => {
                self.decide(self.index, Decision::Settled);
                return false;
            }
            Err(problem) => self.shown = Err(problem),
        }
        true
    }

    pub fn notify(&mut self, message: String) {
        self.notice = Some(message);
    }

    /// Handles a key; returns the effect to perform.
    pub fn key(&mut self, key: KeyEvent) -> Option<ReviewEffect> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        self.notice = None;
        let was_asked = std::mem::take(&mut self.asks);
        match (key.code, key.modifiers - KeyModifiers::SHIFT) {
            (KeyCode::Char('c'), KeyModifiers::CONTROL) => return Some(ReviewEffect::End),
            (KeyCode::Char('z'), KeyModifiers::CONTROL) => return Some(ReviewEffect::Suspend),
            (KeyCode::Char('l'), KeyModifiers::CONTROL) => return Some(ReviewEffect::Redraw),
            (code, KeyModifiers::NONE) => match code {
                KeyCode::Char('y') if was_asked => return Some(ReviewEffect::End),
                _ if was_asked => {}
                KeyCode::Char('q') => return Some(ReviewEffect::End),
                KeyCode::Enter if self.is_over => return Some(ReviewEffect::End),
                KeyCode::Esc => self.asks = true,
                KeyCode::Char('u') => self.undo(),
                KeyCode::Char('b') => self.back(),
                _ if self.is_over => {}
                KeyCode::Char('a') => self.accept(),
                KeyCode::Char('A') => self.accept_alike(),
                KeyCode::Char('r') => self.pass(Decision::Rejected, 0),
                KeyCode::Char('s') => self.pass(Decision::Skipped, 0),
                KeyCode::Char('o') if self.docket.can_open(self.index) => return Some(ReviewEffect::Open(self.index)),
                KeyCode::Char('o') => self.notify("the workbench shows outputs, not rendered chats".to_owned()),
                KeyCode::Char('d') => self.side_by_side = Some(!self.side_by_side.unwrap_or(self.is_wide)),
                code => self.top = moved(self.top, code, self.page).unwrap_or(self.top).min(self.last),
            },
            _ => {}
        }
        None
    }

    fn scroll_by(&mut self, rows: isize) {
        self.top = self.top.saturating_add_signed(rows).min(self.last);
    }
}
