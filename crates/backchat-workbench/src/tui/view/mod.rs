//! Draws the screen from the state; changes nothing but the record of the last drawing.

pub(super) mod cells;
pub(super) mod drawn;
mod events;
mod frame;
mod list;
mod message;
mod overlay;
mod stream;
mod template;
mod words;
mod wrapping;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::app::App;
use super::panes::Pane;
use cells::{halves, put};

impl App {
    pub fn draw(&mut self, out: &mut Frame<'_>) {
        let area = out.area();
        if area.is_empty() {
            return;
        }
        self.layout.follow(self.session.playback.moves);
        let plan = frame::Plan::new(area, self);
        let buffer = out.buffer_mut();
        frame::header(buffer, plan.header, self);
        let stacked = self.session.playback.sides.len() > 1;
        let quiet = self.layout.theme.quiet();
        let edge =
            |buffer: &mut Buffer, area: Rect| area.positions().for_each(|at| put(buffer, (at.x, at.y), 1, "│", quiet));
        self.layout.drawn.streams.clear();
        self.layout.drawn.events.clear();
        for (pane, place) in self.layout.panes.lay_out(plan.panes, stacked) {
            frame::title(buffer, place, pane, self);
            let inside = Rect { y: place.y + 1, height: place.height.saturating_sub(1), ..place };
            if inside.is_empty() || self.layout.panes.is_folded(pane) {
                continue;
            }
            match pane {
                _ if self.session.playback.sides.is_empty() => {}
                Pane::Stream => stream::draw(buffer, inside, self),
                Pane::Events => events::draw(buffer, inside, self),
                Pane::Message => message::draw(buffer, inside, self),
                Pane::Template => template::draw(buffer, inside, self),
            }
            if let (false, [_, right]) =
                (pane == Pane::Template, halves(inside, self.session.playback.sides.len()).as_slice())
            {
                edge(buffer, Rect { x: right.x.saturating_sub(1), width: 1, ..inside });
            }
            if place.x > area.x {
                edge(buffer, Rect { x: place.x - 1, width: 1, ..place });
            }
        }
        words::draw(buffer, plan.words, self);
        frame::bar(buffer, plan.bar, self);
        overlay::draw(out, area, self);
    }
}
