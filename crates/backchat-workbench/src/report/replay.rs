//! The page of outputs that can be stepped through: how the template reads each text, and why.

use std::cmp::Reverse;

use super::cut;
use super::html::Html;
use super::output::Output;
use super::page::{FOLDED, Head, Mood, Section, page};
use super::playground::Playground;
use super::stepper::stepper;
use crate::replay::{Side, recovery_in_words};
use backchat_core::diagnostic::shortened;
use backchat_core::json::Value;
use backchat_diff::messages::{self, Difference, differences, groups};

/// How many outputs a page steps through, those with problems first.
const OUTPUTS: usize = 40;

/// The page of some outputs.
pub fn replay(name: &str, outputs: &[Output], playground: Option<&Playground>) -> String {
    let is_compared = outputs.len() > 1 && outputs.first().is_some_and(|output| output.sides.len() > 1);
    let moods: Vec<Mood> = outputs.iter().map(|output| output.result(is_compared).0).collect();
    let count = moods.iter().filter(|mood| **mood == Mood::Good).count();
    let worst = moods.iter().copied().max().unwrap_or(Mood::Good);
    let badge = match worst {
        Mood::Good => "in order",
        Mood::Doubtful if outputs.iter().any(Output::differs) => "answers differ",
        Mood::Doubtful => "looks wrong",
        Mood::Bad => "not in order",
    };
    let line = match (outputs, outputs.first().map(|output| output.sides.as_slice())) {
        ([output], _) => output.verdict(),
        (_, Some([one, other])) => format!(
            "{} of {} outputs differ with `{}` instead of `{}`",
            outputs.len() - count,
            outputs.len(),
            other.name,
            one.name
        ),
        _ => format!("{count} of {} outputs are in order", outputs.len()),
    };
    // If there are several, the one that the page opens.
    let first = outputs.iter().enumerate().max_by_key(|(index, _)| (moods.get(*index).copied(), Reverse(*index)));
    let link = playground.zip(first).and_then(|(playground, (_, output))| playground.of_output(output));
    let head = Head { title: "Replay of", name, badge: (badge, worst), line: &line, playground: link };
    let groups = groups(outputs, |output| output.result(is_compared), |group| Reverse(group.kind));
    let (groups, order) = (&groups, &smallest_of_each(&groups));
    let mut sections = Vec::new();
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
                list(html, groups, is_compared, |index| order.iter().any(|(stepped, _)| *stepped == index));
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

/// Outputs with one result for one cause.
type Group<'o> = messages::Group<'o, Mood, Output>;

/// As many outputs as a page steps through: the smallest of each group, then the next of each, the worst first.
fn smallest_of_each<'o>(groups: &[Group<'o>]) -> Vec<(usize, &'o Output)> {
    let mut ranked = Vec::new();
    for group in groups {
        let mut items = group.items.clone();
        items.sort_by_key(|(_, output)| output.sides.first().map(|side| side.recording.text().len()));
        ranked.extend(items.into_iter().enumerate().map(|(rank, item)| (Reverse(group.kind), rank, item)));
    }
    ranked.sort_by_key(|(kind, rank, _)| (*kind, *rank));
    ranked.into_iter().take(OUTPUTS).map(|(.., item)| item).collect()
}

/// A row for each output, the worst first; `is_stepped` says whether the page steps through it.
fn list(html: &mut Html, groups: &[Group<'_>], is_compared: bool, is_stepped: impl Fn(usize) -> bool) {
    html.element("div", &[("data-filter", "Filter the outputs")], |_| {});
    for group in groups {
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
                for (index, output) in &group.items {
                    let address = is_stepped(*index).then(|| format!("#output{index}"));
                    let header = |html: &mut Html| html.link_or_text(address.as_deref(), &output.name);
                    html.row(header, |html| html.words("td", "", &why(output, is_compared)));
                }
            });
        });
    }
}

/// The first difference of the message: between the two sides, or from the expected one; else the verdict.
fn why(output: &Output, is_compared: bool) -> String {
    let messages: Vec<Value> = match (&output.expected, is_compared) {
        (_, true) => output.sides.iter().map(Side::message).collect(),
        (expected, false) => {
            let expected = expected.clone().map(Value::Object);
            expected.into_iter().chain(output.sides.first().map(Side::message)).collect()
        }
    };
    let first = messages.array_windows().find_map(|[one, other]| differences(one, other).into_iter().next());
    match first {
        Some(Difference { path, expected, found }) if is_compared => {
            let [found, expected] = [found, expected].map(|value| value.unwrap_or_else(|| "nothing".to_owned()));
            format!("{path}: {found} instead of {expected}")
        }
        Some(first) => first.to_string(),
        None => output.result(is_compared).1,
    }
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
