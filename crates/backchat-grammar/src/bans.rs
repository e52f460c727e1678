//! The texts to forbid if calls are not allowed, for engines that ban words instead of following a grammar.

use super::own_mark::first_of_its_own;
use backchat_derive::wire::structure::{CallPart, WireFormat};
use backchat_derive::wire::written::{TurnPart, Written};

/// The shortest texts that mark a call: every call has one, and nothing else in a turn needs them. Empty if calls have
/// no marks of their own.
pub(crate) fn find(wire: &WireFormat, written: &Written, thought: Option<&(String, String)>) -> Vec<String> {
    let Some(calls) = &wire.calls else { return Vec::new() };
    let segmentation = wire.segmentation;
    let texts = |pieces: &[CallPart]| -> String { pieces.iter().map_while(CallPart::text).collect() };
    let (mut before, mut after): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut elsewhere: Vec<&str> = thought.iter().flat_map(|(open, close)| [open.as_str(), close.as_str()]).collect();
    for group in &written.groups {
        for shape in &group.shapes {
            let first = shape.parts.iter().position(|part| *part == TurnPart::Call);
            let last = shape.parts.iter().rposition(|part| *part == TurnPart::Call);
            let header = |text: &'_ str| segmentation.shared_start(text, &group.header).len();
            if let (Some(first), Some(last)) = (first, last) {
                let own = shape.text(first.checked_sub(1));
                before.push(if first == 1 { own.get(header(own)..).unwrap_or(own) } else { own });
                after.push(shape.text(Some(last + 1)));
            }
            // The text before the first call, and all of a turn without one.
            let others = shape.parts.iter().take(first.map_or(usize::MAX, |first| first.saturating_sub(1)));
            elsewhere.extend(others.filter_map(TurnPart::text));
        }
    }
    let before = before.into_iter().reduce(|a, b| segmentation.shared_end(a, b)).unwrap_or_default();
    let after = after.into_iter().reduce(|a, b| segmentation.shared_start(a, b)).unwrap_or_default();
    let opening = format!("{before}{}", texts(&calls.body.head));
    let closing = format!("{}{after}", texts(&calls.body.tail));
    [opening, closing]
        .iter()
        .find_map(|text| first_of_its_own(segmentation, text, &elsewhere))
        .map(|(_, mark)| vec![mark])
        .unwrap_or_default()
}
