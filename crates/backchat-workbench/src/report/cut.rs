//! The cut of an output that changes transformers' answer, if there is one.

use std::sync::Arc;

use super::html::Html;
use super::output::Output;
use super::sides;
use super::stepper::stepper;
use crate::replay::{CutSearch, CutSearchResult, Recording, Run, Side};
use backchat_parser::content::coerce::Tools;
use backchat_parser::parser::Mode;

/// How many bytes are parsed to find a cut, so that a page is written quickly. `backchat replay` searches longer.
const WORK: usize = 8 << 20;

/// The output parsed whole, and cut.
pub(super) struct Found {
    output: Output,
    /// The characters of the output to cut after.
    cuts: Vec<isize>,
}

/// Searches for the cut, the places near events first.
pub(super) fn find(recording: &Recording, tools: Option<Arc<Tools>>) -> Option<Found> {
    let start = recording.output_start();
    let text = recording.text();
    let most = WORK / text.len().max(1);
    let mut hunt = CutSearch::new(recording, tools.clone());
    let CutSearchResult::Cuts(cuts) = (0..most).find_map(|_| hunt.step())? else { return None };
    let run = Run {
        template: recording.template(),
        prefix: recording.slice(0..start),
        mode: Mode::Reference,
        tools: tools.clone(),
        recovery: Default::default(),
    };
    let read = |cuts: &[usize]| Recording::of_text(&run, text.clone(), cuts.iter().copied().chain([text.len()])).ok();
    let (whole, cut) = (read(&[])?, read(&cuts)?);
    let places: Vec<isize> = cuts.iter().map(|cut| recording.offset_of(*cut)).collect();
    let sides = vec![
        Side::new("transformers, read whole", whole),
        Side::new(format!("transformers, {}", cut_at(&places)), cut),
    ];
    Some(Found { output: Output { name: String::new(), sides, expected: None, tools }, cuts: places })
}

fn cut_at(places: &[isize]) -> String {
    let places: Vec<String> = places.iter().map(isize::to_string).collect();
    format!("cut after character {}", places.join(", "))
}

/// Both answers, each with a stepper.
pub(super) fn write(html: &mut Html, found: &Found) {
    html.of_class("p", "", |html| {
        html.text(&format!("Transformers gives another message when the output is {}. ", cut_at(&found.cuts)));
        html.prose("The stable mode of Backchat does not depend on cuts; `backchat lint` reports the pattern that causes this.");
    });
    if let [whole, cut] = found.output.sides.as_slice() {
        sides::values(html, [&whole.name, &cut.name], &whole.message(), &cut.message());
    }
    stepper(html, &found.output);
}
