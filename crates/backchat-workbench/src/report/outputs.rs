//! The list of many outputs on a page, grouped by result and reason, and folded.

use std::cmp::Reverse;

use super::cause::{FOLDED, groups};
use super::html::Html;
use super::output::Output;
use super::page::Mood;
use crate::check::differences;
use backchat_core::json::Value;

/// A row for each output, the worst first; `is_stepped` says whether the page steps through it.
pub(super) fn list(html: &mut Html, outputs: &[Output], is_stepped: impl Fn(usize) -> bool) {
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
    let recording = &output.sides.first()?.recording;
    let got = Value::Object(recording.message(recording.end()));
    differences(&expected, &got).first().map(ToString::to_string)
}
