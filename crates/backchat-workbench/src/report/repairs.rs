//! Repairs of response templates: what they change, their effect, and the change as a diff.

use super::html::Html;
use crate::check::TemplateRepair;
use crate::repair::Plan;
use backchat_core::diagnostic::Place;
use backchat_probe::diff::unified;

/// The repairs that a proof found.
pub(super) fn plan(html: &mut Html, plan: &Plan) {
    html.of_class("ul", "notes", |html| {
        for step in &plan.steps {
            let effect = format!("{} of the conversations", step.repair.effect());
            item(html, &step.repair.place, &step.repair.fix.message, &effect);
        }
    });
    difference(html, &plan.before, &plan.text);
}

/// The repair of one template of a suite.
pub(super) fn of_suite(html: &mut Html, repair: &TemplateRepair) {
    html.of_class("ul", "notes", |html| {
        for step in &repair.steps {
            item(html, &step.place, &step.fix.message, "");
        }
    });
    html.words("p", "", &format!("With it, the suite changes so: it {}.", repair.effect()));
    difference(html, &repair.before, &repair.after);
}

fn item(html: &mut Html, place: &Place, message: &str, effect: &str) {
    html.of_class("li", "good", |html| {
        let line = place.line_column.map_or_else(String::new, |(line, _)| format!(":{line}"));
        html.tag("span", "place", &format!("{}{line}", place.file.as_deref().unwrap_or_default()));
        html.text(" ");
        html.prose(message);
        if !effect.is_empty() {
            html.words("p", "help", effect);
        }
    });
}

/// The lines that a repair changes.
fn difference(html: &mut Html, before: &str, after: &str) {
    diff(html, &unified(before, after, 3, None));
}

/// A unified diff.
pub(super) fn diff(html: &mut Html, text: &str) {
    html.pre(&[("class", "text diff")], |html| {
        for line in text.split_inclusive('\n') {
            match line.chars().next() {
                Some('-') => html.of_class("del", "", |html| html.lines(line)),
                Some('+') => html.of_class("ins", "", |html| html.lines(line)),
                _ => html.lines(line),
            }
        }
    });
}
