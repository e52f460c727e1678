//! The size of a value's tree, as containers cache it.

/// The depth of a value, and its number of parts. Comparing and printing visit all parts, and lists that hold another
/// list twice, over and over, have more of them than memory has bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extent {
    pub(super) depth: u16,
    pub(super) parts: usize,
}

impl Extent {
    /// Of a value that holds no others.
    pub(crate) const SCALAR: Self = Self { depth: 0, parts: 1 };
    /// Of an empty container.
    pub(crate) const CONTAINER: Self = Self { depth: 1, parts: 1 };

    /// Of this container with one more value in it.
    pub(crate) fn with(self, part: Self) -> Self {
        Self { depth: self.depth.max(part.depth.saturating_add(1)), parts: self.parts.saturating_add(part.parts) }
    }

    /// The greater of both, in depth and in parts.
    pub(crate) fn max(self, other: Self) -> Self {
        Self { depth: self.depth.max(other.depth), parts: self.parts.max(other.parts) }
    }
}
