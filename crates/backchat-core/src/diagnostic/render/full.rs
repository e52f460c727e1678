//! The `full` format, for people: an excerpt with the place underlined. All text is escaped; long lines are cut.

use std::fmt::{self, Write};
use std::ops::Range;

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

use super::{position, style_of};
use crate::diagnostic::{Diagnostic, Place, Sources, escape};
use crate::text::slice;

/// How many characters of a long line are shown before, inside and after the place.
const BEFORE: usize = 60;
const WITHIN: usize = 80;
const AFTER: usize = 60;

/// An excerpt with the place underlined, other places, and the fix.
pub(super) fn render(diagnostics: &[Diagnostic], sources: &Sources, color: bool) -> String {
    let mut out = String::new();
    for diagnostic in diagnostics {
        // Writing to a string does not fail.
        let _ = write(diagnostic, sources, color, &mut out);
    }
    out
}

fn write(diagnostic: &Diagnostic, sources: &Sources, color: bool, out: &mut String) -> fmt::Result {
    let paint = |style: Style| if color { style } else { Style::new() };
    let (severity, bold) = (paint(style_of(diagnostic.severity)), paint(Style::new().bold()));
    let frame = paint(AnsiColor::Blue.on_default().bold());
    let (name, message) = (diagnostic.severity.name(), escape(&diagnostic.message));
    writeln!(out, "{severity}{name}[{}]{severity:#}{bold}: {message}{bold:#}", diagnostic.id)?;

    let lines = diagnostic.place.iter().chain(diagnostic.labels.iter().map(|label| &label.place));
    let widest = lines.filter_map(|place| place.line_column).map(|(line, _)| line).max();
    let margin = widest.map_or(0, |line| line.to_string().len());
    if let Some(place) = &diagnostic.place {
        let label = place.path.as_deref().map(|path| format!("at {path}"));
        let excerpt = Excerpt { place, arrow: "-->", mark: "^", style: severity, frame, margin };
        excerpt.write(label.as_deref(), sources, out)?;
    }
    for label in &diagnostic.labels {
        let excerpt = Excerpt { place: &label.place, arrow: ":::", mark: "-", style: frame, frame, margin };
        excerpt.write(Some(&label.message), sources, out)?;
    }
    if let Some(help) = &diagnostic.help {
        writeln!(out, "{:margin$} {frame}={frame:#} {bold}help{bold:#}: {}", "", escape(help))?;
    }
    writeln!(out)
}

/// One place, and how to point at it.
struct Excerpt<'p> {
    place: &'p Place,
    arrow: &'static str,
    mark: &'static str,
    style: Style,
    frame: Style,
    margin: usize,
}

impl Excerpt<'_> {
    fn write(&self, label: Option<&str>, sources: &Sources, out: &mut String) -> fmt::Result {
        let &Self { place, arrow, mark, style, frame, margin } = self;
        let label = label.map(escape).unwrap_or_default();
        if let Some(position) = position(place) {
            writeln!(out, "{:margin$}{frame}{arrow}{frame:#} {position}", "")?;
        }
        let text = sources.text(place.file.as_deref());
        let line = text.zip(place.span.clone()).and_then(|(text, span)| line_around(text, span));
        let Some((line, span)) = line else {
            return match label.is_empty() {
                true => Ok(()),
                false => writeln!(out, "{:margin$} {frame}={frame:#} {label}", ""),
            };
        };
        let number = place.line_column.map_or(String::new(), |(line, _)| line.to_string());
        let before = slice(&line, ..span.start).width();
        let marks = mark.repeat(slice(&line, span).width().max(1));
        writeln!(out, "{:margin$} {frame}|{frame:#}", "")?;
        writeln!(out, "{frame}{number:>margin$} |{frame:#} {line}")?;
        let marked = format!("{marks} {label}");
        writeln!(out, "{:margin$} {frame}|{frame:#} {:before$}{style}{}{style:#}", "", "", marked.trim_end())?;
        writeln!(out, "{:margin$} {frame}|{frame:#}", "")
    }
}

/// The line in which a span begins, made safe to print and shortened to the text near the span; and the position of the
/// span in it.
fn line_around(text: &str, span: Range<usize>) -> Option<(String, Range<usize>)> {
    let before = text.get(..span.start)?;
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let rest = text.get(span.start..)?;
    let line_end = span.start + rest.find('\n').unwrap_or(rest.len());
    let end = span.end.min(line_end).max(span.start);

    let (before, cut_before) = last_characters(text.get(line_start..span.start)?, BEFORE);
    let (within, cut_within) = first_characters(text.get(span.start..end)?, WITHIN);
    let (after, cut_after) = first_characters(text.get(end..line_end)?, AFTER);
    let mut line = String::new();
    if cut_before {
        line.push('…');
    }
    line.push_str(&escape(before));
    let start = line.len();
    line.push_str(&escape(within));
    let end = line.len();
    if cut_within {
        line.push('…');
    } else {
        line.push_str(&escape(after.trim_end_matches('\r')));
        if cut_after {
            line.push('…');
        }
    }
    Some((line, start..end))
}

fn first_characters(text: &str, count: usize) -> (&str, bool) {
    match text.char_indices().nth(count) {
        Some((end, _)) => (text.get(..end).unwrap_or(text), true),
        None => (text, false),
    }
}

fn last_characters(text: &str, count: usize) -> (&str, bool) {
    match text.char_indices().rev().nth(count) {
        Some((last_left_out, c)) => (text.get(last_left_out + c.len_utf8()..).unwrap_or(text), true),
        None => (text, false),
    }
}
