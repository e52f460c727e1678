//! A text with its regions in color, each named at its beginning, so that no information is conveyed by color alone.

use std::ops::Range;

use super::html::Html;
use crate::replay::{Recording, Segment};
use backchat_core::diagnostic::escaped;

/// How many colors there are; fields beyond that share them.
pub(super) const COLORS: usize = 8;

/// The longest part of a prompt that is shown before a turn, in bytes.
const PROMPT: usize = 160;

/// The longest text that is shown whole, in bytes; the middle of a longer one is omitted.
const MOST_BYTES: usize = 2 << 20;

/// How many segments are shown; if there are more, those in the middle are omitted.
const MOST_RUNS: usize = 16_000;

/// The class of a field's color.
pub(super) fn color(field: usize) -> String {
    format!("f f{}", field % COLORS)
}

/// The class of a segment; `None` is omitted text.
pub(super) fn class(part: Option<Segment>) -> String {
    match part {
        None => "fold".to_owned(),
        Some(Segment::Prompt) => "p".to_owned(),
        Some(Segment::Body(field)) => color(field),
        Some(Segment::Delimiter(field)) => format!("{} d", color(field)),
        Some(_) => "x".to_owned(),
    }
}

/// A segment of a text, and its kind.
#[derive(Clone, Debug)]
pub(super) struct ColoredText {
    pub span: Range<usize>,
    /// `None` if it is omitted.
    pub part: Option<Segment>,
}

/// The parts of a recorded text once all is read: the end of the prompt, then the output without a long middle.
pub(super) fn runs(recording: &Recording) -> Vec<ColoredText> {
    let text = recording.text();
    let from = recording.output_start().saturating_sub(PROMPT).min(recording.origin());
    let from = boundary(text, from);
    let parts = recording.segments(recording.end(), from..text.len());
    let mut gap = match text.len() - from > MOST_BYTES {
        true => boundary(text, from + MOST_BYTES / 2)..boundary(text, text.len() - MOST_BYTES / 2),
        false => text.len()..text.len(),
    };
    if parts.len() > MOST_RUNS {
        let start_of = |index: usize| parts.get(index).map_or(text.len(), |(span, _)| span.start);
        gap = gap.start.min(start_of(MOST_RUNS / 2))..start_of(parts.len() - MOST_RUNS / 2);
    }
    let mut runs = Vec::with_capacity(parts.len() + 1);
    let mut push = |span: Range<usize>, part| {
        if !span.is_empty() {
            runs.push(ColoredText { span, part });
        }
    };
    for (span, part) in &parts {
        push(span.start..span.end.min(gap.start), Some(*part));
    }
    push(gap.clone(), None);
    for (span, part) in &parts {
        push(span.start.max(gap.end)..span.end, Some(*part));
    }
    runs
}

/// The first character boundary from here on.
fn boundary(text: &str, from: usize) -> usize {
    (from..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// The placeholder of omitted text.
fn left_out(span: &Range<usize>) -> String {
    format!("\n… {} bytes omitted …\n", span.len())
}

/// The positions of a recorded text on the page, in UTF-16 units of the output of [`text`]: the unit of scripts.
/// `places` are sorted.
pub(super) fn offsets(recording: &Recording, runs: &[ColoredText], places: &[usize]) -> Vec<usize> {
    let width = |text: &str| text.encode_utf16().count();
    let mut offset = if is_cut(runs) { 1 } else { 0 };
    let mut offsets = Vec::with_capacity(places.len());
    let mut places = places.iter().peekable();
    for run in runs {
        if run.part.is_none() {
            while places.next_if(|place| **place < run.span.end).is_some() {
                offsets.push(offset);
            }
            offset += width(&left_out(&run.span));
            continue;
        }
        for (at, c) in recording.slice(run.span.clone()).char_indices() {
            while places.next_if(|place| **place <= run.span.start + at).is_some() {
                offsets.push(offset);
            }
            let escape = if c == '\n' { None } else { escaped(c) };
            offset += escape.map_or(c.len_utf16(), |escape| width(&escape));
        }
    }
    offsets.extend(places.map(|_| offset));
    offsets
}

/// Whether a prompt is shown from its middle on.
fn is_cut(runs: &[ColoredText]) -> bool {
    runs.first().is_some_and(|run| run.span.start > 0)
}

/// Writes a recorded text in color.
pub(super) fn text(html: &mut Html, recording: &Recording) {
    let runs = runs(recording);
    html.pre(&[("class", "text")], |html| {
        if is_cut(&runs) {
            html.tag("span", "p", "…");
        }
        runs.iter().for_each(|run| self::run(html, recording, run));
    });
}

pub(super) fn run(html: &mut Html, recording: &Recording, run: &ColoredText) {
    let (text, class) = (recording.slice(run.span.clone()), class(run.part));
    match run.part {
        None => html.of_class("span", &class, |html| html.lines(&left_out(&run.span))),
        Some(Segment::Body(field)) => {
            let attributes = [("class", class.as_str()), ("data-f", recording.field_name(field))];
            html.element("span", &attributes, |html| html.lines(text));
        }
        _ => html.of_class("span", &class, |html| html.lines(text)),
    }
}

/// The fields of a recording's template, each in its color.
pub(super) fn legend(html: &mut Html, recording: &Recording) {
    html.of_class("ul", "legend", |html| {
        for (index, field) in recording.template().fields().iter().enumerate() {
            html.of_class("li", "", |html| html.tag("span", &color(index), &field.name));
        }
        html.of_class("li", "", |html| html.tag("span", "f d", "delimiter"));
        html.of_class("li", "", |html| html.tag("span", "p", "prompt"));
        html.of_class("li", "", |html| html.tag("span", "x", "in no field"));
    });
}
