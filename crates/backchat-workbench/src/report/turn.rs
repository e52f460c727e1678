//! One turn from left to right: the order of its parts, and their lengths.

use super::colors::{self, ColoredText, class};
use super::html::Html;
use super::proof::Shown;
use crate::replay::{Recording, Segment};
use backchat_core::diagnostic::shortened;
use backchat_derive::derive::Conversation;

/// The width of the bar in its own units.
const WIDTH: usize = 1000;

/// How much of a segment its step shows, in characters.
const EXCERPT: usize = 36;

/// The turn as a bar, as steps, and as plain text.
pub(super) fn write(html: &mut Html, shown: &Shown) {
    let recording = &shown.recording;
    let Conversation { said, after, .. } = &shown.conversation;
    html.tag("p", "", &format!("The fullest turn of the proof: {said}, after {after}."));
    let runs: Vec<ColoredText> =
        colors::runs(recording).into_iter().filter(|run| run.span.start >= recording.origin()).collect();
    bar(html, recording, &runs);
    html.of_class("ol", "turn", |html| {
        for run in &runs {
            let label = match run.part {
                Some(Segment::Body(field)) => recording.field_name(field),
                Some(Segment::Delimiter(_)) => "delimiter",
                _ => "in no field",
            };
            html.of_class("li", &class(run.part), |html| {
                html.tag("b", "", label);
                html.text(" ");
                html.text(&shortened(recording.slice(run.span.clone()), EXCERPT));
            });
        }
    });
    colors::legend(html, recording);
    colors::text(html, recording);
}

/// The segments, each as wide as its share.
fn bar(html: &mut Html, recording: &Recording, runs: &[ColoredText]) {
    let count = |run: &ColoredText| recording.slice(run.span.clone()).chars().count();
    let whole: usize = runs.iter().map(count).sum();
    let view = format!("0 0 {WIDTH} 24");
    let attributes =
        [("class", "bar"), ("viewBox", view.as_str()), ("preserveAspectRatio", "none"), ("aria-hidden", "true")];
    html.element("svg", &attributes, |html| {
        let mut before = 0;
        for run in runs {
            let place = |characters: usize| characters * WIDTH / whole.max(1);
            let (from, to) = (place(before), place(before + count(run)));
            before += count(run);
            let class = class(run.part);
            let (from, width) = (from.to_string(), to.saturating_sub(from).max(2).to_string());
            let attributes = [("class", class.as_str()), ("x", &from), ("width", &width), ("height", "24")];
            html.element("rect", &attributes, |_| {});
        }
    });
}
