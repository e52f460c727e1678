//! The markers that end a turn.

use super::placeholders::fixed_start;
use backchat_derive::wire::structure::WireFormat;
use backchat_derive::wire::written::Written;

/// The markers that end the turn, and which turns they end.
pub(crate) fn stops(wire: &WireFormat, written: &Written) -> Vec<(String, &'static str)> {
    let stops = written.stops.iter().map(|stop| (fixed_start(stop).to_owned(), ends(wire, stop)));
    stops.filter(|(stop, _)| !stop.is_empty()).collect()
}

/// Which turns a stop ends: `calls`, `content` (without calls), or `any`.
fn ends(wire: &WireFormat, stop: &str) -> &'static str {
    let Some(end) = wire.calls.as_ref().and_then(|calls| calls.end.as_deref()) else { return "any" };
    match (end.contains(stop), wire.end.contains(stop)) {
        (true, false) => "calls",
        (false, true) => "content",
        _ => "any",
    }
}
