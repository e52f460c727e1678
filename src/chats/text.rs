//! Comparing texts without ever cutting a character, or a marker, in two.

/// The common beginning of two texts.
pub(crate) fn common_start<'a>(one: &'a str, other: &str) -> &'a str {
    let mut length = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    while !one.is_char_boundary(length) {
        length -= 1;
    }
    one.get(..length).unwrap_or_default()
}

/// The common end of two texts.
pub(crate) fn common_end<'a>(one: &'a str, other: &str) -> &'a str {
    let mut length = one.bytes().rev().zip(other.bytes().rev()).take_while(|(a, b)| a == b).count();
    while !one.is_char_boundary(one.len() - length) {
        length -= 1;
    }
    one.get(one.len() - length..).unwrap_or_default()
}

/// A cut of `text` at `length`, moved to the front of a marker that it would divide.
///
/// `other` agrees with the text up to the cut. If both end there, or one does, nothing is divided.
pub(crate) fn whole_marks(text: &str, length: usize, other: &str) -> usize {
    if length >= text.len() || length >= other.len() {
        return length;
    }
    let before = text.get(..length).unwrap_or_default();
    let opens = before.rfind(['<', '[', '(', '{']);
    let closes = before.rfind(['>', ']', ')', '}', '\n', ' ']);
    match (opens, closes) {
        (Some(open), Some(close)) if open > close => open,
        (Some(open), None) => open,
        _ => length,
    }
}

/// An end of `text` without the rest of a marker that it would divide.
pub(crate) fn whole_end<'e>(text: &str, end: &'e str) -> &'e str {
    let before = text.get(..text.len() - end.len().min(text.len())).unwrap_or_default();
    let opens = before.rfind(['<', '[', '(', '{']);
    let closes = before.rfind(['>', ']', ')', '}', '\n', ' ']);
    let divides = opens > closes;
    let close = end.find(['>', ']', ')', '}']).filter(|_| divides);
    close.map_or(end, |close| end.get(close + 1..).unwrap_or_default())
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
            count += starts(chunk);
        }
        steps.push(count);
        Self { text, steps }
    }

    /// How many code points are before this byte.
    pub fn of_byte(&self, byte: usize) -> usize {
        let byte = byte.min(self.text.len());
        let step = byte / STEP;
        let chunk = self.text.as_bytes().get(step * STEP..byte).unwrap_or_default();
        self.steps.get(step).copied().unwrap_or_default() + starts(chunk)
    }
}

fn starts(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| (**byte & 0xc0) != 0x80).count()
}
