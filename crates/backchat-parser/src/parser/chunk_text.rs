//! The text of a chunk. A short one lives inside the event, so that the feeds of a stream allocate nothing.

use std::fmt;
use std::ops::Deref;

/// How many bytes are stored inside, which makes no event larger.
const INSIDE: usize = 30;

/// The text of a chunk: a `str` that is owned.
#[derive(Clone)]
pub struct ChunkText(Kept);

#[derive(Clone)]
enum Kept {
    Inside { length: u8, bytes: [u8; INSIDE] },
    Allocated(String),
}

impl ChunkText {
    /// The text.
    #[inline]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            // Only whole texts are stored inside, so the bytes are valid UTF-8.
            Kept::Inside { length, bytes } => {
                bytes.get(..usize::from(*length)).and_then(|bytes| str::from_utf8(bytes).ok()).unwrap_or_default()
            }
            Kept::Allocated(text) => text,
        }
    }

    /// Appends more text.
    pub fn push_str(&mut self, more: &str) {
        match &mut self.0 {
            Kept::Allocated(text) => text.push_str(more),
            Kept::Inside { .. } => *self = Self(Kept::Allocated([self.as_str(), more].concat())),
        }
    }
}

impl From<&str> for ChunkText {
    #[inline]
    fn from(text: &str) -> Self {
        let mut bytes = [0; INSIDE];
        match bytes.get_mut(..text.len()) {
            Some(inside) => {
                copy(inside, text.as_bytes());
                Self(Kept::Inside { length: text.len() as u8, bytes })
            }
            None => Self(Kept::Allocated(text.to_owned())),
        }
    }
}

/// Copies a text of the same length. Four to eight bytes, the length of most tokens, are copied as two overlapping
/// halves without a call of `memcpy`.
#[inline(always)]
fn copy(to: &mut [u8], from: &[u8]) {
    if let (4..=8, Some(first), Some(last)) = (from.len(), from.first_chunk::<4>(), from.last_chunk::<4>()) {
        if let Some(start) = to.first_chunk_mut() {
            *start = *first;
        }
        if let Some(end) = to.last_chunk_mut() {
            *end = *last;
        }
    } else {
        to.copy_from_slice(from);
    }
}

impl From<ChunkText> for String {
    fn from(text: ChunkText) -> Self {
        match text.0 {
            Kept::Inside { .. } => text.as_str().to_owned(),
            Kept::Allocated(text) => text,
        }
    }
}

impl Deref for ChunkText {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq for ChunkText {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for ChunkText {}

impl PartialEq<str> for ChunkText {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for ChunkText {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl PartialEq<ChunkText> for str {
    fn eq(&self, other: &ChunkText) -> bool {
        self == other.as_str()
    }
}

impl fmt::Debug for ChunkText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), out)
    }
}

impl fmt::Display for ChunkText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_round_trips() {
        for length in (0..=INSIDE + 1).chain([1000]) {
            let text: String = "aé日".chars().cycle().take(length).collect();
            let kept = ChunkText::from(text.as_str());
            assert_eq!(kept, *text);
            assert_eq!(String::from(kept.clone()), text);
            let mut longer = kept;
            longer.push_str("日");
            assert_eq!(longer, *(text + "日"));
        }
    }

    #[test]
    fn it_makes_no_event_larger() {
        use crate::parser::{Event, Span};
        // The largest has a field, two texts and two spans.
        let largest = size_of::<std::sync::Arc<str>>() + 2 * size_of::<String>() + 2 * size_of::<Span>();
        assert_eq!(size_of::<Event>(), largest);
    }
}
