//! The list of many outputs on a page: those that fare alike for one reason together, and folded.

use super::cause::shape;
use super::html::Html;
use super::output::Output;
use super::page::Mood;
use crate::check::differences;
use backchat_core::json::Value;

/// Groups of more outputs than this are folded.
const FOLDED: usize = 12;

/// Outputs that fare alike for one reason, by their places in the list.
struct Group {
    mood: Mood,
    cause: String,
    outputs: Vec<usize>,
}

/// A row for each output, the worst first; `is_stepped` says whether the page steps through it.
pub(super) fn list(html: &mut Html, outputs: &[Output], is_stepped: impl Fn(usize) -> bool) {
    html.element("div", &[("data-filter", "Filter the outputs")], |_| {});
    for group in groups(outputs) {
        let attributes: &[(&'static str, &str)] = match group.outputs.len() <= FOLDED && group.mood != Mood::Good {
            true => &[("open", "")],
            false => &[],
        };
        let sign = match group.mood {
            Mood::Good => "✓",
            Mood::Doubtful => "!",
            Mood::Bad => "✗",
        };
        html.element("details", attributes, |html| {
            html.of_class("summary", "", |html| {
                html.tag("strong", group.mood.class(), &format!("{sign} {}", group.outputs.len()));
                html.text(" ");
                html.prose(&group.cause);
            });
            html.of_class("div", "wide", |html| {
                html.table("", "", &["output", "verdict"], |html| {
                    for index in &group.outputs {
                        outputs
                            .get(*index)
                            .into_iter()
                            .for_each(|output| row(html, *index, output, is_stepped(*index)));
                    }
                });
            });
        });
        html.gap();
    }
}

fn row(html: &mut Html, index: usize, output: &Output, is_stepped: bool) {
    html.of_class("tr", "", |html| {
        html.element("th", &[("scope", "row")], |html| match is_stepped {
            true => html.element("a", &[("href", &format!("#output{index}"))], |html| html.text(&output.name)),
            false => html.text(&output.name),
        });
        html.of_class("td", "", |html| html.prose(&departure(output).unwrap_or_else(|| output.verdict())));
    });
}

/// The groups: the worst first, of those the largest.
fn groups(outputs: &[Output]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (index, output) in outputs.iter().enumerate() {
        let (mood, cause) = (output.mood(), shape(&departure(output).unwrap_or_else(|| output.verdict())));
        match groups.iter_mut().find(|group| group.mood == mood && group.cause == cause) {
            Some(group) => group.outputs.push(index),
            None => groups.push(Group { mood, cause, outputs: vec![index] }),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse((group.mood, group.outputs.len())));
    groups
}

/// Where the message first departs from the expected one.
fn departure(output: &Output) -> Option<String> {
    let expected = output.expected.clone().map(Value::Object)?;
    let recording = &output.sides.first()?.recording;
    let got = Value::Object(recording.message(recording.end()));
    differences(&expected, &got).first().map(ToString::to_string)
}
