//! The page of outputs that can be stepped through: how the template reads each text, and why.

use std::cmp::Reverse;

use super::cause::{FOLDED, groups};
use super::cut;
use super::html::Html;
use super::output::Output;
use super::page::{Head, Mood, Section, page};
use super::playground::Playground;
use super::stepper::stepper;
use crate::check::differences;
use crate::replay::{Side, recovery_in_words};
use backchat_core::diagnostic::shortened;
use backchat_core::json::Value;

/// How many outputs a page steps through, those with problems first.
const OUTPUTS: usize = 40;

/// The page of some outputs.
pub fn replay(name: &str, outputs: &[Output], playground: Option<&Playground>) -> String {
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
        [output] => output.verdict(),
        _ => format!("{count} of {} outputs are in order", outputs.len()),
    };
    // If there are several, the one that the page opens.
    let first = outputs.iter().enumerate().max_by_key(|(index, _)| (moods.get(*index).copied(), Reverse(*index)));
    let link = playground.zip(first).and_then(|(playground, (_, output))| playground.of_output(output));
    let head = Head { title: "Replay of", name, badge: (badge, worst), line: &line, playground: link };
    let mut order: Vec<(usize, &Output)> = outputs.iter().enumerate().collect();
    order.sort_by_key(|(index, _)| Reverse(moods.get(*index).copied()));
    order.truncate(OUTPUTS);
    let mut sections = Vec::new();
    let order = &order;
    match outputs {
        [output] => {
            sections.push(Section::new("output0", "Step by step", |html| {
                stepper(html, output);
                problems(html, output);
            }));
            if let Some(found) = found_cut(output) {
                sections.push(Section::new("cut0", CUT, move |html| cut::write(html, &found)));
            }
        }
        _ => {
            sections.push(Section::new("outputs", "Outputs", move |html| {
                list(html, outputs, |index| order.iter().any(|(stepped, _)| *stepped == index));
            }));
            sections.push(Section::new("steps", "Step by step", move |html| {
                for (at, (index, output)) in order.iter().enumerate() {
                    folded(html, *index, output, at == 0);
                }
            }));
        }
    }
    page(&head, sections)
}

const CUT: &str = "The cut that changes transformers' answer";

fn found_cut(output: &Output) -> Option<cut::Found> {
    output.sides.first().and_then(|side| cut::find(&side.recording, output.tools.clone()))
}

/// A row for each output, the worst first; `is_stepped` says whether the page steps through it.
fn list(html: &mut Html, outputs: &[Output], is_stepped: impl Fn(usize) -> bool) {
    html.element("div", &[("data-filter", "Filter the outputs")], |_| {});
    let whys: Vec<String> =
        outputs.iter().map(|output| departure(output).unwrap_or_else(|| output.verdict())).collect();
    let listed: Vec<(&Output, &String)> = outputs.iter().zip(&whys).collect();
    for group in groups(&listed, |(output, why)| (output.mood(), (*why).clone()), |group| Reverse(group.kind)) {
        let is_open = group.items.len() <= FOLDED && group.kind != Mood::Good;
        let sign = match group.kind {
            Mood::Good => "✓",
            Mood::Doubtful => "!",
            Mood::Bad => "✗",
        };
        let summary = |html: &mut Html| {
            html.tag("strong", group.kind.class(), &format!("{sign} {}", group.items.len()));
            html.text(" ");
            html.prose(&group.cause);
        };
        html.folded(is_open, summary, |html| {
            html.wide(&["output", "verdict"], |html| {
                for (index, (output, why)) in &group.items {
                    let address = is_stepped(*index).then(|| format!("#output{index}"));
                    let header = |html: &mut Html| html.link_or_text(address.as_deref(), &output.name);
                    html.row(header, |html| html.words("td", "", why));
                }
            });
        });
    }
}

/// The first difference of the message from the expected one.
fn departure(output: &Output) -> Option<String> {
    let expected = output.expected.clone().map(Value::Object)?;
    differences(&expected, &output.sides.first()?.message()).first().map(ToString::to_string)
}

/// An output of many, step by step.
fn folded(html: &mut Html, index: usize, output: &Output, is_open: bool) {
    let summary = |html: &mut Html| {
        html.tag("strong", output.mood().class(), &output.name);
        html.text(" ");
        html.prose(&output.verdict());
    };
    html.folded(is_open, summary, |html| {
        html.target(&format!("output{index}"), |html| {
            stepper(html, output);
            problems(html, output);
            if let Some(found) = found_cut(output) {
                html.tag("h3", "", CUT);
                cut::write(html, &found);
            }
        });
    });
}

/// The problems of an output, and the policies that recover from them.
fn problems(html: &mut Html, output: &Output) {
    let Some(Side { recording, .. }) = output.sides.first().filter(|side| !side.recording.problems().is_empty()) else {
        return;
    };
    html.of_class("div", "wide", |html| {
        html.table("", "Problems", &["problem", "field", "text", "reason", "policies"], |html| {
            for problem in recording.problems() {
                let header = |html: &mut Html| html.tag("code", "", problem.kind.as_str());
                html.row(header, |html| {
                    html.tag("td", "", problem.field.as_deref().unwrap_or_default());
                    html.tag("td", "", &shortened(recording.slice(recording.problem_span(problem)), 200));
                    html.tag("td", "", problem.reason.as_deref().unwrap_or_default());
                    html.tag("td", "", &recovery_in_words(problem));
                });
            }
        });
    });
}
