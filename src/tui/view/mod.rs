//! The screen, drawn from the state.

mod events;
mod frame;
mod message;
mod overlay;
mod stream;
mod template;
mod words;
mod wrapping;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::Line;

use super::app::App;
use super::line::fit;
use super::panes::Pane;

/// What was drawn last: where a click hits, how far a pane can be scrolled, and what need not be worked out again.
#[derive(Default)]
pub struct Drawn {
    streams: Vec<stream::Place>,
    events: Vec<events::Place>,
    /// Of each side, which may not be of one width.
    wrappings: Vec<wrapping::Wrapping>,
    message: message::Cache,
    /// The first row and the last that can be first, of each pane.
    rows: Vec<(Pane, usize, usize)>,
    pages: Vec<(Pane, u16)>,
    overlay_height: u16,
    /// The screen, and how many rows the words have on it.
    words: (Rect, u16),
}

impl Drawn {
    /// The byte of the text at a place of the screen.
    pub fn byte_at(&self, place: Position) -> Option<usize> {
        self.streams.iter().find_map(|stream| stream.byte_at(place))
    }

    /// The event at a place of the screen.
    pub fn event_at(&self, place: Position) -> Option<usize> {
        self.events.iter().find_map(|events| events.event_at(place))
    }

    /// The first row that is shown of a pane, and the last that can be.
    pub fn rows(&self, pane: Pane) -> (usize, usize) {
        let found = self.rows.iter().find(|(known, _, _)| *known == pane);
        found.map_or((0, 0), |(_, top, last)| (*top, *last))
    }

    /// How many rows a page of a pane has.
    pub fn page(&self, pane: Pane) -> isize {
        let found = self.pages.iter().find(|(known, _)| *known == pane);
        found.map_or(1, |(_, height)| isize::try_from(height.saturating_sub(1).max(1)).unwrap_or(1))
    }

    /// How many rows a page of what lies over the screen has.
    pub fn overlay_page(&self) -> usize {
        usize::from(self.overlay_height.saturating_sub(1).max(1))
    }

    /// Keeps how far a pane is scrolled, and gives the row to begin with.
    ///
    /// A pane that was not scrolled by hand keeps its place as long as the row that counts is in view.
    fn follow(&mut self, pane: Pane, scrolled: Option<usize>, row: usize, count: usize, height: u16) -> usize {
        let height = usize::from(height.max(1));
        let last = count.saturating_sub(height);
        let margin = (height / 4).min(3);
        let before = self.rows(pane).0;
        let lowest = (row + margin + 1).saturating_sub(height);
        let top = match scrolled {
            Some(top) => top.min(last),
            None => before.clamp(lowest.min(row), row.saturating_sub(margin).max(lowest.min(row))).min(last),
        };
        self.rows.retain(|(known, _, _)| *known != pane);
        self.rows.push((pane, top, last));
        self.pages.retain(|(known, _)| *known != pane);
        self.pages.push((pane, u16::try_from(height).unwrap_or(u16::MAX)));
        top
    }
}

/// Draws the whole screen.
pub fn draw(out: &mut Frame<'_>, app: &mut App) {
    let area = out.area();
    if area.is_empty() {
        return;
    }
    let plan = frame::Plan::new(area, app);
    let buffer = out.buffer_mut();
    frame::header(buffer, plan.header, app);
    let stacked = app.sides.len() > 1;
    app.drawn.streams.clear();
    app.drawn.events.clear();
    for (pane, place) in app.panes.lay_out(plan.panes, stacked) {
        frame::title(buffer, place, pane, app);
        let inside = Rect { y: place.y + 1, height: place.height.saturating_sub(1), ..place };
        if inside.is_empty() || app.panes.is_folded(pane) {
            continue;
        }
        match pane {
            _ if app.sides.is_empty() => {}
            Pane::Stream => stream::draw(buffer, inside, app),
            Pane::Events => events::draw(buffer, inside, app),
            Pane::Message => message::draw(buffer, inside, app),
            Pane::Template => template::draw(buffer, inside, app),
        }
        if let (false, [_, right]) = (pane == Pane::Template, halves(inside, app.sides.len()).as_slice()) {
            let edge = Rect { x: right.x.saturating_sub(1), width: 1, ..inside };
            edge.positions().for_each(|at| put(buffer, at.x, at.y, 1, "│", app.theme.quiet()));
        }
        if place.x > area.x {
            let edge = Rect { x: place.x - 1, width: 1, ..place };
            edge.positions().for_each(|at| put(buffer, at.x, at.y, 1, "│", app.theme.quiet()));
        }
    }
    words::draw(buffer, plan.words, app);
    frame::bar(buffer, plan.bar, app);
    overlay::draw(out, area, app);
}

/// The rooms of one side and the other; the whole where there is one side only.
fn halves(area: Rect, sides: usize) -> Vec<Rect> {
    if sides < 2 {
        return vec![area];
    }
    let left = area.width.saturating_sub(1) / 2;
    let right = Rect { x: area.x + left + 1, width: area.width.saturating_sub(left + 1), ..area };
    vec![Rect { width: left, ..area }, right]
}

/// Writes a text that is safe to show, on one line.
fn put(buffer: &mut Buffer, x: u16, y: u16, width: u16, text: &str, style: Style) {
    if buffer.area.contains(Position::new(x, y)) {
        buffer.set_stringn(x, y, text, usize::from(width), style);
    }
}

/// Writes a line whose parts are safe to show.
fn put_line(buffer: &mut Buffer, area: Rect, row: usize, line: &Line<'_>) {
    let Ok(row) = u16::try_from(row) else { return };
    if row < area.height && buffer.area.contains(Position::new(area.x, area.y + row)) {
        buffer.set_line(area.x, area.y + row, line, area.width);
    }
}

/// Writes any text on one line, cut to its room.
fn put_fitted(buffer: &mut Buffer, area: Rect, row: u16, text: &str, style: Style) {
    if row < area.height {
        put(buffer, area.x, area.y + row, area.width, &fit(text, usize::from(area.width)), style);
    }
}

/// A letter for each field, by which its text is known without colour.
fn letters(names: impl Iterator<Item = impl AsRef<str>>) -> Vec<char> {
    let mut letters: Vec<char> = Vec::new();
    for name in names {
        let own = name.as_ref().chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_uppercase());
        let letter = own.chain('A'..='Z').chain('0'..='9').find(|letter| !letters.contains(letter));
        letters.push(letter.unwrap_or('?'));
    }
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_has_its_own_letter() {
        let letters = |names: &[&str]| letters(names.iter()).into_iter().collect::<String>();
        assert_eq!(letters(&["content", "reasoning_content", "tool_calls"]), "CRT");
        assert_eq!(letters(&["content", "calls", "c", "日本"]), "CABD");
        assert_eq!(letters(&[]), "");
    }

    #[test]
    fn a_pane_follows_calmly() {
        let mut drawn = Drawn::default();
        let mut at = |row| drawn.follow(Pane::Events, None, row, 100, 10);
        assert_eq!(at(0), 0);
        assert_eq!(at(7), 0, "what is in view does not move");
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
