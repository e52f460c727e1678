//! How a text is cut into feeds.

use std::fmt;
use std::str::FromStr;

/// How to cut a text that was recorded without its feeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Chunks {
    /// One feed.
    #[default]
    Whole,
    /// This many code points per feed, at least one.
    Every(usize),
    /// 1 to 16 code points a feed, drawn from this seed.
    Random(u64),
}

/// The longest random feed.
const LONGEST: u64 = 16;

/// A text that says nothing about how to cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownChunks;

impl fmt::Display for UnknownChunks {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("use `whole`, a number of code points from 1, or `random:SEED`")
    }
}

impl std::error::Error for UnknownChunks {}

impl FromStr for Chunks {
    type Err = UnknownChunks;

    fn from_str(text: &str) -> Result<Self, UnknownChunks> {
        match text.strip_prefix("random:") {
            Some(seed) => seed.parse().map(Self::Random).map_err(|_| UnknownChunks),
            None if text == "whole" => Ok(Self::Whole),
            None => text.parse().ok().filter(|&length| length > 0).map(Self::Every).ok_or(UnknownChunks),
        }
    }
}

impl fmt::Display for Chunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("whole"),
            Self::Every(length) => write!(f, "{length}"),
            Self::Random(seed) => write!(f, "random:{seed}"),
        }
    }
}

impl Chunks {
    /// Cuts the text.
    pub fn split(self, text: &str) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Self::Whole => Box::new(std::iter::once(text)),
            Self::Every(length) => Box::new(cut(text, std::iter::repeat(length.max(1)))),
            Self::Random(seed) => Box::new(cut(text, lengths(seed))),
        }
    }

    /// Cuts ids; each counts as one code point.
    pub fn of_ids(self, ids: &[u32]) -> Box<dyn Iterator<Item = &[u32]> + '_> {
        match self {
            Self::Whole => Box::new(std::iter::once(ids)),
            Self::Every(length) => Box::new(ids.chunks(length.max(1))),
            Self::Random(seed) => Box::new(cut_ids(ids, lengths(seed))),
        }
    }
}

/// Cuts ids at the given lengths; the last piece is the rest.
pub fn cut_ids(ids: &[u32], lengths: impl IntoIterator<Item = usize>) -> impl Iterator<Item = &[u32]> {
    let mut rest = ids;
    let mut lengths = lengths.into_iter();
    std::iter::from_fn(move || {
        let length = match lengths.next() {
            _ if rest.is_empty() => return None,
            Some(length) => length.min(rest.len()),
            None => rest.len(),
        };
        let (piece, beyond) = rest.split_at_checked(length)?;
        rest = beyond;
        Some(piece)
    })
}

/// Cuts the text at the given lengths in code points; the last piece is the rest.
pub fn cut(text: &str, lengths: impl IntoIterator<Item = usize>) -> impl Iterator<Item = &str> {
    let mut rest = text;
    lengths.into_iter().map_while(move |length| {
        if rest.is_empty() && length > 0 {
            return None;
        }
        let at = rest.char_indices().nth(length).map_or(rest.len(), |(at, _)| at);
        let (chunk, beyond) = rest.split_at_checked(at)?;
        rest = beyond;
        Some(chunk)
    })
}

/// An endless series of lengths, the same for the same seed on every machine (SplitMix64).
fn lengths(seed: u64) -> impl Iterator<Item = usize> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % LONGEST + 1).unwrap_or(1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_parsed_and_displayed() {
        assert_eq!("whole".parse(), Ok(Chunks::Whole));
        assert_eq!("4".parse(), Ok(Chunks::Every(4)));
        assert_eq!("random:7".parse(), Ok(Chunks::Random(7)));
        for chunks in [Chunks::Whole, Chunks::Every(4), Chunks::Random(7)] {
            assert_eq!(chunks.to_string().parse(), Ok(chunks));
        }
        for wrong in ["0", "-1", "random", "random:", "random:x", "all", ""] {
            assert!(wrong.parse::<Chunks>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_text_is_cut_by_code_points() {
        let cut = |chunks: Chunks, text: &str| chunks.split(text).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(cut(Chunks::Whole, "aé日"), ["aé日"]);
        assert_eq!(cut(Chunks::Whole, ""), [""]);
        assert_eq!(cut(Chunks::Every(2), "aé日本語"), ["aé", "日本", "語"]);
        assert!(cut(Chunks::Every(2), "").is_empty());
        assert_eq!(cut(Chunks::Every(0), "ab"), ["a", "b"]);
        let text = "é".repeat(1000);
        let random = cut(Chunks::Random(7), &text);
        assert_eq!(random.concat(), text);
        assert_eq!(random, cut(Chunks::Random(7), &text), "the same seed gives the same chunks");
        assert_ne!(random, cut(Chunks::Random(8), &text));
        assert!(random.iter().all(|chunk| (1..=16).contains(&chunk.chars().count())));
    }

    #[test]
    fn given_lengths_may_be_zero() {
        assert_eq!(super::cut("abc", [0, 1, 2, 0]).collect::<Vec<_>>(), ["", "a", "bc", ""]);
        assert_eq!(super::cut("", [0]).collect::<Vec<_>>(), [""]);
        assert!(super::cut("", []).next().is_none());
    }
}
