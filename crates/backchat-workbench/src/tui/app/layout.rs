//! How a session is laid out on the screen: panes, overlays, and the last drawing. Plain data.

use super::super::panes::{Pane, Panes};
use super::super::theme::Theme;
use super::super::view::drawn::Drawn;
use super::overlay::Overlay;

pub struct Layout {
    pub theme: Theme,
    pub panes: Panes,
    pub overlay: Option<Overlay>,
    /// The number typed before a key.
    pub count: Option<usize>,
    pub show_whitespace: bool,
    /// Whether text that has not arrived is shown.
    pub show_future: bool,
    pub drawn: Drawn,
    /// The move counter that the panes have followed.
    followed: u64,
}

impl Layout {
    pub fn new(theme: Theme) -> Self {
        Self {
            theme,
            panes: Panes::default(),
            overlay: None,
            count: None,
            show_whitespace: false,
            show_future: true,
            drawn: Drawn::default(),
            followed: 0,
        }
    }

    /// The row that a pane begins with, so that the current one is in view unless it was scrolled by hand.
    pub fn first_row(&mut self, pane: Pane, row: usize, count: usize, height: u16) -> usize {
        self.drawn.follow(pane, self.panes.scrolled(pane), row, count, height)
    }

    /// Undoes scrolling by hand if the session has moved since.
    pub fn follow(&mut self, moves: u64) {
        if self.followed != moves {
            self.panes.follow();
            self.followed = moves;
        }
    }
}
