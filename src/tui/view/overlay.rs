//! What lies over the screen.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Widget};
use unicode_width::UnicodeWidthStr;

use super::super::app::{App, Ask, Choice, Overlay, Verdict};
use super::super::keys::{Group, KEYS, Key};
use super::super::line::{fit, fit_end};
use super::put;

pub fn draw(out: &mut Frame<'_>, area: Rect, app: &mut App) {
    let Some(overlay) = app.overlay.clone() else { return };
    match overlay {
        Overlay::Ask { ask, typed } => question(out, area, app, ask, &typed),
        Overlay::Choose(choice) => choices(out, area, app, choice),
        Overlay::Help { top } => {
            let lines = help(app);
            let top = page(out, area, app, "Keys", &lines, top);
            app.overlay = Some(Overlay::Help { top });
        }
        Overlay::Text { title, lines, top } => {
            let shown: Vec<Line<'_>> = lines.iter().map(|line| diff_line(app, line)).collect();
            let top = page(out, area, app, &title, &shown, top);
            app.overlay = Some(Overlay::Text { title, lines, top });
        }
        Overlay::Outputs { selected } => outputs(out, area, app, selected),
    }
}

/// A line to answer on, in place of the bottom bar.
fn question(out: &mut Frame<'_>, area: Rect, app: &App, ask: Ask, typed: &str) {
    let row = Rect { y: area.bottom().saturating_sub(1), height: 1, ..area };
    Clear.render(row, out.buffer_mut());
    let width = usize::from(row.width);
    // What is typed matters more than the question.
    let head = match format!("{}: ", ask.words()) {
        whole if whole.width() + typed.width() + 1 < width => whole,
        whole => fit(&whole, width.saturating_sub(typed.width() + 1).min(width / 2)),
    };
    let room = width.saturating_sub(head.width() + 1);
    let shown = fit_end(typed, room);
    put(out.buffer_mut(), row.x, row.y, row.width, &head, app.theme.strong());
    let x = row.x + u16::try_from(head.width()).unwrap_or(0);
    put(out.buffer_mut(), x, row.y, row.width, &shown, Style::new());
    let cursor = x + u16::try_from(shown.width()).unwrap_or(0);
    if cursor < row.right() {
        out.set_cursor_position(Position::new(cursor, row.y));
    }
}

fn choices(out: &mut Frame<'_>, area: Rect, app: &mut App, choice: Choice) {
    let lines: Vec<Line<'_>> = choice
        .options()
        .iter()
        .map(|(key, words)| {
            Line::from(vec![Span::styled(format!(" {key} "), app.theme.key()), Span::raw(format!(" {words}"))])
        })
        .collect();
    page(out, area, app, choice.title(), &lines, 0);
}

/// A box in the middle of the screen that lines are read in; gives the first line that can be shown.
fn page(out: &mut Frame<'_>, area: Rect, app: &mut App, title: &str, lines: &[Line<'_>], top: usize) -> usize {
    let widest = lines.iter().map(Line::width).max().unwrap_or(0).max(title.width() + 2);
    let width = u16::try_from(widest + 4).unwrap_or(u16::MAX).min(area.width);
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX).min(area.height);
    let place = Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
    Clear.render(place, out.buffer_mut());
    let more = match lines.len() > usize::from(height.saturating_sub(2)) {
        true => " j k scroll, esc closes ",
        false => " esc closes ",
    };
    let block = Block::bordered().title(format!(" {title} ")).title_bottom(more).border_style(app.theme.quiet());
    let inside = block.inner(place);
    block.render(place, out.buffer_mut());
    app.drawn.overlay_height = inside.height;
    let top = top.min(lines.len().saturating_sub(usize::from(inside.height)));
    let inside = Rect { x: inside.x + 1, width: inside.width.saturating_sub(2), ..inside };
    for (row, line) in lines.iter().skip(top).take(usize::from(inside.height)).enumerate() {
        super::put_line(out.buffer_mut(), inside, row, line);
    }
    top
}

fn help(app: &App) -> Vec<Line<'static>> {
    let names = |keys: &[Key]| keys.iter().map(|key| key.name()).collect::<Vec<_>>().join(" ");
    let mut lines = Vec::new();
    for group in Group::ALL {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.push(Line::from(Span::styled(group.heading(), app.theme.strong())));
        let listed = KEYS.iter().filter(|binding| binding.group == group);
        lines.extend(listed.map(|binding| {
            let keys = Span::styled(format!("  {:<14}", names(binding.keys)), app.theme.key());
            Line::from(vec![keys, Span::raw(binding.words)])
        }));
    }
    lines.push(Line::default());
    lines.push(Line::from(Span::styled("How to read the output", app.theme.strong())));
    let mark = |style: Style, sample: &'static str, words: &'static str| {
        let gap = " ".repeat(14_usize.saturating_sub(sample.width()));
        Line::from(vec![Span::raw("  "), Span::styled(sample, style), Span::raw(gap), Span::raw(words)])
    };
    let theme = app.theme;
    lines.extend([
        mark(theme.field(0), "text", "text of a field; the letter in the margin says which"),
        mark(theme.delimiter(0), "</end>", "a delimiter"),
        mark(theme.held(), "held", "come, but held back"),
        mark(theme.dropped(), "text", "outside every region: no field takes it"),
        mark(theme.quiet(), "text", "still to come"),
        mark(theme.prompt(), "text", "prompt that is not read"),
        mark(theme.cursor(), " ", "the place: what stands before it has come"),
    ]);
    lines
}

fn outputs(out: &mut Frame<'_>, area: Rect, app: &mut App, selected: usize) {
    let room = usize::from(area.height.saturating_sub(2)).max(1);
    let top = (selected + 1).saturating_sub(room);
    let (mut passed, mut failed) = (0, 0);
    for verdict in app.verdicts.iter().flatten() {
        match verdict {
            Verdict::Passed | Verdict::InOrder => passed += 1,
            Verdict::Failed | Verdict::Broken => failed += 1,
        }
    }
    let lines: Vec<Line<'_>> = app
        .names
        .iter()
        .enumerate()
        .map(|(at, name)| {
            let (mark, style) = match app.verdicts.get(at).copied().flatten() {
                Some(Verdict::Passed) => ("✓ passed ", app.theme.good()),
                Some(Verdict::InOrder) => ("· in order", app.theme.quiet()),
                Some(Verdict::Failed) => ("✗ failed ", app.theme.bad()),
                Some(Verdict::Broken) => ("✗ unread ", app.theme.bad()),
                None => ("          ", app.theme.quiet()),
            };
            let here = if at == app.output { "▶" } else { " " };
            let name = fit_end(name, usize::from(area.width).saturating_sub(18));
            let line = Line::from(vec![Span::raw(here), Span::styled(format!("{mark:<11}"), style), Span::raw(name)]);
            if at == selected { line.patch_style(app.theme.current()) } else { line }
        })
        .collect();
    let title = format!("Outputs: {passed} passed, {failed} failed (enter opens, n: next failed)");
    page(out, area, app, &title, &lines, top);
}

/// A line of a difference in its colour; any other as it is.
fn diff_line(app: &App, line: &str) -> Line<'static> {
    let style = match line.chars().next() {
        Some('+') => app.theme.good(),
        Some('-') => app.theme.bad(),
        _ => Style::new(),
    };
    Line::from(Span::styled(line.to_owned(), style))
}
