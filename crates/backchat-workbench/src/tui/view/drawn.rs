//! A record of the last drawing: targets of clicks, scroll limits, and cached results.

use std::collections::HashMap;

use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

use super::super::panes::Pane;
use super::wrapping::Wrapping;

#[derive(Default)]
pub struct Drawn {
    pub streams: Vec<StreamPlace>,
    pub events: Vec<EventsPlace>,
    /// For each side, as their widths may differ.
    pub wrappings: Vec<Wrapping>,
    pub messages: Vec<ShownMessage>,
    scrolls: HashMap<Pane, Scroll>,
    pub overlay_height: u16,
    /// The rows of the list in the overlay.
    pub list: Option<ListPlace>,
    /// The screen, and how many rows the words have on it.
    pub words: (Rect, u16),
}

impl Drawn {
    /// The byte of the text at a place of the screen.
    pub fn byte_at(&self, place: Position) -> Option<usize> {
        let stream = self.streams.iter().find(|stream| stream.area.contains(place))?;
        let row = stream.rows.get(usize::from(place.y - stream.area.y))?;
        row.iter().rev().find(|(x, _)| *x <= place.x).or_else(|| row.first()).map(|(_, byte)| *byte)
    }

    /// The row of the list at a place of the screen.
    pub fn list_row(&self, place: Position) -> Option<usize> {
        let list = self.list.filter(|list| list.area.contains(place))?;
        Some(list.top + usize::from(place.y - list.area.y)).filter(|row| *row < list.count)
    }

    pub fn event_at(&self, place: Position) -> Option<usize> {
        let list = self.events.iter().find(|list| list.area.contains(place))?;
        list.events.get(usize::from(place.y - list.area.y)).copied()
    }

    /// The first row that is shown of a pane, and the last that can be.
    pub fn rows(&self, pane: Pane) -> (usize, usize) {
        self.scrolls.get(&pane).map_or((0, 0), |scroll| (scroll.top, scroll.last))
    }

    /// How many rows a page of a pane has.
    pub fn page(&self, pane: Pane) -> isize {
        let height = self.scrolls.get(&pane).map_or(0, |scroll| scroll.height);
        isize::try_from(height.saturating_sub(1).max(1)).unwrap_or(1)
    }

    /// How many rows a page of the overlay has.
    pub fn overlay_page(&self) -> usize {
        usize::from(self.overlay_height.saturating_sub(1).max(1))
    }

    /// Records the scroll position of a pane, and returns the row to begin with.
    ///
    /// A pane that was not scrolled by hand stays as long as the current row is in view.
    pub fn follow(&mut self, pane: Pane, scrolled: Option<usize>, row: usize, count: usize, height: u16) -> usize {
        let height = usize::from(height.max(1));
        let last = count.saturating_sub(height);
        let margin = (height / 4).min(3);
        let before = self.rows(pane).0;
        let lowest = (row + margin + 1).saturating_sub(height);
        let top = match scrolled {
            Some(top) => top.min(last),
            None => before.clamp(lowest.min(row), row.saturating_sub(margin).max(lowest.min(row))).min(last),
        };
        self.scrolls.insert(pane, Scroll { top, last, height });
        top
    }
}

struct Scroll {
    top: usize,
    /// The last possible first row.
    last: usize,
    height: usize,
}

/// The rows of a list, for the mouse.
#[derive(Clone, Copy)]
pub struct ListPlace {
    pub area: Rect,
    /// The first row that is shown, and how many there are.
    pub top: usize,
    pub count: usize,
}

/// The area of a stream, for the mouse.
pub struct StreamPlace {
    pub area: Rect,
    /// The bytes of each row, with the column where each begins.
    pub rows: Vec<Vec<(u16, usize)>>,
}

/// The area of the events, for the mouse.
pub struct EventsPlace {
    pub area: Rect,
    pub events: Vec<usize>,
}

/// The message of a side in lines, as it was last shown.
#[derive(Default)]
pub struct ShownMessage {
    pub key: Option<MessageKey>,
    pub lines: Vec<MessageRow>,
    /// Under the message: the expected one.
    pub comparison: Vec<Line<'static>>,
}

#[derive(PartialEq, Eq)]
pub struct MessageKey {
    pub recording: u64,
    pub closed: usize,
    pub is_end: bool,
    pub width: u16,
    pub is_mismatch: bool,
}

pub struct MessageRow {
    /// The key of the message it belongs to.
    pub key: String,
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pane_scrolls_only_as_far_as_needed() {
        let mut drawn = Drawn::default();
        let mut at = |row| drawn.follow(Pane::Events, None, row, 100, 10);
        assert_eq!(at(0), 0);
        assert_eq!(at(7), 0, "rows in view do not move");
        assert_eq!(at(8), 1);
        assert_eq!(at(50), 43);
        assert_eq!(at(45), 43);
        assert_eq!(at(44), 42);
        assert_eq!(at(99), 90);
        assert_eq!(at(0), 0);
        assert_eq!(drawn.follow(Pane::Events, Some(30), 0, 100, 10), 30);
        assert_eq!(drawn.follow(Pane::Events, Some(300), 0, 5, 10), 0);
    }
}
