//! Lines of a text as editors count them, and positions in them: `\n`, `\r\n` and `\r` end lines.

use std::ops::Range;

use super::slice;
use super::utf16::{Utf16Offsets, units};

/// How many bytes at most are counted for a position: a template in a JSON file is a single line of any length.
const STRIDE: usize = 256;

/// The unit of positions in a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of UTF-8.
    Utf8,
    /// Units of UTF-16.
    #[default]
    Utf16,
}

/// A position: a line and a place in it, both from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

/// Where the lines of a text begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    starts: Vec<usize>,
    /// The UTF-16 units before each `STRIDE` bytes of the text.
    units: Vec<usize>,
}

impl Lines {
    /// Finds the lines of a text.
    pub fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for (at, byte) in bytes.iter().enumerate() {
            let ends = *byte == b'\n' || (*byte == b'\r' && bytes.get(at + 1) != Some(&b'\n'));
            starts.extend(ends.then_some(at + 1));
        }
        let mut offsets = Utf16Offsets::of(text);
        let strides = (0..=text.len()).step_by(STRIDE);
        let units = strides.map(|byte| offsets.at(text.floor_char_boundary(byte))).collect();
        Self { starts, units }
    }

    /// How many lines there are; the last one may be empty.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// The line of a byte, from 0.
    pub fn line(&self, byte: usize) -> usize {
        self.starts.partition_point(|start| *start <= byte).saturating_sub(1)
    }

    /// The bytes of a line without its end.
    pub fn span(&self, text: &str, line: usize) -> Range<usize> {
        let Some(start) = self.starts.get(line).copied() else { return text.len()..text.len() };
        let end = self.starts.get(line + 1).copied().unwrap_or(text.len());
        start..start + slice(text, start..end).trim_end_matches(['\r', '\n']).len()
    }

    /// The position of a byte between characters.
    pub fn position(&self, text: &str, byte: usize, unit: Unit) -> Position {
        let byte = text.floor_char_boundary(byte);
        let line = self.line(byte);
        let start = self.starts.get(line).copied().unwrap_or(0);
        let column = match unit {
            Unit::Utf8 => byte - start,
            Unit::Utf16 => self.units_before(text, byte) - self.units_before(text, start),
        };
        Position { line, column }
    }

    /// The UTF-16 units of the text before a byte between characters.
    fn units_before(&self, text: &str, byte: usize) -> usize {
        let stride = byte / STRIDE;
        let counted = self.units.get(stride).copied().unwrap_or(0);
        counted + units(slice(text, text.floor_char_boundary(stride * STRIDE)..byte))
    }

    /// The byte of a position: one beyond the end of its line is that end, one inside a character that character, and
    /// one beyond the last line the end of the text.
    pub fn byte(&self, text: &str, position: Position, unit: Unit) -> usize {
        let span = self.span(text, position.line);
        match unit {
            Unit::Utf8 => span.start + slice(text, span).floor_char_boundary(position.column),
            Unit::Utf16 => {
                let target = self.units_before(text, span.start).saturating_add(position.column);
                let stride = self.units.partition_point(|before| *before <= target).saturating_sub(1);
                let from = text.floor_char_boundary(stride * STRIDE).clamp(span.start, span.end);
                let mut left = target - self.units_before(text, from);
                let end = slice(text, from..span.end).char_indices().find(|(_, c)| {
                    let fits = left >= c.len_utf16();
                    left = left.saturating_sub(c.len_utf16());
                    !fits
                });
                end.map_or(span.end, |(at, _)| from + at)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_kind_of_line_end_ends_a_line() {
        let text = "a\r\nb\rc\nd\n";
        let lines = Lines::of(text);
        let all: Vec<&str> = (0..lines.count()).map(|line| &text[lines.span(text, line)]).collect();
        assert_eq!(all, ["a", "b", "c", "d", ""]);
        assert_eq!([0, 2, 3, 5, 9].map(|byte| lines.line(byte)), [0, 0, 1, 2, 4]);
    }

    #[test]
    fn positions_beyond_a_line_or_inside_a_character_are_clamped() {
        let text = "é🚆x\nb";
        let lines = Lines::of(text);
        let byte = |line, column, unit| lines.byte(text, Position { line, column }, unit);
        assert_eq!([0, 1, 2, 3, 4, 9].map(|column| byte(0, column, Unit::Utf16)), [0, 2, 2, 6, 7, 7]);
        assert_eq!([1, 2, 5, 6, 99].map(|column| byte(0, column, Unit::Utf8)), [0, 2, 2, 6, 7]);
        assert_eq!([byte(1, 9, Unit::Utf16), byte(9, 9, Unit::Utf8)], [9, 9]);
    }

    #[test]
    fn positions_in_a_long_line_are_as_exact() {
        let text = "aé🚆".repeat(3 * STRIDE) + "\n" + &"🚆".repeat(STRIDE);
        let lines = Lines::of(&text);
        let mut units = 0;
        for (at, c) in text.char_indices() {
            if c == '\n' {
                break;
            }
            let position = Position { line: 0, column: units };
            assert_eq!(lines.position(&text, at, Unit::Utf16), position);
            assert_eq!(lines.byte(&text, position, Unit::Utf16), at);
            units += c.len_utf16();
        }
        assert_eq!(lines.byte(&text, Position { line: 0, column: usize::MAX }, Unit::Utf16), text.find('\n').unwrap());
        assert_eq!(lines.position(&text, text.len(), Unit::Utf16), Position { line: 1, column: 2 * STRIDE });
    }

    proptest! {
        #[test]
        fn positions_of_bytes_lead_back(text in "[aé🚆\r\n]{0,12}") {
            let lines = Lines::of(&text);
            for (at, _) in text.char_indices().chain([(text.len(), ' ')]) {
                // Nobody can point between the two characters of a line end.
                if at > 0 && text.as_bytes().get(at - 1..=at) == Some(b"\r\n") { continue }
                for unit in [Unit::Utf8, Unit::Utf16] {
                    prop_assert_eq!(lines.byte(&text, lines.position(&text, at, unit), unit), at);
                }
            }
        }
    }
}
