//! What just happened, and why nothing more is released.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::super::app::App;
use super::super::line::wrap;
use super::{put, put_fitted};

/// How many rows the words have on a screen of this size. It is the same at every step, so nothing jumps.
pub fn height(area: Rect) -> u16 {
    match (area.width, area.height) {
        (_, ..6) => 1,
        (160.., _) | (_, 6..20) => 2,
        _ => 3,
    }
}

pub fn draw(buffer: &mut Buffer, area: Rect, app: &App) {
    let room = usize::from(area.height);
    let width = usize::from(area.width).saturating_sub(2).max(1);
    let line = |row: usize| Rect { y: area.y + u16::try_from(row).unwrap_or(0), height: 1, ..area };
    match app.sides.as_slice() {
        [] => {}
        [side] if room == 1 => put_fitted(buffer, area, 0, &side.recording.why(side.moment), Style::new()),
        [side] => {
            let happened = wrap(&side.recording.happened(side.moment), width);
            let why = wrap(&side.recording.why(side.moment), width);
            // Where not all fits, why nothing more is released matters more.
            let first = room.saturating_sub(why.len()).clamp(1, happened.len());
            let rows = clipped(happened, first, "▸ ").into_iter().map(|row| (row, Style::new()));
            let rows = rows.chain(clipped(why, room - first, "… ").into_iter().map(|row| (row, app.theme.strong())));
            for (row, (text, style)) in rows.enumerate() {
                let place = line(row);
                put(buffer, place.x, place.y, place.width, &text, style);
            }
        }
        sides => {
            for (row, side) in sides.iter().take(room).enumerate() {
                let (happened, why) = (side.recording.happened(side.moment), side.recording.why(side.moment));
                let text = format!("{}: {happened}; {why}", side.name);
                put_fitted(buffer, line(row), 0, &text, if row == 0 { Style::new() } else { app.theme.strong() });
            }
        }
    }
}

/// So many rows, the first behind a mark, the last with a sign where there are more.
fn clipped(rows: Vec<String>, most: usize, mark: &str) -> Vec<String> {
    let more = rows.len() > most;
    let shown = rows.into_iter().take(most).enumerate();
    let shown = shown.map(|(at, row)| match (at, at + 1 == most && more) {
        (0, false) => format!("{mark}{row}"),
        (0, true) => format!("{mark}{}", cut_short(&row)),
        (_, false) => format!("  {row}"),
        (_, true) => format!("  {}", cut_short(&row)),
    });
    shown.collect()
}

fn cut_short(row: &str) -> String {
    let mut row = row.trim_end().to_owned();
    row.pop();
    row + "…"
}
