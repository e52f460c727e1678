//! Draws the last event, and why nothing more is released.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::super::app::App;
use super::super::line::{fit, wrap};
use super::cells::{put, put_fitted};
use crate::replay::Side;

/// How many rows the explanation has: enough to say why text is held, or to describe two sides, within limits. It
/// shrinks only at either end of the output, so that the layout does not jump between steps.
pub fn height(area: Rect, app: &mut App) -> u16 {
    let (sides, drawn) = (&app.session.playback.sides, &mut app.layout.drawn.words);
    let most = match area.height {
        ..6 => return 1,
        height => (height / 5).min(5) + if sides.len() > 1 { 2 } else { 1 },
    };
    let least = match (area.width, area.height) {
        (160.., _) | (_, 6..20) => 2,
        _ => 3,
    };
    let is_at_an_end = |side: &Side| [side.recording.start(), side.recording.end()].contains(&side.moment);
    if drawn.0 != area || sides.iter().all(is_at_an_end) {
        *drawn = (area, least);
    }
    let width = width(area);
    if sides.len() > 1 || sides.iter().any(|side| side.recording.held(side.moment).is_some()) {
        let rows: usize = sides.iter().flat_map(|side| said(side, sides.len(), width)).map(|rows| rows.len()).sum();
        drawn.1 = drawn.1.max(u16::try_from(rows).unwrap_or(u16::MAX).min(most));
    }
    drawn.1
}

/// The columns beside the mark.
fn width(area: Rect) -> usize {
    usize::from(area.width).saturating_sub(2).max(1)
}

/// The last event of a side and why nothing more is released, in rows; with two sides, each in one sentence.
fn said(side: &Side, sides: usize, width: usize) -> Vec<Vec<String>> {
    if sides == 1 {
        let (happened, why) = alone(side, width);
        return vec![happened, why];
    }
    let (happened, why) = (side.recording.happened(side.moment), side.recording.why(side.moment));
    vec![wrap(&format!("{}: {happened}; {why}", side.name), width + 2)]
}

/// The rows of the only side: the last event, and the reason.
fn alone(side: &Side, width: usize) -> (Vec<String>, Vec<String>) {
    (wrap(&side.recording.happened(side.moment), width), wrap(&side.recording.why(side.moment), width))
}

pub fn draw(buffer: &mut Buffer, area: Rect, app: &App) {
    let room = usize::from(area.height);
    let width = width(area);
    let mut rows: Vec<(String, Style)> = Vec::new();
    match app.session.playback.sides.as_slice() {
        [] => {}
        [side] if room == 1 => return put_fitted(buffer, area, 0, &side.recording.why(side.moment), Style::new()),
        [side] => {
            let (happened, why) = alone(side, width);
            // If not everything fits, the reason why nothing more is released has priority.
            let least = usize::from(room > 3 || side.recording.held(side.moment).is_none());
            let first = room.saturating_sub(why.len()).clamp(least, happened.len().max(1));
            rows.extend(clipped(happened, first, ("▸ ", "  ")).into_iter().map(|row| (row, Style::new())));
            rows.extend(
                clipped(why, room - first, ("… ", "  ")).into_iter().map(|row| (row, app.layout.theme.strong())),
            );
        }
        sides => {
            let mut left = room;
            for (at, side) in sides.iter().enumerate() {
                let share = left / (sides.len() - at);
                let whole: Vec<String> = said(side, sides.len(), width).concat();
                let shown = match whole.len() <= share {
                    true => whole,
                    false => wrap(&format!("{}: {}", side.name, side.recording.why(side.moment)), width + 2),
                };
                let style = if at == 0 { Style::new() } else { app.layout.theme.strong() };
                let shown = clipped(shown, share, ("", ""));
                left -= shown.len();
                rows.extend(shown.into_iter().map(|row| (row, style)));
            }
        }
    }
    if rows.len() < room
        && let Some(found) = finding(app)
    {
        rows.push((fit(&format!("◆ {found}"), width + 2), app.layout.theme.bad()));
    }
    for ((text, style), y) in rows.iter().take(room).zip(area.y..) {
        put(buffer, (area.x, y), area.width, text, *style);
    }
}

/// The finding at the last event.
fn finding(app: &App) -> Option<String> {
    let side = app.session.side()?;
    let last = side.recording.last_event(side.moment)?;
    let here = app.session.findings().get(app.session.finding_here()?)?;
    (here.event == Some(last)).then(|| here.line())
}

/// At most `most` rows: the first after a mark, the last with an ellipsis if there are more.
fn clipped(rows: Vec<String>, most: usize, (first, other): (&str, &str)) -> Vec<String> {
    let more = rows.len() > most;
    let shown = rows.into_iter().take(most).enumerate();
    let shown = shown.map(|(at, row)| {
        let mark = if at == 0 { first } else { other };
        if at + 1 == most && more { format!("{mark}{}", cut_short(&row)) } else { format!("{mark}{row}") }
    });
    shown.collect()
}

fn cut_short(row: &str) -> String {
    let mut row = row.trim_end().to_owned();
    row.pop();
    row + "…"
}
