//! The possible first bytes of what follows a run, so that backtracking stops only where one of them is.

/// Up to three bytes. The end of the text is a separate case: a position there must always be tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NextBytes {
    bytes: [u8; 3],
    count: usize,
}

impl NextBytes {
    /// No byte: what follows can only match at the end.
    pub const NONE: Self = Self { bytes: [0; 3], count: 0 };

    pub fn one(byte: u8) -> Self {
        Self { bytes: [byte, 0, 0], count: 1 }
    }

    /// Those of both, unless they are too many.
    pub fn or(mut self, other: Self) -> Option<Self> {
        for &byte in other.known() {
            if !self.contains(byte) {
                *self.bytes.get_mut(self.count)? = byte;
                self.count += 1;
            }
        }
        Some(self)
    }

    fn known(&self) -> &[u8] {
        debug_assert!(self.count <= self.bytes.len(), "no more bytes are counted than fit");
        self.bytes.get(..self.count).unwrap_or(&self.bytes)
    }

    pub fn contains(&self, byte: u8) -> bool {
        self.known().contains(&byte)
    }

    /// The first place of one of them.
    pub fn find(&self, text: &[u8]) -> Option<usize> {
        match *self.known() {
            [] => None,
            [a] => memchr::memchr(a, text),
            [a, b] => memchr::memchr2(a, b, text),
            [a, b, c, ..] => memchr::memchr3(a, b, c, text),
        }
    }

    /// The last place of one of them.
    pub fn find_last(&self, text: &[u8]) -> Option<usize> {
        match *self.known() {
            [] => None,
            [a] => memchr::memrchr(a, text),
            [a, b] => memchr::memrchr2(a, b, text),
            [a, b, c, ..] => memchr::memrchr3(a, b, c, text),
        }
    }
}
