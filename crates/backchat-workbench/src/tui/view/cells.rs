//! Writes texts into cells, and splits an area between two sides.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Widget};

use super::super::line::fit;
use super::super::theme::Theme;

/// The areas of both sides, equally wide, so that a text has the same rows in both; of one side, the whole area.
pub fn halves(area: Rect, sides: usize) -> Vec<Rect> {
    if sides < 2 {
        return vec![area];
    }
    let left = area.width.saturating_sub(1) / 2;
    let side = Rect { width: left, ..area };
    vec![side, Rect { x: area.x + left + 1, ..side }]
}

/// Writes a text that is safe to show, on one line, from a cell on.
pub fn put(buffer: &mut Buffer, (x, y): (u16, u16), width: u16, text: &str, style: Style) {
    if buffer.area.contains(Position::new(x, y)) {
        buffer.set_stringn(x, y, text, usize::from(width), style);
    }
}

/// Writes a line whose parts are safe to show.
pub fn put_line(buffer: &mut Buffer, area: Rect, row: usize, line: &Line<'_>) {
    let Ok(row) = u16::try_from(row) else { return };
    if row < area.height && buffer.area.contains(Position::new(area.x, area.y + row)) {
        buffer.set_line(area.x, area.y + row, line, area.width);
    }
}

/// Writes any text on one line, cut to the area.
pub fn put_fitted(buffer: &mut Buffer, area: Rect, row: u16, text: &str, style: Style) {
    if row < area.height {
        put(buffer, (area.x, area.y + row), area.width, &fit(text, usize::from(area.width)), style);
    }
}

/// The current line of a list, as wide as its area.
pub fn highlighted(mut line: Line<'static>, width: u16, theme: Theme) -> Line<'static> {
    let rest = usize::from(width).saturating_sub(line.width());
    line.push_span(Span::raw(" ".repeat(rest)));
    line.patch_style(theme.current())
}

/// The texts on the border of a box.
pub struct Labels<'t> {
    pub title: &'t str,
    pub keys: String,
}

/// Draws an empty box in the middle of an area; returns the place for its text.
pub fn put_box(
    buffer: &mut Buffer,
    area: Rect,
    (width, height): (u16, u16),
    Labels { title, keys }: Labels<'_>,
    theme: Theme,
) -> Rect {
    let place = Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
    Clear.render(place, buffer);
    let title = fit(title, usize::from(width).saturating_sub(4));
    let block = Block::bordered().title(format!(" {title} ")).title_bottom(keys).border_style(theme.quiet());
    let inside = block.inner(place);
    block.render(place, buffer);
    Rect { x: inside.x + 1, width: inside.width.saturating_sub(2), ..inside }
}

/// A letter for each field, by which its text is known without color.
pub fn letters(names: impl Iterator<Item = impl AsRef<str>>) -> Vec<char> {
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
}
