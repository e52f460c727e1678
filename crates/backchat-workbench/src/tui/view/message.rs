//! The message so far, the region that is still open, and the expected one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::super::app::App;
use super::super::line::{fit_end, safe, wrap};
use super::super::mismatch::{comparison, mismatch};
use super::super::panes::Pane;
use super::super::theme::Theme;
use super::cells::{halves, put_line};
use super::drawn::{MessageKey, MessageRow, ShownMessage};
use crate::replay::{Kind, Side};
use backchat_core::diagnostic::escape;
use backchat_core::json::{Object, Value};

/// The most elements shown at either end of a list of regions.
const MOST: usize = 200;

/// The longest string shown whole, in characters.
const LONGEST: usize = 4000;

pub fn draw(buffer: &mut Buffer, area: Rect, app: &mut App) {
    let areas = halves(area, app.session.playback.sides.len());
    let is_alone = areas.len() == 1;
    app.layout.drawn.messages.resize_with(areas.len(), ShownMessage::default);
    for (index, area) in areas.into_iter().enumerate() {
        let Some(side) = app.session.playback.sides.get(index) else { continue };
        let key = MessageKey {
            recording: app.session.playback.generation,
            closed: side.recording.closed_count(side.moment),
            is_end: side.recording.has_ended(side.moment),
            width: area.width,
            is_mismatch: is_alone && app.session.is_mismatch(),
        };
        let Some(cache) = app.layout.drawn.messages.get_mut(index) else { continue };
        if cache.key.as_ref() != Some(&key) {
            let mismatch = mismatch(&app.session).filter(|_| key.is_mismatch);
            // The comparison of whole messages holds the message itself.
            cache.lines = match key.is_mismatch && key.is_end {
                true => Vec::new(),
                false => rows(&side.recording.message_in_brief(side.moment, MOST), usize::from(area.width)),
            };
            cache.comparison = mismatch
                .map_or_else(Vec::new, |mismatch| comparison(&mismatch, usize::from(area.width), app.layout.theme));
            cache.key = Some(key);
        }
        let changed = changed(side);
        let open = open_region(side, area.width, app.layout.theme);
        let cache_lines = cache.lines.len();
        let compared = cache.comparison.len();
        let touched = cache.lines.iter().rposition(|row| Some(row.key.as_str()) == changed.as_deref());
        let count = cache_lines + open.len() + compared;
        let here = match touched {
            // As much of the comparison as fits, from its head on.
            _ if compared > 0 => cache_lines + compared.min(usize::from(area.height.saturating_sub(1))) - 1,
            Some(row) if open.is_empty() => row,
            _ => count.saturating_sub(1),
        };
        let top = app.layout.first_row(Pane::Message, index, here, count, area.height).min(count.saturating_sub(1));
        let Some(cache) = app.layout.drawn.messages.get(index) else { continue };
        let shown = cache.lines.iter().map(|row| {
            let is_new = Some(row.key.as_str()) == changed.as_deref();
            let style = if is_new { app.layout.theme.strong() } else { ratatui::style::Style::new() };
            let mark = if is_new { "▌" } else { " " };
            Line::from(vec![Span::styled(mark, app.layout.theme.good()), Span::styled(row.text.clone(), style)])
        });
        let lines = shown.chain(open).chain(cache.comparison.iter().cloned()).skip(top);
        for (row, line) in lines.take(usize::from(area.height)).enumerate() {
            put_line(buffer, area, row, &line);
        }
    }
}

/// The key of the message that the last event changed.
fn changed(side: &Side) -> Option<String> {
    let event = side.recording.event(side.recording.last_event(side.moment)?)?;
    (event.kind == Kind::Close).then(|| side.recording.field_name(event.field).to_owned())
}

/// The region that is open, its body so far.
fn open_region(side: &Side, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let Some(region) = side.recording.region(side.moment) else { return Vec::new() };
    let name = escape(side.recording.field_name(region.field)).into_owned();
    let body = side.recording.slice(region.body);
    let head = format!(" {name} so far, {} characters:", body.chars().count());
    let style = theme.field(region.field).add_modifier(Modifier::ITALIC);
    let room = usize::from(width).saturating_sub(3).max(1);
    // Four rows of its end.
    let shown = fit_end(body, room * 4);
    let mut lines = vec![Line::from(Span::styled(head, style))];
    lines.extend(wrap(&shown, room).into_iter().map(|text| Line::from(Span::styled(format!("   {text}"), style))));
    lines
}

/// The message in lines that are safe to show.
fn rows(message: &Object, width: usize) -> Vec<MessageRow> {
    let mut rows = Vec::new();
    let room = width.saturating_sub(1).max(1);
    let mut push = |key: &str, text: &str| {
        let indent = text.len() - text.trim_start().len();
        let safe = safe(text.trim_start());
        for (at, line) in wrap(&safe, room.saturating_sub(indent + 2).max(8)).into_iter().enumerate() {
            let text = format!("{}{line}", " ".repeat(indent + if at == 0 { 0 } else { 2 }));
            rows.push(MessageRow { key: key.to_owned(), text });
        }
    };
    push("", "{");
    for (at, (key, value)) in message.iter().enumerate() {
        let entry: Object = [(key, shortened(value))].into_iter().collect();
        let json = Value::Object(entry).to_pretty("  ");
        let lines: Vec<&str> = json.lines().collect();
        let inner = lines.get(1..lines.len().saturating_sub(1)).unwrap_or(&[]);
        for (line_at, line) in inner.iter().enumerate() {
            let comma = if line_at + 1 == inner.len() && at + 1 < message.len() { "," } else { "" };
            push(key, &format!("{line}{comma}"));
        }
    }
    push("", "}");
    rows
}

/// The value with long strings shortened in the middle.
fn shortened(value: &Value) -> Value {
    match value {
        Value::String(text) if text.len() > LONGEST => {
            let count = text.chars().count();
            let head: String = text.chars().take(LONGEST / 2).collect();
            let tail: String = text.chars().skip(count.saturating_sub(LONGEST / 2)).collect();
            format!("{head} … {} characters left out … {tail}", count.saturating_sub(LONGEST / 2 * 2)).into()
        }
        Value::List(items) => Value::List(items.iter().map(shortened).collect()),
        Value::Object(entries) => Value::Object(entries.iter().map(|(key, value)| (key, shortened(value))).collect()),
        value => value.clone(),
    }
}
