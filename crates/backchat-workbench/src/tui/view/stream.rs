//! Draws the output: the kind of each segment, held text, and text that has not arrived.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::super::app::App;
use super::super::line::{clusters, is_mark};
use super::super::panes::Pane;
use super::super::theme::Theme;
use super::cells::{halves, letters, put};
use super::drawn::StreamPlace;
use crate::replay::{Recording, Segment};
use crate::session::Search;

/// The margin: the letters of the fields, and breakpoints.
const MARGIN: u16 = 4;

/// How many letters fit into the margin.
const LETTERS: usize = 3;

/// How much of the prompt is shown, in bytes.
const TAIL: usize = 1200;

pub fn draw(buffer: &mut Buffer, area: Rect, app: &mut App) {
    app.layout.drawn.wrappings.resize_with(app.session.playback.sides.len(), Default::default);
    for (side, area) in halves(area, app.session.playback.sides.len()).into_iter().enumerate() {
        draw_side(buffer, area, app, side);
    }
}

fn draw_side(buffer: &mut Buffer, area: Rect, app: &mut App, index: usize) {
    let Some(side) = app.session.playback.sides.get(index) else { return };
    let (recording, moment) = (&side.recording, side.moment);
    let width = area.width.saturating_sub(MARGIN).max(1);
    let Some(wrapping) = app.layout.drawn.wrappings.get_mut(index) else { return };
    wrapping.update(recording.text(), tail(recording), width, app.layout.show_whitespace);
    let arrived = recording.arrived(moment);
    // The text right before the position belongs to the last event.
    let here = wrapping.row_of(arrived.saturating_sub(usize::from(arrived > recording.output_start())));
    let count = wrapping.count();
    let top = app.layout.first_row(Pane::Stream, index, here, count, area.height);
    let wrappings = &app.layout.drawn.wrappings;
    let (Some(first), Some(wrapping)) = (wrappings.first(), wrappings.get(index)) else { return };
    // The other side shows the same text; its rows may begin elsewhere.
    let top = if index == 0 { top } else { wrapping.row_of(first.row(top).start) };
    let last = (top + usize::from(area.height)).min(count);
    let window = wrapping.row(top).start..wrapping.row(last.saturating_sub(1)).end;
    let stops = app.session.playback.stops.iter();
    let painter = Painter {
        theme: app.layout.theme,
        whitespace: app.layout.show_whitespace,
        letters: letters(recording.template().fields().iter().map(|field| &field.name)),
        recording,
        arrived,
        found: matches(app.session.playback.search.as_ref(), &window),
        show_future: app.layout.show_future,
        stops: stops.filter_map(|stop| recording.stop_place(stop)?.checked_sub(1)).collect(),
    };
    let parts = recording.segments(moment, window);
    let mut rows = Vec::new();
    for (line, row) in (top..last).enumerate() {
        let Ok(line) = u16::try_from(line) else { break };
        let place = Rect { y: area.y + line, height: 1, ..area };
        rows.push(painter.row(buffer, place, wrapping.row(row), &parts));
    }
    app.layout.drawn.streams.push(StreamPlace { area, rows });
}

/// The start of the part of the prompt that is shown.
fn tail(recording: &Recording) -> usize {
    let mut start = recording.origin().saturating_sub(TAIL);
    while !recording.text().is_char_boundary(start) {
        start += 1;
    }
    let before = recording.slice(start..recording.origin());
    // Three lines of it are enough for orientation.
    let lines = before.rmatch_indices('\n').nth(3).map_or(0, |(at, _)| at + 1);
    start + lines
}

/// The matches of the search in the window.
fn matches(search: Option<&Search>, window: &Range<usize>) -> Vec<Range<usize>> {
    let found = search.into_iter().flat_map(Search::in_output);
    found.filter(|found| found.start < window.end && window.start < found.end).cloned().collect()
}

struct Painter<'a> {
    theme: Theme,
    whitespace: bool,
    letters: Vec<char>,
    recording: &'a Recording,
    arrived: usize,
    found: Vec<Range<usize>>,
    show_future: bool,
    /// The last bytes before each breakpoint on a character.
    stops: Vec<usize>,
}

impl Painter<'_> {
    /// Draws a row; returns the columns of its characters.
    fn row(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        bytes: Range<usize>,
        parts: &[(Range<usize>, Segment)],
    ) -> Vec<(u16, usize)> {
        let mut columns = Vec::new();
        let mut x = area.x + MARGIN;
        let mut next = parts.partition_point(|(span, _)| span.end <= bytes.start);
        let mut margin: Vec<usize> = Vec::new();
        for cluster in clusters(self.recording.slice(bytes.clone()), self.whitespace) {
            let at = bytes.start + cluster.at;
            while parts.get(next).is_some_and(|(span, _)| span.end <= at) {
                next += 1;
            }
            let Some((span, part)) = parts.get(next) else { break };
            if let Segment::Body(field) | Segment::Delimiter(field) = part
                && margin.last() != Some(field)
            {
                margin.push(*field);
            }
            let place = at..at + cluster.base.len_utf8() + cluster.marks.len();
            let is_here = place.contains(&self.arrived);
            if *part == Segment::Future && !self.show_future && !is_here {
                break;
            }
            columns.push((x, at));
            let text = cluster.glyph(self.whitespace || (cluster.base == '\n' && is_here));
            let text = if *part == Segment::Future && !self.show_future { " ".into() } else { text };
            let width = u16::try_from(cluster.width.max(1)).unwrap_or(1);
            let room = area.right().saturating_sub(x);
            let mut style = self.style(*part, place, cluster.base);
            // A delimiter marks the beginning of a region; without one, its first character does.
            let before = next.checked_sub(1).and_then(|before| parts.get(before)).map(|(_, part)| *part);
            let is_bare = !matches!(before, Some(Segment::Delimiter(_)));
            if matches!(part, Segment::Body(_)) && at == span.start && at > bytes.start && is_bare {
                style = style.add_modifier(Modifier::UNDERLINED);
            }
            put(buffer, (x, area.y), room, &text, style);
            x = x.saturating_add(width).min(area.right());
        }
        let at_end = self.arrived == self.recording.text().len() && bytes.end == self.arrived;
        let ends_here = self.recording.slice(bytes.clone()).ends_with('\n');
        if at_end && !ends_here && x < area.right() {
            put(buffer, (x, area.y), 1, " ", self.theme.cursor());
        }
        columns.push((x, bytes.end));
        self.margin(buffer, area, &bytes, &margin);
        columns
    }

    /// The letters of the fields whose text is in the row, and whether there is a breakpoint.
    fn margin(&self, buffer: &mut Buffer, area: Rect, bytes: &Range<usize>, fields: &[usize]) {
        let more = fields.len() > LETTERS;
        let shown = fields.iter().take(if more { LETTERS - 1 } else { LETTERS });
        let mut x = area.x;
        for field in shown {
            let letter = self.letters.get(*field).copied().unwrap_or('?');
            put(buffer, (x, area.y), 1, &letter.to_string(), self.theme.field(*field));
            x += 1;
        }
        if more {
            put(buffer, (x, area.y), 1, "+", self.theme.quiet());
        }
        if self.stops.iter().any(|stop| bytes.contains(stop)) {
            put(buffer, (area.x + MARGIN - 1, area.y), 1, "●", Style::new());
        }
    }

    fn style(&self, part: Segment, place: Range<usize>, c: char) -> Style {
        let theme = self.theme;
        let style = match part {
            Segment::Prompt => theme.prompt(),
            Segment::Body(field) => theme.field(field),
            Segment::Delimiter(field) => theme.delimiter(field),
            Segment::Dropped => theme.dropped(),
            Segment::Held => theme.held(),
            Segment::Future => theme.quiet(),
        };
        let style = match self.found.iter().any(|found| found.start < place.end && place.start < found.end) {
            true => style.patch(theme.found()),
            false => style,
        };
        match () {
            () if place.contains(&self.arrived) => style.patch(theme.cursor()),
            () if is_mark(c, self.whitespace) && part != Segment::Held => style.patch(theme.faint()),
            _ => style,
        }
    }
}
