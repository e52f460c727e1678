//! The size of a value's tree, as containers cache it.

/// Depth and parts of a value: comparing and printing visit all of it, and a value that holds itself twice, over and
/// over, has more parts than memory.
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
