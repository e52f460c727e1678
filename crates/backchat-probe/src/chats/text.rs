//! Comparing texts without ever cutting a character, or a marker, in two.

use backchat_core::text::slice;

/// A cut of `text` at `length`, moved to the front of a marker that it would divide.
///
/// `other` agrees with the text up to the cut. If both end there, or one does, nothing is divided.
pub(crate) fn whole_marks(text: &str, length: usize, other: &str) -> usize {
    if length >= text.len() || length >= other.len() {
        return length;
    }
    let before = slice(text, ..length);
    let opens = before.rfind(['<', '[', '(', '{']);
    let closes = before.rfind(['>', ']', ')', '}', '\n', ' ']);
    match (opens, closes) {
        (Some(open), Some(close)) if open > close => open,
        (Some(open), None) => open,
        _ => length,
    }
}

/// The text between the quotes of a JSON string, as it is written there.
pub(crate) fn inside(string: &str) -> &str {
    slice(string, 1..string.len() - 1)
}

/// An end of `text` without the rest of a marker that it would divide.
pub(crate) fn whole_end<'e>(text: &str, end: &'e str) -> &'e str {
    let before = slice(text, ..text.len() - end.len());
    let opens = before.rfind(['<', '[', '(', '{']);
    let closes = before.rfind(['>', ']', ')', '}', '\n', ' ']);
    let divides = opens > closes;
    let close = end.find(['>', ']', ')', '}']).filter(|_| divides);
    close.map_or(end, |close| slice(end, close + 1..))
}

/// Code points before each byte of a text, asked for in any order.
pub(crate) struct CodePoints<'t> {
    text: &'t str,
    /// Code points before every `STEP`-th byte.
    steps: Vec<usize>,
}

const STEP: usize = 256;

impl<'t> CodePoints<'t> {
    pub fn new(text: &'t str) -> Self {
        let mut count = 0;
        let mut steps = Vec::with_capacity(text.len() / STEP + 1);
        for chunk in text.as_bytes().chunks(STEP) {
            steps.push(count);
            count += starts(chunk.iter());
        }
        steps.push(count);
        Self { text, steps }
    }

    /// How many code points are before this byte.
    pub fn of_byte(&self, byte: usize) -> usize {
        let byte = byte.min(self.text.len());
        let step = byte / STEP;
        let before = self.steps.get(step).copied();
        debug_assert!(before.is_some(), "every {STEP} bytes of {} have a step", self.text.len());
        before.unwrap_or(0) + starts(self.text.as_bytes().iter().take(byte).skip(step * STEP))
    }
}

/// How many of these bytes begin a character.
fn starts<'b>(bytes: impl Iterator<Item = &'b u8>) -> usize {
    bytes.filter(|byte| (**byte & 0xc0) != 0x80).count()
}
