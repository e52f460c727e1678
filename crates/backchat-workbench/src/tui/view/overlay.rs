//! Draws the overlay.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};
use unicode_width::UnicodeWidthStr;

use super::super::app::{App, Ask, Choice, Overlay};
use super::super::keys::{Group, KEYS, MOUSE};
use super::super::line::{fit, fit_end, wrap};
use super::super::mismatch::comparison;
use super::cells::{Labels, put, put_box, put_line};
use super::list;
use crate::replay::Stop;
use backchat_core::diagnostic::escape;

/// The help of a text that only closes.
const CLOSES: &str = "esc closes";

pub fn draw(out: &mut Frame<'_>, area: Rect, app: &mut App) {
    app.layout.drawn.list = None;
    let Some(mut overlay) = app.layout.overlay.clone() else { return };
    let first = overlay.top().map_or(0, |top| *top);
    let colored = |lines: &[String]| lines.iter().map(|line| diff_line(app, line)).collect::<Vec<_>>();
    let (title, keys, lines, first) = match &overlay {
        Overlay::Ask { ask, typed } => return question(out, area, app, *ask, typed),
        Overlay::Outputs(picker) => return list::outputs(out, area, app, picker),
        Overlay::Palette(picker) => return list::palette(out, area, app, picker),
        Overlay::Choose(choice) => (choice.title().to_owned(), CLOSES, choices(area, app, *choice), first),
        Overlay::Stops { selected } => {
            let first = (selected + 1).saturating_sub(usize::from(area.height.saturating_sub(2)).max(1));
            ("Breakpoints".to_owned(), "d removes one, D all, esc closes", stops(app, *selected), first)
        }
        Overlay::Help { .. } => ("Keys".to_owned(), CLOSES, help(app), first),
        Overlay::Text { title, mismatch, lines, .. } => {
            let mut shown: Vec<Line<'_>> = Vec::new();
            if let Some(mismatch) = mismatch {
                shown = comparison(mismatch, usize::from(area.width.saturating_sub(4)), app.layout.theme);
                shown.push(Line::default());
            }
            shown.extend(colored(lines));
            (title.clone(), CLOSES, shown, first)
        }
        Overlay::Finding { index, .. } => {
            let Some(finding) = app.session.findings().get(*index) else {
                app.layout.overlay = None;
                return;
            };
            let mut shown = colored(&app.finding_in_full(finding));
            if let Some(first) = shown.first_mut() {
                *first = first.clone().style(app.layout.theme.strong());
            }
            let (title, keys) = match (app.session.findings().len(), finding.fix().is_some()) {
                (1, true) => ("The finding".to_owned(), "F applies it, enter goes there"),
                (1, false) => ("The finding".to_owned(), "enter goes there"),
                (count, true) => (format!("Finding {} of {count}", index + 1), "F applies it, tab: next"),
                (count, false) => (format!("Finding {} of {count}", index + 1), "tab: next, enter goes there"),
            };
            (title, keys, shown, first)
        }
        Overlay::Bless { title, lines, .. } => (title.clone(), "y writes it, n does not", colored(lines), first),
    };
    let first = draw_page(out, area, app, &Page { title: &title, keys, lines: &lines, top: first });
    overlay.top().into_iter().for_each(|top| *top = first);
    if let Overlay::Finding { version, .. } = &mut overlay {
        *version = app.session.findings_version();
    }
    app.layout.overlay = Some(overlay);
}

/// The minimum width of the answer beside the question.
const ANSWER: usize = 20;

/// A line to answer on, in place of the bottom bar; a long question is shown above it.
fn question(out: &mut Frame<'_>, area: Rect, app: &App, ask: Ask, typed: &str) {
    let width = usize::from(area.width);
    let question = format!("{}: ", ask.words());
    let beside = question.width() + ANSWER.max(typed.width() + 1) <= width;
    let above = if beside { Vec::new() } else { wrap(&question, width) };
    let height = u16::try_from(above.len() + 1).unwrap_or(1).min(area.height);
    let place = Rect { y: area.bottom() - height, height, ..area };
    Clear.render(place, out.buffer_mut());
    for (line, y) in above.iter().zip(place.y..place.bottom().saturating_sub(1)) {
        put(out.buffer_mut(), (place.x, y), place.width, line, app.layout.theme.strong());
    }
    let head = if beside { question } else { "> ".to_owned() };
    let y = place.bottom().saturating_sub(1);
    let shown = fit_end(typed, width.saturating_sub(head.width() + 1));
    put(out.buffer_mut(), (place.x, y), place.width, &head, app.layout.theme.strong());
    let x = place.x + u16::try_from(head.width()).unwrap_or(0);
    put(out.buffer_mut(), (x, y), place.width, &shown, Style::new());
    let cursor = x + u16::try_from(shown.width()).unwrap_or(0);
    if cursor < place.right() {
        out.set_cursor_position(Position::new(cursor, y));
    }
}

fn choices(area: Rect, app: &App, choice: Choice) -> Vec<Line<'static>> {
    // Each in one row, so that all of them are visible on a small screen.
    let width = usize::from(area.width).saturating_sub(8);
    let line = |(key, words): &(char, &str)| {
        let key = Span::styled(format!(" {key} "), app.layout.theme.key());
        Line::from(vec![key, Span::raw(format!(" {}", fit(words, width)))])
    };
    choice.options().iter().map(line).collect()
}

/// Lines in a box, with their help.
struct Page<'p> {
    title: &'p str,
    keys: &'p str,
    lines: &'p [Line<'p>],
    /// The first line that is shown, if the lines after it fill the box.
    top: usize,
}

/// Draws a page in the middle of the screen; returns the first line that can be shown. Text too long for a line continues
/// on the next.
fn draw_page(out: &mut Frame<'_>, area: Rect, app: &mut App, page: &Page<'_>) -> usize {
    let Page { title, keys, lines, top } = *page;
    let most = usize::from(area.width.saturating_sub(4)).max(1);
    let lines: Vec<Line<'_>> = lines.iter().flat_map(|line| wrapped(line, most)).collect();
    let widest = lines.iter().map(Line::width).max().unwrap_or(0).max(title.width() + 2).max(keys.width() + 2);
    let width = u16::try_from(widest + 4).unwrap_or(u16::MAX).min(area.width);
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX).min(area.height);
    let keys = match lines.len() > usize::from(height.saturating_sub(2)) {
        true => format!(" j k scroll, {keys} "),
        false => format!(" {keys} "),
    };
    let inside = put_box(out.buffer_mut(), area, (width, height), Labels { title, keys }, app.layout.theme);
    app.layout.drawn.overlay_height = inside.height;
    let top = top.min(lines.len().saturating_sub(usize::from(inside.height)));
    for (row, line) in lines.iter().skip(top).take(usize::from(inside.height)).enumerate() {
        put_line(out.buffer_mut(), inside, row, line);
    }
    top
}

/// A line in as many rows as it needs: its last part is indented to its start, or to the head if space is short.
fn wrapped<'l>(line: &Line<'l>, width: usize) -> Vec<Line<'l>> {
    let Some((last, head)) = line.spans.split_last().filter(|_| line.width() > width) else {
        return vec![line.clone()];
    };
    let taken: usize = head.iter().map(Span::width).sum();
    let (mut rows, indent) = match taken {
        0 => (Vec::new(), 0),
        taken if taken * 2 > width => (vec![Line::from(head.to_vec())], 4),
        taken => (Vec::new(), taken),
    };
    for (at, part) in wrap(&last.content, width.saturating_sub(indent).max(1)).into_iter().enumerate() {
        let part = Span::styled(part, last.style);
        rows.push(match at == 0 && rows.is_empty() {
            true => Line::from([head, &[part]].concat()),
            false => Line::from(vec![Span::raw(" ".repeat(indent)), part]),
        });
    }
    rows
}

fn help(app: &App) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for group in Group::ALL {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.push(Line::from(Span::styled(group.heading(), app.layout.theme.strong())));
        let listed = KEYS.iter().filter(|binding| binding.group == group);
        lines.extend(listed.map(|binding| {
            let keys = Span::styled(format!("  {:<14}", binding.key_names()), app.layout.theme.key());
            Line::from(vec![keys, Span::raw(binding.words)])
        }));
    }
    lines.push(Line::default());
    lines.push(Line::from(Span::styled("Mouse", app.layout.theme.strong())));
    lines.extend(MOUSE.iter().map(|(what, words)| {
        let what = Span::styled(format!("  {what:<16}"), app.layout.theme.key());
        Line::from(vec![what, Span::raw(*words)])
    }));
    lines.push(Line::default());
    lines.push(Line::from(Span::styled("How to read the output", app.layout.theme.strong())));
    let mark = |style: Style, sample: &'static str, words: &'static str| {
        let gap = " ".repeat(14_usize.saturating_sub(sample.width()));
        Line::from(vec![Span::raw("  "), Span::styled(sample, style), Span::raw(gap), Span::raw(words)])
    };
    let theme = app.layout.theme;
    lines.extend([
        mark(theme.field(0), "text", "text of a field; the letter in the margin says which"),
        mark(theme.delimiter(0), "</end>", "a delimiter"),
        mark(theme.held(), "held", "arrived, but held"),
        mark(theme.dropped(), "text", "outside every region: no field takes it"),
        mark(theme.quiet(), "text", "still to come"),
        mark(theme.prompt(), "text", "prompt text that is not read"),
        mark(theme.cursor(), " ", "the position: the text before it has arrived"),
    ]);
    lines
}

fn stops(app: &App, selected: usize) -> Vec<Line<'static>> {
    let line = |(at, stop): (usize, &Stop)| {
        let text = format!("{:>3}  {}", at + 1, escape(&stop.to_string()));
        Line::styled(text, if at == selected { app.layout.theme.current() } else { Style::new() })
    };
    app.session.playback.stops.iter().enumerate().map(line).collect()
}

/// A line of a diff in its color; any other unchanged.
fn diff_line(app: &App, line: &str) -> Line<'static> {
    let style = match line.chars().next() {
        Some('+') => app.layout.theme.good(),
        Some('-') => app.layout.theme.bad(),
        _ => Style::new(),
    };
    Line::from(Span::styled(line.to_owned(), style))
}
