//! Draws the events, one per row; adjacent chunks of a region as one, unless every chunk is requested.

use std::borrow::Cow;
use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::super::app::App;
use super::super::line::{fit, fit_around};
use super::super::panes::Pane;
use super::cells::{halves, highlighted, letters, put_fitted, put_line};
use super::drawn::EventsPlace;
use crate::replay::{Kind, Recording, Side, shown};
use backchat_core::text::common_start;

/// From this width on, a word fits between an actual and an expected value.
const ROOMY: usize = 50;

/// The events of a row of the list.
type Row = Range<usize>;

pub fn draw(buffer: &mut Buffer, area: Rect, app: &mut App) {
    for (index, area) in halves(area, app.session.playback.sides.len()).into_iter().enumerate() {
        let Some(side) = app.session.playback.sides.get(index) else { continue };
        let list = List { recording: &side.recording, every: app.session.playback.every_event };
        let current = list.row_of(side);
        let count = list.count();
        let top = app.layout.first_row(Pane::Events, index, current.unwrap_or(0), count, area.height);
        let difference = app.session.playback.difference.filter(|_| !list.every);
        let fields = side.recording.template().fields();
        let letters = letters(fields.iter().map(|field| &field.name));
        // If space is short, the letter is enough.
        let most = if area.width < 60 { 0 } else { 18 };
        let name_width = fields.iter().map(|field| field.name.chars().count()).max().unwrap_or(0).min(most);
        let mut place = EventsPlace { area, events: Vec::new() };
        for (line, at) in (top..count).take(usize::from(area.height)).enumerate() {
            let row = list.row(at);
            let event = side.recording.event(row.start);
            let shown = Shown {
                app,
                side,
                letter: event.and_then(|event| letters.get(event.field)).copied().unwrap_or('?'),
                name_width,
                count,
                is_current: current == Some(at),
                differs: difference.is_some_and(|difference| at >= difference.row),
            };
            place.events.push(row.end.saturating_sub(1));
            put_line(buffer, area, line, &shown.line(&row, at, area.width));
        }
        if count == 0 {
            put_fitted(buffer, area, 0, "no events", app.layout.theme.quiet());
        }
        app.layout.drawn.events.push(place);
    }
}

struct List<'a> {
    recording: &'a Recording,
    every: bool,
}

impl List<'_> {
    fn count(&self) -> usize {
        if self.every { self.recording.event_count() } else { self.recording.row_count() }
    }

    fn row(&self, at: usize) -> Row {
        if self.every { at..at + 1 } else { self.recording.row(at) }
    }

    /// The row of the last event.
    fn row_of(&self, side: &Side) -> Option<usize> {
        let event = self.recording.last_event(side.moment)?;
        Some(if self.every { event } else { self.recording.row_of(event) })
    }
}

struct Shown<'a> {
    app: &'a App,
    side: &'a Side,
    letter: char,
    name_width: usize,
    /// How many rows there are.
    count: usize,
    is_current: bool,
    differs: bool,
}

impl Shown<'_> {
    fn line(&self, row: &Row, at: usize, width: u16) -> Line<'static> {
        let theme = self.app.layout.theme;
        let recording = &self.side.recording;
        let Some(event) = recording.event(row.start) else { return Line::default() };
        let session = &self.app.session;
        let is_future = row.start >= self.side.moment.event;
        let is_initial = row.end <= recording.initial_count();
        let mark = match () {
            () if self.differs => "≠",
            () if self.is_wrong(row) && session.library.material.expected.is_some() => "✗",
            () if self.is_wrong(row) => "!",
            () if self.is_first() && row.clone().any(|event| session.findings_at(event).next().is_some()) => "◆",
            () if self.is_current => "▶",
            () if recording.stops_at(&session.playback.stops, row.start) => "●",
            () if is_initial => "»",
            () => " ",
        };
        let base = if is_future { theme.quiet() } else { Style::new() };
        let paint = |style: Style| if is_future { theme.quiet() } else { style };
        let kind = match event.kind {
            Kind::Malformed => paint(theme.bad()),
            Kind::Open | Kind::Close => paint(Style::new().add_modifier(Modifier::BOLD)),
            Kind::Chunk => paint(Style::new()),
        };
        let name = fit(recording.field_name(event.field), self.name_width);
        let number_width = self.count.max(1).to_string().len();
        let head = format!("{mark}{:>number_width$} ", at + 1);
        let kind_word = format!("{:<9} ", event.kind.short());
        let field = match self.name_width {
            0 => format!("{} ", self.letter),
            width => format!("{} {name:<width$}  ", self.letter),
        };
        let used = head.chars().count() + kind_word.chars().count() + field.chars().count();
        let RowText { count, text } = row_text(recording, row);
        let room = usize::from(width).saturating_sub(used + count.width());
        let (text, expected) = match self.expected(row) {
            Some(expected) => beside(&text, &expected, room),
            None => {
                let other = self.differs.then(|| self.other(at)).flatten();
                let same = other.map_or(0, |other| common_start(&text, &other.text).len());
                (fit_around(&text, same, room), String::new())
            }
        };
        let text = count + &text;
        let is_found = session.playback.search.as_ref().is_some_and(|search| search.has_event_in(row));
        let found = if is_found { theme.found() } else { Style::new() };
        let mut line = Line::from(vec![
            Span::styled(head, if self.differs || self.is_wrong(row) { theme.bad() } else { base }).patch_style(found),
            Span::styled(kind_word, kind),
            Span::styled(field, paint(theme.field(event.field))),
            Span::styled(text, base),
            Span::styled(expected, paint(theme.good())),
        ]);
        if self.is_current {
            line = highlighted(line, width, theme);
        }
        line
    }

    /// The same row of the other side.
    fn other(&self, at: usize) -> Option<RowText<'_>> {
        let other = self.app.session.playback.sides.iter().find(|side| !std::ptr::eq(*side, self.side))?;
        let list = List { recording: &other.recording, every: self.app.session.playback.every_event };
        (at < list.count()).then(|| row_text(&other.recording, &list.row(at)))
    }

    /// The expected value in place of a wrong one.
    fn expected(&self, row: &Row) -> Option<String> {
        let expected = self.app.session.library.material.expected.as_ref().filter(|_| self.is_wrong(row))?;
        let value = self.side.recording.expected_value(expected, row.start);
        Some(value.map_or_else(|| "nothing".to_owned(), |value| value.to_string()))
    }

    /// Whether the message is another than expected because of the row.
    fn is_wrong(&self, row: &Row) -> bool {
        self.is_first() && self.app.session.playback.wrong.binary_search(&row.start).is_ok()
    }

    fn is_first(&self) -> bool {
        self.app.session.side().is_some_and(|first| std::ptr::eq(self.side, first))
    }
}

/// The text of a row after its kind and its field.
struct RowText<'r> {
    /// How many chunks it joins; empty for one.
    count: String,
    /// A text or a value in full.
    text: Cow<'r, str>,
}

fn row_text<'r>(recording: &'r Recording, row: &Row) -> RowText<'r> {
    let count = match (recording.event(row.start).map(|event| event.kind), row.len()) {
        (Some(Kind::Chunk), count @ 2..) => format!("×{count} "),
        _ => String::new(),
    };
    let text = shown(recording, row.clone());
    let text = match recording.replaced(row.start) {
        Some(lost) => format!("{text} in place of {lost}").into(),
        None => text,
    };
    RowText { count, text }
}

/// An actual and an expected text in the space of one, both from shortly before their difference.
fn beside(actual: &str, expected: &str, width: usize) -> (String, String) {
    let between = if width >= ROOMY { "  expected " } else { " ≠ " };
    let room = width.saturating_sub(between.width());
    // Text longer than the space need not be measured.
    let columns = |text: &str| fit(text, room).width();
    let left = columns(actual).min(room - room / 2).max(room.saturating_sub(columns(expected)));
    let same = common_start(actual, expected).len();
    let shown = fit_around(actual, same, left);
    let right = fit_around(expected, same, room.saturating_sub(shown.width()));
    (shown, format!("{between}{right}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_texts_are_cut_around_the_first_difference() {
        let (actual, expected) = (r#"{"city": "Oslo"}"#, r#"{"city": "Rome"}"#);
        for (width, shown) in [
            (60, r#"{"city": "Oslo"} expected {"city": "Rome"}"#.replace(" exp", "  exp")),
            (35, r#"{"city": "Oslo"} ≠ {"city": "Rome"}"#.to_owned()),
            (27, r#"…": "Oslo"} ≠ …": "Rome"}"#.to_owned()),
        ] {
            let (left, right) = beside(actual, expected, width);
            assert_eq!(left + &right, shown, "{width}");
        }
    }
}
