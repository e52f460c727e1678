//! Classes of characters in brackets, as every notation here has them.

use super::automaton::{LAST, except};

/// These characters in brackets, or those that are left out if the last one of all is among them; nothing for any
/// character. Each notation writes single characters in its own way.
pub(super) fn bracketed(ranges: &[(u32, u32)], sign: fn(&mut String, u32)) -> Option<String> {
    let is_rest = ranges.last().is_some_and(|(_, high)| *high == LAST);
    let shown = if is_rest { except(0, LAST, ranges) } else { ranges.to_vec() };
    if is_rest && shown.is_empty() {
        return None;
    }
    let mut out = String::from(if is_rest { "[^" } else { "[" });
    for (low, high) in shown {
        sign(&mut out, low);
        if high > low {
            if high > low + 1 {
                out.push('-');
            }
            sign(&mut out, high);
        }
    }
    out.push(']');
    Some(out)
}
