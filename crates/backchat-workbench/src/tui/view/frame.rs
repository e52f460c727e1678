//! Draws the frame of the panes: the header, their titles, the bottom bar.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::super::app::App;
use super::super::keys::{Action, KEYS};
use super::super::line::{fit, fit_end};
use super::super::panes::Pane;
use super::cells::{halves, letters, put, put_fitted};
use super::words;
use crate::replay::remaining;
use crate::session::{Proof, ProofState, Showing, Verdict, mode_name};
use backchat_core::diagnostic::counted;

/// The areas of the screen, from top to bottom.
pub struct Plan {
    pub header: Rect,
    pub panes: Rect,
    pub words: Rect,
    pub bar: Rect,
}

impl Plan {
    pub fn new(area: Rect, app: &mut App) -> Self {
        let header = u16::from(area.height >= 6);
        let bar = u16::from(area.height >= 3);
        let words = words::height(area, app).min(area.height.saturating_sub(header + bar));
        let panes = area.height - header - bar - words;
        let row = |y: u16, height: u16| Rect { y: area.y + y, height, ..area };
        Self {
            header: row(0, header),
            panes: row(header, panes),
            words: row(header + panes, words),
            bar: row(header + panes + words, bar),
        }
    }
}

/// The title of the replay, and the position in it.
pub fn header(buffer: &mut Buffer, area: Rect, app: &App) {
    if area.is_empty() {
        return;
    }
    let theme = app.layout.theme;
    let mut now = badges(app);
    let library = &app.session.library;
    let name = library.names().get(library.output).map_or("", String::as_str);
    let list = match library.names().len() {
        0 | 1 => String::new(),
        count => format!(" {}/{count}", library.output + 1),
    };
    let how = match app.session.playback.showing {
        Showing::One(mode) => mode_name(mode).to_owned(),
        Showing::Modes => "stable | reference".to_owned(),
        Showing::Recovery => "without policies | with all policies".to_owned(),
        Showing::Templates(mode) => format!("two templates, {}", mode_name(mode)),
    };
    let how = format!("  {how}, {}", app.session.playback.chunking);
    let (place, short_place) = place(app);
    let width = usize::from(area.width);
    // The name is shortened first, then facts that are shown elsewhere.
    let ways = [
        (verdict(app, true), how.as_str(), place.as_str(), 15),
        (verdict(app, false), &how, &place, 12),
        (verdict(app, false), &how, &short_place, 12),
        (verdict(app, false), "", &place, 8),
        (verdict(app, false), "", &short_place, 4),
        (verdict(app, false), "", "", 1),
    ];
    let badges: usize = now.iter().map(Span::width).sum();
    let room = |verdict: &Span<'_>, how: &str, place: &str| {
        width.checked_sub(list.width() + verdict.width() + how.width() + badges + place.width() + 2)
    };
    let fits = |(verdict, how, place, least): &(Span<'_>, &str, &str, usize)| {
        room(verdict, how, place).is_some_and(|room| room >= name.width().min(*least))
    };
    let Some((verdict, how, place, _)) = ways.into_iter().find(fits) else {
        return put(buffer, (area.x, area.y), area.width, &fit_end(name, width), theme.strong());
    };
    let name = fit_end(name, room(&verdict, how, place).unwrap_or(0));
    let left = Line::from(vec![
        Span::styled(name, theme.strong()),
        Span::raw(list),
        verdict,
        Span::styled(how, theme.quiet()),
    ]);
    buffer.set_line(area.x, area.y, &left, area.width);
    now.push(Span::raw(place));
    let right = Line::from(now);
    let x = area.right().saturating_sub(u16::try_from(right.width()).unwrap_or(u16::MAX)).max(area.x);
    buffer.set_line(x, area.y, &right, area.right() - x);
}

/// The state of the workbench: typing, playing, breakpoints.
fn badges(app: &App) -> Vec<Span<'static>> {
    let mut badges = Vec::new();
    let mut badge = |text: String| badges.extend([Span::styled(text, app.layout.theme.current()), Span::raw(" ")]);
    if app.session.editing.is_typing {
        badge(" typing ".to_owned());
    }
    if app.session.playback.clock.is_playing() {
        badge(format!(" ▶ {}/s ", app.session.playback.clock.speed()));
    }
    if !app.session.playback.stops.is_empty() {
        badges.push(Span::raw(format!("●{} ", app.session.playback.stops.len())));
    }
    badges
}

/// The verdict on the output, in words or only as a symbol.
fn verdict(app: &App, in_words: bool) -> Span<'static> {
    let theme = app.layout.theme;
    if let Some(percent) = app.session.library.percent_read() {
        return Span::styled(format!(" … {percent} % read"), theme.strong());
    }
    let (mark, words, style) = match app.session.verdict() {
        Some(Verdict::Passed) => (" ✓", " as expected", theme.good()),
        Some(Verdict::Failed) => (" ✗", " not as expected", theme.bad()),
        Some(Verdict::Excused) => (" ·", " not as expected, which is allowed", theme.quiet()),
        _ if app.session.library.is_awaited => (" …", " more to come", theme.quiet()),
        _ if app.session.editing.edits.contains_key(&app.session.library.output) => (" ✎", " typed", theme.strong()),
        _ => ("", "", theme.quiet()),
    };
    Span::styled(format!("{mark}{}", if in_words { words } else { "" }), style)
}

/// The position, and the same in short.
fn place(app: &App) -> (String, String) {
    let Some(side) = app.session.side() else { return Default::default() };
    let recording = &side.recording;
    let at = recording.characters_before(recording.arrived(side.moment));
    let all = recording.offset_of(recording.text().len());
    let chunk = side.moment.feed.min(recording.chunk_count());
    (format!("char {at}/{all}  chunk {chunk}/{}", recording.chunk_count()), format!("char {at}/{all}"))
}

/// The title of a pane: a line, its name, and a summary.
pub fn title(buffer: &mut Buffer, area: Rect, pane: Pane, app: &App) {
    if area.is_empty() {
        return;
    }
    let is_focused = app.layout.panes.focus == pane;
    let width = usize::from(area.width);
    put(buffer, (area.x, area.y), area.width, &"─".repeat(width), app.layout.theme.quiet());
    let info = info(pane, app);
    let folded = if app.layout.panes.is_folded(pane) { " (folded)" } else { "" };
    let name = format!(" {}{folded} ", pane.title());
    let style = if is_focused { app.layout.theme.current() } else { app.layout.theme.strong() };
    let x = area.x + 1.min(area.width);
    put(buffer, (x, area.y), area.width.saturating_sub(1), &name, style);
    // With two sides, each is named above its own half; everything else is dropped.
    let mut room = width.saturating_sub(name.width() + 4);
    if let (false, [_, right], [first, second]) = (
        pane == Pane::Template,
        halves(area, app.session.playback.sides.len()).as_slice(),
        app.session.playback.sides.as_slice(),
    ) {
        put(buffer, (right.x.saturating_sub(1), area.y), 1, "┬", app.layout.theme.quiet());
        room = usize::from(right.width).saturating_sub(4);
        if pane == Pane::Stream {
            let half = usize::from(right.x.saturating_sub(area.x)).saturating_sub(name.width() + 4);
            let left = format!(" {} ", fit(&first.name, half));
            let at = right.x.saturating_sub(u16::try_from(left.width() + 2).unwrap_or(0));
            put(buffer, (at.max(x), area.y), area.width, &left, app.layout.theme.quiet());
            let second = format!(" {} ", fit(&second.name, room));
            put(buffer, (right.x + 1, area.y), right.width, &second, app.layout.theme.quiet());
        }
    }
    let info = fit(&info, room);
    if !info.is_empty() {
        let text = format!(" {info} ");
        let at = area.right().saturating_sub(u16::try_from(text.width() + 1).unwrap_or(0));
        put(buffer, (at.max(area.x), area.y), area.width, &text, app.layout.theme.quiet());
    }
}

fn info(pane: Pane, app: &App) -> String {
    let Some(side) = app.session.side() else { return String::new() };
    match pane {
        Pane::Stream if app.session.playback.sides.len() > 1 => String::new(),
        Pane::Stream => {
            let fields = app.session.library.material.template.fields();
            let letters = letters(fields.iter().map(|field| &field.name));
            let legend: Vec<String> =
                letters.iter().zip(fields).map(|(letter, field)| format!("{letter} {}", field.name)).collect();
            legend.join("  ")
        }
        Pane::Events => {
            let recording = &side.recording;
            let bad = match recording.malformed_count() {
                0 => String::new(),
                count => format!("{count} malformed, "),
            };
            let taken = recording.last_event(side.moment).map_or(0, |event| recording.row_of(event) + 1);
            match app.session.playback.every_event {
                true => format!("{bad}{}/{} every chunk", side.moment.event, recording.event_count()),
                false => format!("{bad}{taken}/{}", recording.row_count()),
            }
        }
        Pane::Message if side.recording.has_ended(side.moment) => "complete".to_owned(),
        Pane::Message => "so far".to_owned(),
        Pane::Template => {
            let file = &app.session.library.material.template_file;
            match app.session.findings().len() {
                0 => file.clone(),
                count => format!("◆ {}  {file}", counted(count, "finding")),
            }
        }
    }
}

/// The keys that act here, or a notice.
pub fn bar(buffer: &mut Buffer, area: Rect, app: &App) {
    if area.is_empty() {
        return;
    }
    if let Some((text, style)) = notice(app, usize::from(area.width)) {
        return put_fitted(buffer, area, 0, &text, style);
    }
    let keys = keys(app);
    let proved = proof(buffer, area, app, keys.least());
    keys.draw(buffer, Rect { x: area.x + proved, width: area.width - proved, ..area });
}

/// What the user has to know before the keys.
fn notice(app: &App, width: usize) -> Option<(String, Style)> {
    let theme = app.layout.theme;
    if let Some((search, began)) = &app.session.playback.cut_search {
        let (tried, possible) = search.progress();
        let left = remaining(search, began.elapsed()).map_or_else(String::new, |left| format!(", {}", about(left)));
        let text = format!("trying cuts, near markers first: {tried} of {possible}{left}; esc stops");
        return Some((text, theme.strong()));
    }
    if let Some(notice) = &app.session.notice {
        let hint = if has_repair(app) { "  ◆ f: repair" } else { "" };
        let hint = if notice.width() + hint.width() <= width { hint } else { "" };
        return Some((format!("{notice}{hint}"), theme.strong()));
    }
    if let Some(problem) = &app.session.library.problem {
        return Some((format!("✗ {}  (enter: all of it, e: edit)", problem.line()), theme.bad()));
    }
    if app.session.editing.is_typing {
        return Some(("type or paste the output; each key is a chunk; esc ends".to_owned(), theme.strong()));
    }
    app.layout.count.map(|count| (count.to_string(), theme.strong()))
}

/// Whether a repair is known at the event that happened last.
fn has_repair(app: &App) -> bool {
    let last = app.session.side().and_then(|side| side.recording.last_event(side.moment));
    last.is_some_and(|last| app.session.findings_at(last).any(|finding| finding.fix().is_some()))
}

/// A time to wait, as precise as an estimate can be.
fn about(left: Duration) -> String {
    match left.as_secs() {
        0 => "a moment left".to_owned(),
        seconds @ 1..=90 => format!("about {seconds} s left"),
        seconds => format!("about {} min left", seconds.div_ceil(60)),
    }
}

/// The result of the proof, next to the important keys: its figures, and as much else as fits; returns its width.
fn proof(buffer: &mut Buffer, area: Rect, app: &App, keys: usize) -> u16 {
    let theme = app.layout.theme;
    let (figures, why, style) = match app.session.proof() {
        ProofState::Unknown => return 0,
        ProofState::Running => ("proving…".to_owned(), None, theme.faint()),
        ProofState::Impossible(why) => ("✗ not proved: ".to_owned(), Some(why), theme.bad()),
        ProofState::Done(Proof { cases, passed, wrong, .. }) => match wrong {
            None => (format!("✓ {passed} of {cases}"), None, theme.good()),
            Some(wrong) => (format!("✗ {passed} of {cases}: "), Some(wrong.as_str()), theme.bad()),
        },
    };
    let text = format!("{figures}{}", why.unwrap_or(""));
    let width = usize::from(area.width);
    let room = width.saturating_sub(keys + GAP.width()).max(figures.width().max(width / 3));
    let text = format!("{}{GAP}", fit(&text, room));
    put(buffer, (area.x, area.y), area.width, &text, style);
    u16::try_from(text.width()).unwrap_or(area.width).min(area.width)
}

const GAP: &str = "  ";

/// The keys of the table that have a short name.
struct Keys {
    /// The user came for the anomalies.
    first: Vec<Line<'static>>,
    others: Vec<Line<'static>>,
    /// The help, and the key that quits.
    last: Vec<Line<'static>>,
}

impl Keys {
    /// The width of the important keys.
    fn least(&self) -> usize {
        self.first.iter().chain(&self.last).map(Line::width).sum()
    }

    /// As many as fit; the last are always among them.
    fn draw(self, buffer: &mut Buffer, area: Rect) {
        let last: usize = self.last.iter().map(Line::width).sum();
        let mut room = usize::from(area.width).saturating_sub(last);
        let mut line = Line::default();
        for key in self.first.into_iter().chain(self.others) {
            let Some(rest) = room.checked_sub(key.width()) else { break };
            room = rest;
            line.extend(key);
        }
        line.extend(self.last.into_iter().flatten());
        buffer.set_line(area.x, area.y, &line, area.width);
    }
}

fn keys(app: &App) -> Keys {
    let serves = |action: Action| match action {
        Action::Output(_) => app.session.library.names().len() > 1,
        Action::Edit => app.session.editing.can_edit,
        Action::Derive => app.session.editing.can_derive,
        Action::Findings => app.session.findings().iter().any(|finding| finding.fix().is_some()),
        Action::Failures => app.session.proof().done().is_some_and(|proof| !proof.failures.is_empty()),
        Action::ToDifference => app.session.playback.difference.is_some() || !app.session.playback.wrong.is_empty(),
        _ => true,
    };
    let mut keys = Keys { first: Vec::new(), others: Vec::new(), last: Vec::new() };
    for binding in KEYS.iter().filter(|binding| !binding.short.is_empty() && serves(binding.action)) {
        let Some(key) = binding.keys.first().map(|key| key.name()) else { continue };
        let shown =
            Line::from(vec![Span::styled(key, app.layout.theme.key()), Span::raw(format!(" {}{GAP}", binding.short))]);
        match binding.action {
            // The proof names faults of the template; they come before those of this output.
            Action::Failures => keys.first.insert(0, shown),
            Action::ToDifference | Action::Findings => keys.first.push(shown),
            Action::Help | Action::Quit => keys.last.push(shown),
            _ => keys.others.push(shown),
        }
    }
    keys
}
