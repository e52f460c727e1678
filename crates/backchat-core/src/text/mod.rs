//! Slices of text at bounds that were found in it, its runs of characters, what looks like a marker in it, a cursor over its
//! characters, positions in lines, and the smallest text that keeps a property.

mod cursor;
mod lines;
mod markers;
mod shrink;
mod utf16;

pub use cursor::Cursor;
pub use lines::{Lines, Position, Unit};
pub use markers::{LONGEST_MARKER, markers};
pub use shrink::shrunk;
pub use utf16::{Utf16Offsets, units};

use std::fmt::Debug;
use std::ops::Range;
use std::slice::SliceIndex;

/// `text[range]`, for bounds that come from `text` itself: 0, its length, a match in it, a span that was read from it,
/// or such a bound moved over its characters. They are in order and between characters, so the slice exists. Any other
/// bounds are a bug: a debug build asserts that there are none, a release build gives the empty text instead of a
/// panic.
#[inline]
pub fn slice<R>(text: &str, range: R) -> &str
where
    R: SliceIndex<str, Output = str> + Clone + Debug,
{
    let slice = text.get(range.clone());
    debug_assert!(slice.is_some(), "{range:?} does not slice a text of {} bytes", text.len());
    slice.unwrap_or_default()
}

/// The bytes that a slice takes up in the text it was cut from; `None` if it is not a part of it.
pub fn within(text: &str, part: &str) -> Option<Range<usize>> {
    let start = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let range = start..start + part.len();
    (range.end <= text.len() && text.is_char_boundary(range.start) && text.is_char_boundary(range.end)).then_some(range)
}

/// The bytes at which pieces of a text end, one after another.
pub fn ends_of<'t>(pieces: impl Iterator<Item = &'t str>) -> impl Iterator<Item = usize> {
    pieces.scan(0, |end, piece| {
        *end += piece.len();
        Some(*end)
    })
}

/// The common beginning of two texts, in whole characters.
pub fn common_start<'a>(one: &'a str, other: &str) -> &'a str {
    let length = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    slice(one, ..one.floor_char_boundary(length))
}

/// The common end of two texts, in whole characters.
pub fn common_end<'a>(one: &'a str, other: &str) -> &'a str {
    let length = one.bytes().rev().zip(other.bytes().rev()).take_while(|(a, b)| a == b).count();
    slice(one, one.ceil_char_boundary(one.len() - length)..)
}

/// A text cut into runs of characters of one kind; a character without a kind is a piece of its own.
pub fn runs(text: &str, kind: impl Fn(char) -> Option<u8>) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut before = None;
    for (at, c) in text.char_indices() {
        let kind = kind(c);
        if at > start && (kind.is_none() || kind != before) {
            pieces.push(slice(text, start..at));
            start = at;
        }
        before = kind;
    }
    pieces.extend(Some(slice(text, start..)).filter(|rest| !rest.is_empty()));
    pieces
}

/// A letter, a digit or an underscore, which is less than `\w` matches in Python.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of the longest end of one text with which another begins.
pub fn overlap(end: &str, start: &str) -> usize {
    let places = end.char_indices().map(|(at, _)| at).skip_while(|at| end.len() - at > start.len());
    let shared = places.map(|at| slice(end, at..)).find(|rest| start.starts_with(rest));
    shared.map_or(0, str::len)
}

/// A path whose parts are separated by slashes, as a reference in a URI.
pub fn uri_path(path: &str) -> String {
    path.bytes().fold(String::new(), |out, byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
            out + &char::from(byte).to_string()
        }
        byte => out + &format!("%{byte:02X}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_compared_in_whole_characters() {
        assert_eq!([common_start("<é>a", "<é>b"), common_start("é", "è"), common_start("ab", "ab")], ["<é>", "", "ab"]);
        // The last bytes of `é` and `©` are the same.
        assert_eq!([common_end("a<é>", "b<é>"), common_end("é", "©"), common_end("", "ab")], ["<é>", "", ""]);
    }

    #[test]
    fn a_part_knows_its_place_in_its_text() {
        let text = "aéb".to_owned();
        assert_eq!([within(&text, &text[1..3]), within(&text, &text[4..])], [Some(1..3), Some(4..4)]);
        assert_eq!(within(&text, "elsewhere"), None);
    }

    #[test]
    fn characters_without_a_kind_are_runs_of_their_own() {
        let words = |text| runs(text, |c| is_word(c).then_some(0)).join("|");
        assert_eq!(words("été_1 <<a b>>"), "été_1| |<|<|a| |b|>|>");
        assert_eq!(words("") + &words("-"), "-");
        assert_eq!(runs("ab  12", |c| Some(c.is_whitespace().into())), ["ab", "  ", "12"]);
    }

    #[test]
    fn the_end_of_a_text_may_overlap_another() {
        let table = [
            ("a</c>", "</c><end>", 4),
            ("abc<x", "<xy", 2),
            ("abc", "d", 0),
            ("é<", "<é", 1),
            ("aé", "é", 2),
            ("ab", "abab", 2),
            ("", "a", 0),
        ];
        for (end, start, shared) in table {
            assert_eq!(overlap(end, start), shared, "{end} {start}");
        }
    }
}
