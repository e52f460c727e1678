//! The page of outputs that can be stepped through: what the template makes of each text, and why.

use std::cmp::Reverse;
use std::sync::Arc;

use super::colors;
use super::cut;
use super::html::Html;
use super::page::{Head, Mood, Section, page};
use super::sides;
use super::steps::{MOST, Steps, first_and_last};
use crate::content::coerce::Tools;
use crate::diagnostic::shortened;
use crate::json::{Object, Value};
use crate::replay::{Kind, Moment, Recording, first_difference};

/// The longest text of an event that is shown, in characters.
const EXCERPT: usize = 120;

/// How many outputs a page steps through, those that are not in order first.
const OUTPUTS: usize = 40;

/// An output, read once, or twice to be compared.
#[derive(Clone, Debug)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// How it is read: once, or in two ways side by side.
    pub sides: Vec<Side>,
    /// The message it should give.
    pub expected: Option<Object>,
    /// The tools it was read with.
    pub tools: Option<Arc<Tools>>,
}

/// One way to read an output.
#[derive(Clone, Debug)]
pub struct Side {
    /// Its name, if there are two.
    pub name: String,
    /// The recording.
    pub recording: Recording,
}

impl Output {
    /// How the first way to read it fares: against what is expected, or else by what looks wrong.
    /// Whether its sides give different messages.
    fn differs(&self) -> bool {
        let message = |side: &Side| side.recording.message(side.recording.end());
        self.sides
            .split_first()
            .is_some_and(|(first, others)| others.iter().any(|side| message(side) != message(first)))
    }

    fn mood(&self) -> Mood {
        let Some(Side { recording, .. }) = self.sides.first() else { return Mood::Bad };
        match &self.expected {
            Some(expected) if recording.message(recording.end()) == *expected => Mood::Good,
            Some(_) => Mood::Bad,
            None if !recording.is_in_order() => Mood::Bad,
            None if !recording.suspicious_events().is_empty() || self.differs() => Mood::Doubtful,
            None => Mood::Good,
        }
    }
}

/// The page of some outputs.
pub fn replay(name: &str, outputs: &[Output]) -> String {
    let moods: Vec<Mood> = outputs.iter().map(Output::mood).collect();
    let count = moods.iter().filter(|mood| **mood == Mood::Good).count();
    let worst = moods.iter().copied().max().unwrap_or(Mood::Good);
    let badge = match worst {
        Mood::Good => "in order",
        Mood::Doubtful if outputs.iter().any(Output::differs) => "answers differ",
        Mood::Doubtful => "looks wrong",
        Mood::Bad => "not in order",
    };
    let line = match outputs {
        [output] => verdict(output),
        _ => format!("{count} of {} outputs are in order", outputs.len()),
    };
    let head = Head { title: "Replay of", name, badge: (badge, worst), line: &line };
    let mut sections = Vec::new();
    let mut order: Vec<(usize, &Output)> = outputs.iter().enumerate().collect();
    order.sort_by_key(|(index, _)| Reverse(moods.get(*index).copied()));
    let rest = order.split_off(order.len().min(OUTPUTS));
    for (index, output) in order {
        let title = if outputs.len() == 1 { "Step by step" } else { output.name.as_str() };
        sections.push(Section::new(format!("output{index}"), title, |html| stepper(html, output)));
        if let Some(found) = output.sides.first().and_then(|side| cut::find(&side.recording, output.tools.clone())) {
            let title = "The cut that changes the answer of transformers";
            sections.push(Section::new(format!("cut{index}"), title, move |html| cut::write(html, &found)));
        }
    }
    if !rest.is_empty() {
        sections.push(Section::new("rest", "Further outputs", move |html| {
            html.of_class("ul", "", |html| {
                for (_, output) in rest {
                    html.of_class("li", "", |html| html.prose(&format!("{}: {}", output.name, verdict(output))));
                }
            });
        }));
    }
    page(&head, sections)
}

/// The result of an output, in a sentence.
fn verdict(output: &Output) -> String {
    let Some(Side { recording, .. }) = output.sides.first() else { return String::new() };
    match (&output.expected, output.mood()) {
        (Some(_), Mood::Good) => "the message is as expected".to_owned(),
        (Some(_), _) => "the message is not as expected".to_owned(),
        (None, Mood::Doubtful) => match recording.suspicious_events().len() {
            1 => "the message is complete, and 1 event looks wrong".to_owned(),
            count => format!("the message is complete, and {count} events look wrong"),
        },
        (None, _) => recording.why(recording.end()),
    }
}

/// An output with its regions, its events and its message, and what the script needs to step through it.
pub(super) fn stepper(html: &mut Html, output: &Output) {
    let difference = match output.sides.as_slice() {
        [first, second] => first_difference(&first.recording, &second.recording),
        _ => None,
    };
    let all: Vec<Steps> = output.sides.iter().map(|side| Steps::new(&side.recording)).collect();
    html.element("div", &[("class", "stepper"), ("data-step", "")], |html| {
        html.of_class("div", if output.sides.len() > 1 { "sides" } else { "" }, |html| {
            for (side, steps) in output.sides.iter().zip(&all) {
                html.of_class("figure", "", |html| {
                    if output.sides.len() > 1 {
                        html.tag("figcaption", "", &side.name);
                    }
                    self::side(html, side, steps, output.expected.as_ref(), difference.map(|found| found.row));
                });
            }
        });
        if let ([first, second], [_, steps]) = (output.sides.as_slice(), all.as_slice()) {
            let like = |moment: &Moment| second.recording.moment_like(&first.recording, *moment);
            let pairs = all.first().into_iter().flat_map(|steps| &steps.moments);
            let pairs = pairs.map(|moment| Value::from(i64::try_from(steps.of(like(moment))).unwrap_or(0)));
            html.data(&[("type", "application/json"), ("class", "pairs")], &Value::List(pairs.collect()));
        }
    });
    if let (Some(expected), Some(side), Mood::Bad) = (&output.expected, output.sides.first(), output.mood()) {
        html.tag("h3", "", "Differences from the expectation");
        let got = Value::Object(side.recording.message(side.recording.end()));
        sides::values(html, ["expected", "got"], &Value::Object(expected.clone()), &got);
    }
}

fn side(html: &mut Html, side: &Side, steps: &Steps, expected: Option<&Object>, different: Option<usize>) {
    let recording = &side.recording;
    colors::legend(html, recording);
    colors::text(html, recording);
    html.of_class("div", "now", |html| {
        let end = recording.end();
        html.of_class("p", "", |html| html.prose(&recording.happened(end)));
        html.of_class("p", "", |html| html.prose(&recording.why(end)));
    });
    let wrong = match expected {
        Some(expected) if recording.message(recording.end()) == *expected => Vec::new(),
        Some(expected) => recording.wrong_events(expected),
        None => recording.suspicious_events(),
    };
    let mut wrong: Vec<usize> = wrong.into_iter().map(|event| recording.row_of(event)).collect();
    wrong.sort_unstable();
    events(html, recording, &wrong, expected.is_some(), different);
    sides::json(html, &Value::Object(recording.message_in_brief(recording.end(), MOST / 10)));
    let mut marked = wrong;
    marked.extend(different.filter(|row| *row < recording.row_count()));
    marked.sort_unstable();
    let data = steps.data(recording, &colors::runs(recording), &marked);
    html.data(&[("type", "application/json"), ("class", "steps")], &data);
}

/// The events as a table, adjacent chunks of a region as one, and between them what was held longest, and why.
fn events(html: &mut Html, recording: &Recording, wrong: &[usize], is_expected: bool, different: Option<usize>) {
    html.element(
        "div",
        &[("class", "events"), ("tabindex", "0"), ("role", "region"), ("aria-label", "Events")],
        |html| {
            html.of_class("table", "", |html| {
                html.of_class("tr", "", |html| {
                    for title in ["char", "event", "field", "text"] {
                        html.element("th", &[("scope", "col")], |html| html.text(title));
                    }
                });
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
        },
    );
}

fn event(html: &mut Html, recording: &Recording, row: usize, mark: &str) {
    let Some(event) = recording.event(recording.row(row).start) else { return };
    let text = match (event.kind, event.value) {
        (Kind::Chunk, _) => recording.slice(recording.row_span(row)).to_owned(),
        (_, Some(Ok(value))) => value.json().into_owned(),
        (_, Some(Err(reason))) => reason.to_owned(),
        (_, None) => recording.slice(event.span.clone()).to_owned(),
    };
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
    let moments = feeds.map(|feed| recording.moment_of_feed(feed)).filter(|moment| recording.held(*moment).is_some());
    let Some(moment) = moments.max_by_key(|moment: &Moment| recording.held_text(*moment).len()) else { return };
    let at = recording.held(moment).map_or(0, |held| recording.offset_of(held.span.start));
    html.of_class("tr", "", |html| {
        html.tag("td", "", &at.to_string());
        html.tag("td", "", "held");
        html.of_class("td", "", |_| {});
        html.of_class("td", "", |html| html.prose(&recording.why(moment)));
    });
}
