//! An output that can be stepped through: its text, its events, its message, and the data of the script.

use super::colors;
use super::html::Html;
use super::output::Output;
use super::page::Mood;
use super::sides;
use super::steps::{MOST, Steps, first_and_last};
use crate::replay::{Difference, Kind, Moment, Recording, Side, first_difference, gives, longest_held, shown};
use backchat_core::diagnostic::shortened;
use backchat_core::json::{Object, Value};

/// The longest text of an event that is shown, in characters.
const EXCERPT: usize = 120;

/// An output with its regions, its events and its message, and the data with which the script steps through it.
pub(super) fn stepper(html: &mut Html, output: &Output) {
    let difference = match output.sides.as_slice() {
        [first, second] => first_difference(&first.recording, &second.recording),
        _ => None,
    };
    let all: Vec<Steps> = output.sides.iter().map(|side| Steps::new(&side.recording)).collect();
    // The first difference of the sides, and their end, where the messages show the result.
    let parted = difference
        .zip(all.first())
        .map(|(difference, steps)| [steps.step_at(difference.first), steps.moments.len().saturating_sub(1)]);
    let mood = if output.mood() == Mood::Bad { "bad" } else { "" };
    html.element("div", &[("class", "stepper"), ("data-step", mood)], |html| {
        html.of_class("div", if output.sides.len() > 1 { "sides" } else { "" }, |html| {
            for (side, steps) in output.sides.iter().zip(&all) {
                html.of_class("figure", "", |html| {
                    if output.sides.len() > 1 {
                        html.tag("figcaption", "", &side.name);
                    }
                    let parted = difference.zip(parted.as_ref());
                    self::side(html, side, steps, output.expected.as_ref(), parted);
                });
            }
        });
        if let ([first, second], [_, steps]) = (output.sides.as_slice(), all.as_slice()) {
            let like = |moment: &Moment| second.recording.moment_like(&first.recording, *moment);
            let pairs = all.first().into_iter().flat_map(|steps| &steps.moments);
            let pairs = pairs.map(|moment| Value::from(steps.step_at(like(moment))));
            html.data(&[("type", "application/json"), ("class", "pairs")], &Value::List(pairs.collect()));
        }
    });
    if let (Some(expected), Some(side), Mood::Bad) = (&output.expected, output.sides.first(), output.mood()) {
        html.tag("h3", "", "Differences from the expectation");
        sides::values(html, ["expected", "got"], &Value::Object(expected.clone()), &side.message());
    }
}

/// The same alone, for another page, which brings its own stylesheet and script.
pub fn fragment(output: &Output) -> String {
    let mut html = Html::default();
    stepper(&mut html, output);
    html.finish()
}

/// One parse of an output. `parted` says where it differs from the other one, and which steps show that.
fn side(
    html: &mut Html,
    side: &Side,
    steps: &Steps,
    expected: Option<&Object>,
    parted: Option<(Difference, &[usize; 2])>,
) {
    let recording = &side.recording;
    colors::legend(html, recording);
    colors::text(html, recording);
    html.of_class("div", "now", |html| {
        let end = recording.end();
        html.words("p", "", &recording.happened(end));
        html.words("p", "", &recording.why(end));
    });
    let wrong = match expected {
        Some(expected) if gives(recording, expected) => Vec::new(),
        Some(expected) => recording.wrong_events(expected),
        None => recording.suspicious_events(),
    };
    let mut wrong: Vec<usize> = wrong.into_iter().map(|event| recording.row_of(event)).collect();
    wrong.sort_unstable();
    events(html, recording, &wrong, expected.is_some(), parted.map(|(difference, _)| difference.row));
    sides::json(html, &Value::Object(recording.message_in_brief(recording.end(), MOST / 10)));
    let ends = wrong.iter().filter_map(|row| recording.row(*row).end.checked_sub(1));
    let mut marked: Vec<usize> = ends.map(|last| steps.step_at(recording.moment_of_event(last))).collect();
    marked.extend(parted.into_iter().flat_map(|(_, steps)| steps));
    marked.sort_unstable();
    marked.dedup();
    let data = steps.data(recording, &colors::runs(recording), &marked);
    html.data(&[("type", "application/json"), ("class", "steps")], &data);
}

/// The events as a table, adjacent chunks of a region as one, and between them the text that was held longest, and why.
fn events(html: &mut Html, recording: &Recording, wrong: &[usize], is_expected: bool, different: Option<usize>) {
    let attributes = [("class", "events"), ("tabindex", "0"), ("role", "region"), ("aria-label", "Events")];
    html.element("div", &attributes, |html| {
        html.table("", "", &["char", "event", "field", "text"], |html| {
            let mut feed = 0;
            let mut last = None;
            for row in first_and_last(recording.row_count()) {
                let events = recording.row(row);
                if last.is_some_and(|last| last + 1 < row) {
                    let left_out = recording.row_count() - MOST;
                    html.of_class("tr", "", |html| {
                        html.element("td", &[("colspan", "4")], |html| {
                            html.text(&format!("… {left_out} events omitted; `backchat replay` shows them"));
                        });
                    });
                }
                let moment = recording.moment_of_event(events.start);
                if last.is_none_or(|last| last + 1 == row) {
                    held(html, recording, feed..moment.feed);
                }
                last = Some(row);
                feed = recording.moment_of_event(events.end.saturating_sub(1)).feed;
                let is_wrong = wrong.binary_search(&row).is_ok();
                let mark = match () {
                    () if is_wrong && is_expected => "✗ not as expected",
                    () if is_wrong => "! looks wrong",
                    () if different == Some(row) => "≠ first difference",
                    () => "",
                };
                event(html, recording, row, mark);
            }
            held(html, recording, feed..recording.before_end().feed + 1);
        });
    });
}

fn event(html: &mut Html, recording: &Recording, row: usize, mark: &str) {
    let Some(event) = recording.event(recording.row(row).start) else { return };
    let text = shown(recording, recording.row(row));
    let row = row.to_string();
    html.element("tr", &[("data-row", &row)], |html| {
        html.tag("td", "", &recording.offset_of(event.span.start).to_string());
        html.of_class("td", if event.kind == Kind::Malformed { "bad" } else { "" }, |html| {
            html.text(event.kind.short());
            if !mark.is_empty() {
                html.tag("strong", "bad", &format!(" {mark}"));
            }
        });
        html.of_class("td", "", |html| {
            html.tag("span", &colors::color(event.field), recording.field_name(event.field));
        });
        html.tag("td", "", &shortened(&text, EXCERPT));
    });
}

/// The text that was held longest in some feeds, and why.
fn held(html: &mut Html, recording: &Recording, feeds: std::ops::Range<usize>) {
    let Some((moment, start)) = longest_held(recording, feeds) else { return };
    html.of_class("tr", "", |html| {
        html.tag("td", "", &recording.offset_of(start).to_string());
        html.tag("td", "", "held");
        html.of_class("td", "", |_| {});
        html.words("td", "", &recording.why(moment));
    });
}
