//! Text that arrives in pieces, without the white space at its ends. The pieces it returns, joined, are that text.

use backchat_core::python::space::is_space;

/// The state between two pieces.
#[derive(Clone, Debug)]
pub(crate) struct Trimmed {
    /// White space that is dropped unless more text follows.
    space: String,
    is_blank: bool,
}

impl Default for Trimmed {
    fn default() -> Self {
        Self { space: String::new(), is_blank: true }
    }
}

impl Trimmed {
    /// Adds a piece; returns the held white space and the text that more text can't undo. Both are empty for a blank piece.
    pub fn add<'t>(&mut self, piece: &'t str) -> (String, &'t str) {
        let piece = if self.is_blank { piece.trim_start_matches(is_space) } else { piece };
        let kept = piece.trim_end_matches(is_space);
        self.is_blank &= kept.is_empty();
        let before = if kept.is_empty() { String::new() } else { std::mem::take(&mut self.space) };
        self.space.push_str(piece.get(kept.len()..).unwrap_or_default());
        (before, kept)
    }

    /// The white space that is held, which more text no longer returns.
    pub fn take_held(&mut self) -> String {
        std::mem::take(&mut self.space)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_are_the_stripped_text_however_it_is_cut() {
        for text in ["", " \n", "a", "\n\n a \u{1c} b\n c \n", "a ", " a"] {
            for size in 1..=text.len().max(1) {
                let mut trimmed = Trimmed::default();
                let mut all = String::new();
                for piece in text.as_bytes().chunks(size) {
                    let (before, kept) = trimmed.add(str::from_utf8(piece).unwrap());
                    all.push_str(&(before + kept));
                }
                assert_eq!(all, text.trim_matches(is_space), "{text:?} in pieces of {size}");
            }
        }
    }
}
