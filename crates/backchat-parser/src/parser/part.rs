//! Substrings at bounds that the parser knows to be valid: within the text and between characters.

use std::ops::Range;

/// The part of a text at a byte range that came from a search, a scan or the text itself, so both ends lie between its
/// characters. Any other range is a bug: a debug build asserts, a release build takes the nearest valid part, so
/// that no text is lost.
#[inline]
pub(super) fn part(text: &str, range: Range<usize>) -> &str {
    let found = text.get(range.clone());
    debug_assert!(found.is_some(), "{range:?} of a text of {} bytes", text.len());
    found.unwrap_or_else(|| nearest(text, range))
}

#[cold]
fn nearest(text: &str, Range { start, end }: Range<usize>) -> &str {
    let start = text.floor_char_boundary(start);
    text.get(start..text.ceil_char_boundary(end).max(start)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_the_text_at_its_range() {
        assert_eq!((part("aé日", 1..3), part("aé日", 6..6)), ("é", ""));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "2..6 of a text of 6 bytes")]
    fn a_cut_inside_a_character_panics() {
        part("aé日", 2..6);
    }

    #[test]
    fn the_nearest_part_contains_the_requested_range() {
        for (range, nearby) in [(2..6, "é日"), (0..2, "aé"), (4..5, "日"), (3..60, "日"), (60..70, "")] {
            assert_eq!(nearest("aé日", range.clone()), nearby, "{range:?}");
        }
    }
}
