//! The page of outputs that can be stepped through: how the template reads each text, and why.

use std::cmp::Reverse;

use super::cut;
use super::html::Html;
use super::output::{Output, Side};
use super::page::{Head, Mood, Section, page};
use super::stepper::stepper;
use backchat_core::diagnostic::shortened;
use backchat_parser::parser::RecoveryPolicy;

/// How many outputs a page steps through, those that are not in order first.
const OUTPUTS: usize = 40;

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
        sections.push(Section::new(format!("output{index}"), title, |html| {
            stepper(html, output);
            problems(html, output);
        }));
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

/// What went wrong in an output, and the policies that read it.
fn problems(html: &mut Html, output: &Output) {
    let Some(Side { recording, .. }) = output.sides.first().filter(|side| !side.recording.problems().is_empty()) else {
        return;
    };
    html.of_class("div", "wide", |html| {
        html.table("", "Problems", &["problem", "field", "text", "reason", "policies"], |html| {
            for problem in recording.problems() {
                let policies: Vec<&str> = problem.policies.iter().map(RecoveryPolicy::as_str).collect();
                let verb = match (policies.is_empty(), problem.is_recovered) {
                    (true, _) => "",
                    (_, true) => "recovered by ",
                    (_, false) => "could be recovered by ",
                };
                html.of_class("tr", "", |html| {
                    html.element("th", &[("scope", "row")], |html| html.tag("code", "", problem.kind.as_str()));
                    html.tag("td", "", problem.field.as_deref().unwrap_or_default());
                    html.tag("td", "", &shortened(recording.slice(recording.problem_span(problem)), 200));
                    html.tag("td", "", problem.reason.as_deref().unwrap_or_default());
                    html.tag("td", "", &format!("{verb}{}", policies.join(", ")));
                });
            }
        });
    });
}

/// The result of an output, in a sentence.
fn verdict(output: &Output) -> String {
    let Some(Side { recording, .. }) = output.sides.first() else { return String::new() };
    match (&output.expected, output.mood()) {
        (Some(_), Mood::Good) => "the message is as expected".to_owned(),
        (Some(_), _) => "the message is not as expected".to_owned(),
        (None, Mood::Doubtful) => match recording.suspicious_events().len() {
            0 => "the two ways to read the output give different messages".to_owned(),
            1 => "the message is complete, and 1 event looks wrong".to_owned(),
            count => format!("the message is complete, and {count} events look wrong"),
        },
        (None, _) => recording.why(recording.end()),
    }
}
