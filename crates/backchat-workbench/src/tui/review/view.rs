//! The screen of the review.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::super::diff;
use super::super::line::{fit, fit_end, wrap};
use super::super::view::cells::{put_fitted, put_line};
use super::{Change, Decision, Review};
use backchat_core::diagnostic::{Format, escape, render};

/// From this width on, the two sides are shown side by side, unless the user chose otherwise.
const WIDE: u16 = 100;

/// The keys, with their labels in the bottom bar, the most important first.
const KEYS: [(&str, &str); 10] = [
    ("a", "accept"),
    ("r", "reject"),
    ("s", "skip"),
    ("b", "back"),
    ("u", "undo"),
    ("q", "quit"),
    ("A", "accept all equal"),
    ("o", "open"),
    ("d", "side by side or lines"),
    ("j k", "scroll"),
];

/// The decisions of the user, in words.
const MADE: [(Decision, &str); 3] =
    [(Decision::Accepted, "accepted"), (Decision::Rejected, "rejected"), (Decision::Skipped, "skipped")];

/// The keys once every case is decided.
const LAST_KEYS: [(&str, &str); 3] = [("enter", "leave"), ("u", "undo"), ("b", "back")];

impl Review<'_> {
    pub fn draw(&mut self, out: &mut Frame<'_>) {
        let area = out.area();
        if area.is_empty() {
            return;
        }
        let buffer = out.buffer_mut();
        let row = |y: u16, height: u16| Rect { y: area.y + y, height, ..area };
        header(buffer, row(0, 1), self);
        let mut at = 1;
        let width = usize::from(area.width);
        // The reasons take at most a third of the screen; the rest is for the difference.
        let reasons = self.reasons(width);
        let most = usize::from(area.height / 3).max(1);
        for reason in reasons.iter().take(most) {
            put_line(buffer, row(at, 1), 0, &Line::styled(reason.clone(), self.theme.strong()));
            at += 1;
        }
        for words in self.about(width) {
            put_line(buffer, row(at, 1), 0, &Line::styled(words, self.theme.key()));
            at += 1;
        }
        let body = row(at, area.height.saturating_sub(at + 1));
        self.is_wide = area.width >= WIDE;
        let side_by_side = self.side_by_side.unwrap_or(self.is_wide);
        let rows = match &self.shown {
            Ok(change) if !self.is_over => sections(change, width, side_by_side, self),
            _ => Vec::new(),
        };
        self.page = usize::from(body.height.saturating_sub(1).max(1));
        self.last = rows.len().saturating_sub(usize::from(body.height));
        self.top = self.top.min(self.last);
        for (line, y) in rows.iter().skip(self.top).zip(body.y..body.bottom()) {
            put_line(buffer, Rect { y, height: 1, ..body }, 0, line);
        }
        if area.height > 1 {
            bar(buffer, row(area.height - 1, 1), self);
        }
    }

    /// The decision about the current case, and how many have the same difference.
    fn about(&self, width: usize) -> Vec<String> {
        if self.is_over {
            return Vec::new();
        }
        let decision = self.decisions.get(self.index).copied().flatten();
        let decided = MADE.iter().find(|(made, _)| Some(*made) == decision).map(|(_, word)| *word);
        let alike = self.alike().len();
        let more = (alike > 1).then(|| format!("A accepts all {alike} with this difference"));
        decided.map(|word| format!("decided: {word}")).into_iter().chain(more).map(|line| fit(&line, width)).collect()
    }

    /// The faults, in rows that are safe to show.
    fn reasons(&self, width: usize) -> Vec<String> {
        match &self.shown {
            _ if self.is_over => vec!["every case is decided".to_owned()],
            Ok(change) => change.reasons.iter().flat_map(|reason| wrap(&escape(reason), width)).collect(),
            Err(problem) => {
                let text = render(&problem.diagnostics, Format::Full, &problem.sources, false);
                text.lines().flat_map(|line| wrap(&escape(line), width)).collect()
            }
        }
    }
}

/// Which case it is, of how many, and the decisions so far.
fn header(buffer: &mut Buffer, area: Rect, review: &Review<'_>) {
    let names = review.docket.names();
    let count = |decision| review.decisions.iter().filter(|made| **made == Some(decision)).count();
    let made = MADE.map(|(decision, word)| (count(decision), word)).into_iter().filter(|(count, _)| *count > 0);
    let made = made.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ");
    let head = match review.is_over {
        true => format!(" {} ", names.len()),
        false => format!(" {}/{} ", review.index + 1, names.len()),
    };
    let width = usize::from(area.width);
    let made = if head.width() + made.width() + 20 > width { String::new() } else { made };
    let name = match review.is_over {
        true if names.len() == 1 => "case",
        true => "cases",
        false => names.get(review.index).map_or("", String::as_str),
    };
    let room = width.saturating_sub(head.width() + made.width() + 2);
    let name = format!(" {}", fit_end(name, room));
    let gap = width.saturating_sub(head.width() + name.width() + made.width());
    let line = Line::from(vec![
        Span::styled(head, review.theme.current()),
        Span::styled(name, review.theme.strong()),
        Span::raw(" ".repeat(gap)),
        Span::styled(made, review.theme.quiet()),
    ]);
    put_line(buffer, area, 0, &line);
}

/// The rows of every section, each under its title.
fn sections(change: &Change, width: usize, side_by_side: bool, review: &Review<'_>) -> Vec<Line<'static>> {
    let theme = review.theme;
    let titled = |title: String, width: usize| {
        let title = fit(&title, width.saturating_sub(3));
        format!("─ {title} {}", "─".repeat(width.saturating_sub(title.width() + 3)))
    };
    change
        .sections
        .iter()
        .flat_map(|section| {
            let name = section.name;
            let is_new = section.expected.is_empty();
            let title = match side_by_side {
                true => {
                    let half = diff::half(width);
                    let left = titled(format!("{name}: {}", if is_new { "no expectation" } else { "expected" }), half);
                    format!("{left}┬{}", titled("found".to_owned(), width.saturating_sub(half + 1)))
                }
                false if is_new => titled(format!("{name}: no expectation, + found"), width),
                false => titled(format!("{name}: - expected, + found"), width),
            };
            let rows = diff::rows(&section.expected, &section.found, width, side_by_side, theme);
            std::iter::once(Line::styled(title, theme.quiet())).chain(rows)
        })
        .collect()
}

/// The keys, as many as fit; or a notice.
fn bar(buffer: &mut Buffer, area: Rect, review: &Review<'_>) {
    let asked = review.asks.then(|| match review.decisions.iter().filter(|made| made.is_none()).count() {
        0 => "leave the review? y leaves, any other key stays".to_owned(),
        left => format!("leave the review, {left} undecided? y leaves, any other key stays"),
    });
    if let Some(text) = asked.as_ref().or(review.notice.as_ref()) {
        return put_fitted(buffer, area, 0, text, review.theme.strong());
    }
    let width = usize::from(area.width);
    let place = match review.last {
        0 => String::new(),
        last => format!("{}%", review.top * 100 / last),
    };
    let mut spans = Vec::new();
    let mut used = place.width() + 1;
    let keys = if review.is_over { &LAST_KEYS[..] } else { &KEYS };
    for (key, words) in keys {
        used += key.width() + words.width() + 3;
        if used > width + 2 {
            break;
        }
        spans.extend([Span::styled(*key, review.theme.key()), Span::raw(format!(" {words}  "))]);
    }
    put_line(buffer, area, 0, &Line::from(spans));
    let x = area.right().saturating_sub(u16::try_from(place.width()).unwrap_or(0));
    buffer.set_stringn(x, area.y, &place, place.width(), Style::new());
}
