//! The response template, with the field that acted.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::super::app::App;
use super::super::line::fit;
use super::super::panes::Pane;
use super::cells::put_line;
use backchat_core::json::{self, Path, Places};
use backchat_core::text::slice;

pub fn draw(buffer: &mut Buffer, area: Rect, app: &mut App) {
    let (text, places) = shown(app);
    let root = Path::root().key("fields");
    let at = |path: &Path| places.as_ref().and_then(|places| places.at(path)).map(span);
    let acting = app.session.acting();
    let field = acting.as_ref().and_then(|(name, _)| at(&root.key(name)));
    let acted: Vec<Range<usize>> = match &acting {
        Some((name, keys)) => keys.iter().filter_map(|key| at(&root.key(name).key(key))).collect(),
        None => Vec::new(),
    };
    let waiting: Vec<Range<usize>> = waiting(app).iter().filter_map(at).collect();
    let index = acting
        .as_ref()
        .and_then(|(name, _)| app.session.library.material.template.fields().iter().position(|f| f.name == *name));

    let lines: Vec<(usize, &str)> = text
        .split('\n')
        .scan(0, |start, line| {
            let at = *start;
            *start += line.len() + 1;
            Some((at, line))
        })
        .collect();
    let line_of = |byte: usize| lines.partition_point(|(start, _)| *start <= byte).saturating_sub(1);
    let here = acted.first().or(field.as_ref()).map_or(0, |span| line_of(span.start));
    let top = app.layout.drawn.follow(
        Pane::Template,
        app.layout.panes.scrolled(Pane::Template),
        here,
        lines.len(),
        area.height,
    );
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
        let mark_style = if is_field { field_style(app, index) } else { Style::new() };
        let line = Line::from(vec![
            Span::styled(mark, mark_style),
            Span::raw(" ".repeat(indent)),
            Span::styled(fit(line.trim_start(), room), style),
        ]);
        put_line(buffer, area, row, &line);
    }
}

fn field_style(app: &App, index: Option<usize>) -> Style {
    index.map_or(Style::new(), |index| app.layout.theme.field(index))
}

/// The template's text and the places of its values: as in its file, or in several lines if it is one long line there.
fn shown(app: &App) -> (String, Option<Places>) {
    let material = &app.session.library.material;
    let written = slice(&material.template_text, material.template_span.clone());
    let text = match written.trim().contains('\n') {
        true => written.to_owned(),
        false => material.template.to_json(),
    };
    let places = json::read_with_places(&text).ok().map(|(_, places)| places);
    (text, places)
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
        let keys = if pending.closes { ["close", "close_pattern"] } else { ["open", "open_pattern"] };
        keys.map(|key| field.key(key))
    });
    paths.collect()
}
