//! The response template, with the field that acted.

use std::borrow::Cow;
use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::super::app::App;
use super::super::line::fit;
use super::super::panes::Pane;
use super::cells::put_line;
use crate::replay::{CLOSE_KEYS, OPEN_KEYS, acting};
use crate::session::{Finding, Hit};
use backchat_core::json::{self, Path, Places};

pub fn draw(buffer: &mut Buffer, area: Rect, app: &mut App) {
    let text = app.session.library.material.shown_template().into_owned();
    let places = json::read_with_places(&text).ok().map(|(_, places)| places);
    let root = Path::root().key("fields");
    let at = |path: &Path| places.as_ref().and_then(|places| places.at(path)).map(span);
    let side = app.session.side();
    let acted = side.and_then(|side| acting(&side.recording, side.recording.last_event(side.moment)?));
    let (index, keys) = acted.unzip();
    let acted_on = index.zip(side).map(|(index, side)| root.key(side.recording.field_name(index)));
    let field = acted_on.as_ref().and_then(at);
    let acted = acted_on.iter().flat_map(|field| keys.unwrap_or_default().iter().map(|key| field.key(key)));
    let acted: Vec<Range<usize>> = acted.filter_map(|path| at(&path)).collect();
    let waiting: Vec<Range<usize>> = waiting(app).iter().filter_map(at).collect();

    let lines: Vec<(usize, &str)> = text
        .split('\n')
        .scan(0, |start, line| {
            let at = *start;
            *start += line.len() + 1;
            Some((at, line))
        })
        .collect();
    let line_of = |byte: usize| lines.partition_point(|(start, _)| *start <= byte).saturating_sub(1);
    let here = match app.session.hit() {
        Some(Hit::Template(line)) => *line,
        _ => acted.first().or(field.as_ref()).map_or(0, |span| line_of(span.start)),
    };
    let top = app.layout.first_row(Pane::Template, 0, here, lines.len(), area.height);
    let search = app.session.playback.search.as_ref();
    let findings = findings(app, places.as_ref(), line_of);
    let inside = |spans: &[Range<usize>], line: usize| {
        spans.iter().any(|span| (line_of(span.start)..=line_of(span.end.saturating_sub(1))).contains(&line))
    };
    for (row, (number, (_, line))) in lines.iter().enumerate().skip(top).take(usize::from(area.height)).enumerate() {
        let is_field = field.as_ref().is_some_and(|span| inside(std::slice::from_ref(span), number));
        let (mark, style) = match () {
            () if inside(&acted, number) => {
                ("▶", field_style(app, index).add_modifier(Modifier::BOLD | Modifier::UNDERLINED))
            }
            () if inside(&waiting, number) => ("?", app.layout.theme.held()),
            () if is_field => ("▌", field_style(app, index)),
            () => (" ", app.layout.theme.quiet()),
        };
        let indent = line.len() - line.trim_start().len();
        let room = usize::from(area.width).saturating_sub(1 + indent);
        let is_found = search.is_some_and(|search| search.has_line(number));
        let style = if is_found { style.patch(app.layout.theme.found()) } else { style };
        let mark_style = if is_field { field_style(app, index) } else { Style::new() };
        let note = findings.iter().find(|(at, _)| *at == number).map(|(_, finding)| *finding);
        let (text, note) = beside(line.trim_start(), note, room);
        let line = Line::from(vec![
            Span::styled(mark, mark_style),
            Span::raw(" ".repeat(indent)),
            Span::styled(text, style),
            Span::styled(note, app.layout.theme.bad()),
        ]);
        put_line(buffer, area, row, &line);
    }
}

/// The line of each finding in the template as shown.
fn findings<'a>(app: &'a App, places: Option<&Places>, line_of: impl Fn(usize) -> usize) -> Vec<(usize, &'a Finding)> {
    let material = &app.session.library.material;
    let is_as_written = matches!(material.shown_template(), Cow::Borrowed(_));
    let line = |finding: &Finding| {
        let place = finding.said.place.as_ref()?;
        match (&place.span, is_as_written) {
            (Some(span), true) => span.start.checked_sub(material.template_span.start).map(&line_of),
            // A reformatted template is searched by path.
            _ => {
                let path = place.path.as_deref()?;
                let path = path.get(path.find("fields.")?..)?.split('.').fold(Path::root(), |path, key| path.key(key));
                Some(line_of(span(places?.at(&path)?).start))
            }
        }
    };
    app.session.findings().iter().filter_map(|finding| Some((line(finding)?, finding))).collect()
}

/// A line, and a finding's message in the space beside it.
fn beside(line: &str, finding: Option<&Finding>, room: usize) -> (String, String) {
    let Some(finding) = finding else { return (fit(line, room), String::new()) };
    let text = fit(line, room.saturating_sub(3));
    let left = room.saturating_sub(text.width() + 4);
    // A word cut to a few letters is useless.
    let words = if left < 12 { String::new() } else { format!(" {}", fit(&finding.line(), left)) };
    (text, format!("  ◆{words}"))
}

fn field_style(app: &App, index: Option<usize>) -> Style {
    index.map_or(Style::new(), |index| app.layout.theme.field(index))
}

/// A value with its key.
fn span(places: &Places) -> Range<usize> {
    places.key.as_ref().map_or(places.value.start, |key| key.start)..places.value.end
}

/// The delimiters that text is held for.
fn waiting(app: &App) -> Vec<Path> {
    let Some(side) = app.session.side() else { return Vec::new() };
    let pending = side.recording.held(side.moment).map_or(&[][..], |held| held.pending);
    let paths = pending.iter().flat_map(|pending| {
        let field = Path::root().key("fields").key(side.recording.field_name(pending.field()));
        let keys = if pending.closes { CLOSE_KEYS } else { OPEN_KEYS };
        keys.iter().map(move |key| field.key(key))
    });
    paths.collect()
}
