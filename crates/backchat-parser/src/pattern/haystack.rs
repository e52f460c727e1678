//! The text a search may read. Positions count from the start of the whole text, even after its beginning was dropped.

use backchat_core::text::slice;

/// The state after the last character so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// More may come.
    Open,
    /// Nothing.
    End,
    /// More may come, but `$`, `\Z`, `\b` and `\B` treat it as the end, as partial matching of `regex` does.
    Partial,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Haystack<'t> {
    pub text: &'t str,
    /// The place of the first character of `text`.
    pub base: usize,
    pub edge: Edge,
}

impl<'t> Haystack<'t> {
    pub fn end(&self) -> usize {
        self.base + self.text.len()
    }

    /// The offset of a place in `text`. Places come from a search of this text, which is held as far as the search
    /// needs.
    #[inline]
    fn offset(&self, place: usize) -> usize {
        debug_assert!(
            (self.base..=self.end()).contains(&place),
            "{place} is outside of the held text {}..{}",
            self.base,
            self.end()
        );
        place.wrapping_sub(self.base)
    }

    #[inline]
    pub fn after(&self, place: usize) -> &'t str {
        slice(self.text, self.offset(place)..)
    }

    #[inline]
    pub fn bytes_after(&self, place: usize) -> &'t [u8] {
        self.text.as_bytes().get(self.offset(place)..).unwrap_or(&[])
    }

    pub fn before(&self, place: usize) -> &'t str {
        slice(self.text, ..self.offset(place))
    }

    #[inline]
    pub fn between(&self, from: usize, to: usize) -> &'t str {
        slice(self.text, self.offset(from)..self.offset(to))
    }

    #[inline]
    pub fn char_at(&self, place: usize) -> Option<char> {
        match self.bytes_after(place).first() {
            Some(&byte) if byte < 128 => Some(byte as char),
            _ => self.after(place).chars().next(),
        }
    }

    pub fn byte_before(&self, place: usize) -> Option<u8> {
        self.text.as_bytes().get(self.offset(place).wrapping_sub(1)).copied()
    }

    pub fn char_before(&self, place: usize) -> Option<char> {
        self.before(place).chars().next_back()
    }

    /// The character before or after a place, and the place on its other side.
    pub fn beside(&self, place: usize, behind: bool) -> Option<(char, usize)> {
        match behind {
            true => self.char_before(place).map(|c| (c, place - c.len_utf8())),
            false => self.char_at(place).map(|c| (c, place + c.len_utf8())),
        }
    }
}
