//! How the text before, between and after calls is shared out among their marks.

use crate::wire::marks::Segmentation;
use crate::wire::structure::Cut;
use backchat_core::push_new;
use backchat_core::text::slice;

/// Removes the end of the turn from the text after the last call, and returns the marker that ends the turn there if it
/// is another one. A lone marker closes the calls only if it shares a word with the text that opens them.
pub(super) fn own_end(segmentation: Segmentation, post: &mut String, open: &str, end: &str) -> Option<String> {
    if let Some(rest) = post.strip_suffix(end) {
        *post = rest.to_owned();
        return None;
    }
    let mark = end.trim();
    if !mark.is_empty()
        && let Some(at) = post.rfind(mark)
    {
        post.truncate(at);
        return None;
    }
    let shared = segmentation.shared_end(post, end).len();
    if !end.trim().is_empty() && post.get(post.len() - shared..).is_some_and(|text| !text.trim().is_empty()) {
        // A mark of the calls may come before the stop that both ends share.
        let stop = post.split_off(post.len() - shared);
        return Some(stop.trim().to_owned());
    }
    let last = segmentation.last(post).filter(|mark| segmentation.is_distinctive(mark))?.to_owned();
    let others = post.trim_end().strip_suffix(last.as_str())?;
    let is_lone = others.trim().is_empty() && post.trim() == last;
    let is_about = |open: &&str| segmentation.share_a_word(open, &last, mark);
    if mark.is_empty() || is_lone && segmentation.marks(open).iter().any(is_about) {
        return None;
    }
    *post = others.to_owned();
    Some(last)
}

/// The ways to cut the text before, between and after calls.
pub(super) fn cut(segmentation: Segmentation, pre: &str, mid: &str, post: &str) -> Vec<Cut> {
    let open = segmentation.shared_end(mid, pre);
    let close = segmentation.shared_start(mid, post);
    let mut cuts: Vec<Cut> = Vec::new();
    let mut add = |open: &str, close: &str| {
        let (Some(section), Some(section_close)) = (pre.strip_suffix(open), post.strip_prefix(close)) else { return };
        let Some(separator) = mid.strip_prefix(close).and_then(|rest| rest.strip_suffix(open)) else { return };
        push_new(&mut cuts, Cut::of([section, open, close, separator, section_close]));
    };
    if open.len() + close.len() <= mid.len() {
        add(open, close);
    } else {
        add(slice(mid, close.len()..), close);
        add(open, slice(mid, ..mid.len() - open.len()));
    }
    // White space at an edge may belong to either side.
    add(open.trim_start(), close);
    add(open, close.trim_end());
    add(open.trim_start(), close.trim_end());
    add(open, "");
    add("", close);
    cuts
}
