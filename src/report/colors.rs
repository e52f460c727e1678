//! A text with its regions in color, each named where it begins, so that color alone says nothing.

use super::html::Html;
use crate::replay::{Part, Recording};

/// How many colors there are; fields beyond that share them.
pub(super) const COLORS: usize = 8;

/// The longest part of a prompt that is shown before a turn, in bytes.
const PROMPT: usize = 160;

/// The longest text that is shown whole, in bytes; of a longer one the middle is left out.
pub(super) const MOST_TEXT: usize = 2 << 20;

/// The class of a field's color.
pub(super) fn color(field: usize) -> String {
    format!("f f{}", field % COLORS)
}

/// A stretch of a text, and what it is.
pub(super) struct Run {
    pub start: usize,
    pub end: usize,
    pub part: Part,
}

/// What a recorded text is made of once all is read: the end of the prompt, then the whole output.
pub(super) fn runs(recording: &Recording) -> Vec<Run> {
    let from = recording.output_start().saturating_sub(PROMPT).min(recording.origin());
    let from = (from..=recording.output_start()).find(|at| recording.text().is_char_boundary(*at)).unwrap_or(0);
    let parts = recording.parts(recording.end(), from..recording.text().len());
    parts.into_iter().map(|(span, part)| Run { start: span.start, end: span.end, part }).collect()
}

/// Writes a recorded text in color.
pub(super) fn text(html: &mut Html, recording: &Recording) {
    html.pre(&[("class", "text")], |html| {
        let runs = runs(recording);
        if runs.first().is_some_and(|run| run.start > 0) {
            html.tag("span", "p", "…");
        }
        runs.iter().for_each(|run| self::run(html, recording, run));
    });
}

/// Writes one stretch.
pub(super) fn run(html: &mut Html, recording: &Recording, run: &Run) {
    let text = recording.slice(run.start..run.end);
    match run.part {
        Part::Prompt => html.of_class("span", "p", |html| html.lines(text)),
        Part::Body(field) => {
            let class = color(field);
            let attributes = [("class", class.as_str()), ("data-f", recording.field_name(field))];
            html.element("span", &attributes, |html| html.lines(text));
        }
        Part::Delimiter(field) => {
            html.of_class("span", &format!("{} d", color(field)), |html| html.lines(text));
        }
        _ => html.of_class("span", "x", |html| html.lines(text)),
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
        html.of_class("li", "", |html| html.tag("span", "x", "dropped"));
    });
}
