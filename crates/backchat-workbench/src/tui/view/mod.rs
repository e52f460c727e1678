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
use ratatui::layout::Rect;

use super::app::App;
use super::panes::Pane;
use cells::{halves, put};

impl App {
    pub fn draw(&mut self, out: &mut Frame<'_>) {
        draw(out, self);
    }
}

fn draw(out: &mut Frame<'_>, app: &mut App) {
    let area = out.area();
    if area.is_empty() {
        return;
    }
    app.layout.follow(app.session.playback.moves);
    let plan = frame::Plan::new(area, app);
    let buffer = out.buffer_mut();
    frame::header(buffer, plan.header, app);
    let stacked = app.session.playback.sides.len() > 1;
    app.layout.drawn.streams.clear();
    app.layout.drawn.events.clear();
    for (pane, place) in app.layout.panes.lay_out(plan.panes, stacked) {
        frame::title(buffer, place, pane, app);
        let inside = Rect { y: place.y + 1, height: place.height.saturating_sub(1), ..place };
        if inside.is_empty() || app.layout.panes.is_folded(pane) {
            continue;
        }
        match pane {
            _ if app.session.playback.sides.is_empty() => {}
            Pane::Stream => stream::draw(buffer, inside, app),
            Pane::Events => events::draw(buffer, inside, app),
            Pane::Message => message::draw(buffer, inside, app),
            Pane::Template => template::draw(buffer, inside, app),
        }
        if let (false, [_, right]) =
            (pane == Pane::Template, halves(inside, app.session.playback.sides.len()).as_slice())
        {
            let edge = Rect { x: right.x.saturating_sub(1), width: 1, ..inside };
            edge.positions().for_each(|at| put(buffer, at.x, at.y, 1, "│", app.layout.theme.quiet()));
        }
        if place.x > area.x {
            let edge = Rect { x: place.x - 1, width: 1, ..place };
            edge.positions().for_each(|at| put(buffer, at.x, at.y, 1, "│", app.layout.theme.quiet()));
        }
    }
    words::draw(buffer, plan.words, app);
    frame::bar(buffer, plan.bar, app);
    overlay::draw(out, area, app);
}
