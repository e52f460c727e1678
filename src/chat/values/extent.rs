//! How much hangs on a value, as containers remember it.

/// Depth and parts of a value: comparing and printing visit all of it, and a value that holds itself twice, over and
/// over, has more parts than memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extent {
    pub(super) depth: u16,
    pub(super) parts: usize,
}

impl Extent {
    /// The greater of both, in depth and in parts.
    pub(crate) fn max(self, other: Self) -> Self {
        Self { depth: self.depth.max(other.depth), parts: self.parts.max(other.parts) }
    }
}
