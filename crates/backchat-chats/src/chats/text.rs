//! Places in a text: inside its quotes, and in code points.

use backchat_core::text::slice;

/// The text between the quotes of a JSON string, as it is written there.
pub(crate) fn inside(string: &str) -> &str {
    slice(string, 1..string.len() - 1)
}

/// Code points before each byte of a text, for queries in any order.
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
