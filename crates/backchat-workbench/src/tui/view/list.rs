//! Draws a filtered list.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::super::app::{App, Command, Picker, commands};
use super::super::line::{fit, fit_end};
use super::cells::{Labels, highlighted, put, put_box, put_line};
use super::drawn::ListPlace;
use crate::session::Verdict;

/// A list wider than this is hard to read.
const WIDEST: u16 = 110;

/// A filtered list and the frame around its rows.
struct List<'t> {
    title: &'t str,
    /// What can be typed.
    hint: &'t str,
    keys: &'t str,
    picker: &'t Picker,
    /// The filtered number of rows.
    count: usize,
    /// The unfiltered number of rows: the box keeps its size.
    most: usize,
}

pub fn outputs(out: &mut Frame<'_>, area: Rect, app: &mut App, picker: &Picker) {
    let found = app.outputs_found(picker);
    let library = &app.session.library;
    let count =
        |verdicts: &[Verdict]| library.verdicts.iter().flatten().filter(|verdict| verdicts.contains(verdict)).count();
    let counts = [
        (count(&[Verdict::Passed, Verdict::Excused]), "passed"),
        (count(&[Verdict::Failed]), "failed"),
        (count(&[Verdict::Broken]), "unreadable"),
        (count(&[Verdict::Odd]), "looking wrong"),
        (count(&[Verdict::InOrder]), "in order"),
    ];
    let counts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    let title = format!("Outputs: {}", counts.join(", "));
    let list = List {
        title: &title,
        hint: "type to filter",
        keys: "enter, tab: next problem, esc closes",
        picker,
        count: found.len(),
        most: library.names().len(),
    };
    let room = usize::from(area.width.min(WIDEST)).saturating_sub(20);
    let row = |app: &App, row: usize| {
        let Some(output) = found.get(row) else { return Line::default() };
        let theme = app.layout.theme;
        let library = &app.session.library;
        let verdict = library.verdicts.get(*output).copied().flatten();
        let style = match verdict {
            Some(Verdict::Passed | Verdict::Excused) => theme.good(),
            Some(Verdict::Odd | Verdict::Failed | Verdict::Broken) => theme.bad(),
            Some(Verdict::InOrder) | None => theme.quiet(),
        };
        let mark = verdict.map_or_else(String::new, |verdict| format!("{} {}", verdict.mark(), verdict.words()));
        let here = if *output == library.output { "▶" } else { " " };
        let name = library.names().get(*output).map_or("", String::as_str);
        Line::from(vec![Span::raw(here), Span::styled(format!("{mark:<14}"), style), Span::raw(fit_end(name, room))])
    };
    draw(out, area, app, &list, row);
}

pub fn palette(out: &mut Frame<'_>, area: Rect, app: &mut App, picker: &Picker) {
    let found = commands(&picker.typed);
    let most = commands("").len();
    let list = List {
        title: "Actions",
        hint: "type a word, or a number to go to",
        keys: "enter does it, esc closes",
        picker,
        count: found.len(),
        most,
    };
    // The keys are right-aligned, so that users learn them.
    let room = usize::from(area.width.min(WIDEST)).saturating_sub(4);
    let row = |app: &App, row: usize| {
        let Some(command) = found.get(row).copied() else { return Line::default() };
        let keys = Command::keys(command);
        let words = fit(&command.words(), room.saturating_sub(keys.width() + 2));
        let gap = " ".repeat(room.saturating_sub(words.width() + keys.width()));
        Line::from(vec![Span::raw(words), Span::raw(gap), Span::styled(keys, app.layout.theme.key())])
    };
    draw(out, area, app, &list, row);
}

fn draw(out: &mut Frame<'_>, area: Rect, app: &mut App, list: &List<'_>, row: impl Fn(&App, usize) -> Line<'static>) {
    let List { picker, count, .. } = *list;
    let theme = app.layout.theme;
    let width = area.width.min(WIDEST);
    let height = u16::try_from(list.most.max(1) + 3).unwrap_or(u16::MAX).min(area.height);
    let keys = format!(" {} ", fit(list.keys, usize::from(width).saturating_sub(4)));
    let inside = put_box(out.buffer_mut(), area, (width, height), Labels { title: list.title, keys }, theme);
    let shown = fit_end(&picker.typed, usize::from(inside.width).saturating_sub(12));
    put(out.buffer_mut(), (inside.x, inside.y), inside.width, &format!("> {shown}"), theme.strong());
    let figures = if picker.typed.is_empty() { format!("{count}") } else { format!("{count} of {}", list.most) };
    let right = inside.right().saturating_sub(u16::try_from(figures.width()).unwrap_or(0));
    let cursor = inside.x + 2 + u16::try_from(shown.width()).unwrap_or(0);
    if picker.typed.is_empty() {
        let room = usize::from(right.saturating_sub(inside.x + 3));
        put(out.buffer_mut(), (inside.x + 2, inside.y), inside.width, &fit(list.hint, room), theme.quiet());
    }
    if cursor < right {
        put(out.buffer_mut(), (right, inside.y), inside.width, &figures, theme.quiet());
        out.set_cursor_position(Position::new(cursor, inside.y));
    }
    let rows = Rect { y: inside.y + 1, height: inside.height.saturating_sub(1), ..inside };
    app.layout.drawn.overlay_height = rows.height;
    let top = (picker.selected + 1).saturating_sub(usize::from(rows.height).max(1));
    for (at, number) in (top..count).take(usize::from(rows.height)).enumerate() {
        let mut line = row(app, number);
        if number == picker.selected {
            line = highlighted(line, rows.width, theme);
        }
        put_line(out.buffer_mut(), rows, at, &line);
    }
    if count == 0 {
        put(out.buffer_mut(), (rows.x, rows.y), rows.width, "no matches", Style::new());
    }
    app.layout.drawn.list = Some(ListPlace { area: rows, top, count });
}
