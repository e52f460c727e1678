//! Parts of texts, cut where the parser knows that a cut may fall: within the text and between characters.

use std::ops::Range;

/// The part of a text at a range of bytes that a search, a scan or the text itself gave, so that both ends lie between
/// its characters. One that does not is a mistake here, which stops a debug build. A release build goes on with the
/// nearest part there is: what is there is never taken for nothing.
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
    fn a_cut_within_a_character_is_a_mistake() {
        part("aé日", 2..6);
    }

    #[test]
    fn the_nearest_part_holds_what_was_asked_for() {
        for (range, nearby) in [(2..6, "é日"), (0..2, "aé"), (4..5, "日"), (3..60, "日"), (60..70, "")] {
            assert_eq!(nearest("aé日", range.clone()), nearby, "{range:?}");
        }
    }
}
