//! The part of a page about the conversations of agents: each problem at its line of the template, and the repair.

use std::collections::BTreeMap;

use super::super::html::Html;
use super::super::repairs;
use super::Examined;
use crate::answers::proved;
use backchat_chats::mending::Repair;
use backchat_probe::doctor::Shape;

/// How many lines of the template are shown around one with a problem.
const AROUND: usize = 2;

pub(super) fn write(html: &mut Html, examined: &Examined<'_>) {
    problems(html, examined);
    refusals(html, examined);
    if let Some(repair) = examined.repair {
        repaired(html, repair);
    }
}

fn problems(html: &mut Html, examined: &Examined<'_>) {
    html.wide(&["conversation", "the template", "line", "repair"], |html| {
        for shape in examined.report.agents.problems() {
            html.row(
                |html| html.tag("code", "", &shape.id()),
                |html| {
                    let words = shape.fate.word().replace('_', " ");
                    let message = shape.message().map(|message| format!("{words}: {message}")).unwrap_or(words);
                    html.cell("the template", |html| html.tag("span", "doubtful", &message));
                    html.cell("line", |html| html.text(&shape.line().map(|line| line.to_string()).unwrap_or_default()));
                    html.cell("repair", |html| examined.repair.iter().for_each(|repair| outcome(html, repair, shape)));
                },
            );
        }
    });
}

/// Whether the conversation is repaired, or why it is left.
fn outcome(html: &mut Html, repair: &Repair, shape: &Shape) {
    let is_of = |shapes: &[String]| shapes.iter().any(|name| name == shape.name);
    if repair.cured.iter().any(|cured| cured.problem == shape.problem && is_of(&cured.shapes)) {
        html.tag("span", "good", "proved");
    } else if let Some(left) = repair.left.iter().find(|left| left.problem == shape.problem && is_of(&left.shapes)) {
        html.words("span", "", &left.reason);
    }
}

/// The lines of the template that refuse conversations, each with those that it refuses.
fn refusals(html: &mut Html, examined: &Examined<'_>) {
    let mut refused: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for shape in examined.report.agents.problems() {
        if let Some(line) = shape.line() {
            refused.entry(line).or_default().push(shape.id());
        }
    }
    if refused.is_empty() {
        return;
    }
    html.tag("h3", "", "Where the template refuses them");
    html.pre(&[("class", "text diff")], |html| {
        let mut shown = 0;
        for (number, text) in (1..).zip(examined.template.source().lines()) {
            let is_near = |line: &usize| line.abs_diff(number) <= AROUND;
            if !refused.keys().any(is_near) {
                continue;
            }
            if shown > 0 && shown + 1 < number {
                html.lines("…\n");
            }
            shown = number;
            match refused.get(&number) {
                Some(shapes) => {
                    html.of_class("del", "", |html| html.lines(&format!("{number:>4}  {text}\n")));
                    html.of_class("strong", "", |html| html.lines(&format!("      ^ {}\n", shapes.join(", "))));
                }
                None => html.lines(&format!("{number:>4}  {text}\n")),
            }
        }
    });
}

/// The template before and after, and the proof.
fn repaired(html: &mut Html, repair: &Repair) {
    html.tag("h3", "", "The repair");
    if repair.cured.is_empty() {
        html.words("p", "", "No repair was proved.");
        return;
    }
    html.of_class("ul", "notes", |html| {
        for cured in &repair.cured {
            let edits = cured.edits.iter().map(|edit| format!("{} (line {})", edit.what, edit.line));
            let edits: Vec<String> = edits.collect();
            html.words("li", "good", &format!("`{}`: {}", cured.problem.id(), edits.join("; ")));
        }
    });
    repairs::diff(html, &repair.diff);
    proved(&repair.proof).iter().for_each(|sentence| html.words("p", "", sentence));
}
