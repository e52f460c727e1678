//! Positions in UTF-16 units, which JavaScript and editors count in.

/// Turns ascending byte offsets of a text into UTF-16 offsets, in one pass over the text.
#[derive(Clone, Debug)]
pub struct Utf16Offsets<'t> {
    text: &'t str,
    byte: usize,
    unit: usize,
}

impl<'t> Utf16Offsets<'t> {
    /// Begins at the start of a text.
    pub fn of(text: &'t str) -> Self {
        Self { text, byte: 0, unit: 0 }
    }

    /// The UTF-16 offset of a byte at or after the previous one.
    pub fn at(&mut self, byte: usize) -> usize {
        let passed = self.text.get(self.byte..byte).unwrap_or("");
        self.unit += units(passed);
        self.byte = byte.max(self.byte);
        self.unit
    }
}

/// The length of a text in UTF-16 units.
pub fn units(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn astral_characters_are_two_units() {
        let mut offsets = Utf16Offsets::of("aé🚆b");
        assert_eq!([0, 1, 3, 7, 8].map(|byte| offsets.at(byte)), [0, 1, 2, 4, 5]);
    }
}
