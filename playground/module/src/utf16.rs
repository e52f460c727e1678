//! Positions in UTF-16 units, which JavaScript uses.

/// Turns ascending byte offsets of a text into UTF-16 offsets, in one pass over the text.
pub struct Offsets<'t> {
    text: &'t str,
    byte: usize,
    unit: usize,
}

impl<'t> Offsets<'t> {
    pub fn of(text: &'t str) -> Self {
        Self { text, byte: 0, unit: 0 }
    }

    /// The UTF-16 offset of a byte at or after the previous one.
    pub fn at(&mut self, byte: usize) -> usize {
        let passed = self.text.get(self.byte..byte).unwrap_or("");
        self.unit += passed.encode_utf16().count();
        self.byte = byte.max(self.byte);
        self.unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn astral_characters_are_two_units() {
        let mut offsets = Offsets::of("aé🚆b");
        assert_eq!([0, 1, 3, 7, 8].map(|byte| offsets.at(byte)), [0, 1, 2, 4, 5]);
    }
}
