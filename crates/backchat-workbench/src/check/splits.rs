//! The chunkings of a text.

use backchat_core::text::ends_of;
use backchat_parser::parser::Chunks;

/// How a text is cut into chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// By a rule.
    By(Chunks),
    /// Into two chunks, the second from this byte on.
    At(usize),
}

/// The whole text in one chunk.
pub(super) const WHOLE: Cut = Cut::By(Chunks::Whole);

/// How many random chunkings are tried.
const RANDOM: u64 = 16;
/// Texts up to this many characters are cut in two at every place; longer ones at as many places, drawn by the seed.
const EVERYWHERE: usize = 512;

/// All chunkings of a text, except the whole text.
pub(super) fn cuts(text: &str, seed: u64) -> Vec<Cut> {
    let mut places: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).collect();
    if places.len() > EVERYWHERE {
        places = ends_of(Chunks::Random(seed).split(text)).filter(|at| *at < text.len()).collect();
        let step = places.len().div_ceil(EVERYWHERE);
        places = places.into_iter().step_by(step.max(1)).collect();
    }
    let random = if text.chars().nth(1).is_some() { RANDOM } else { 0 };
    let mut cuts: Vec<Cut> = places.into_iter().map(Cut::At).collect();
    cuts.push(Cut::By(Chunks::Every(1)));
    cuts.extend((0..random).map(|n| Cut::By(Chunks::Random(seed.wrapping_add(n)))));
    cuts
}

impl Cut {
    /// The chunks of a text; none is empty.
    pub fn chunks(self, text: &str) -> Box<dyn Iterator<Item = &str> + '_> {
        let chunks: Box<dyn Iterator<Item = &str>> = match self {
            Cut::By(chunks) => chunks.split(text),
            Cut::At(byte) => {
                Box::new(text.split_at_checked(byte).map_or([text, ""], |(one, two)| [one, two]).into_iter())
            }
        };
        Box::new(chunks.filter(|chunk| !chunk.is_empty()))
    }

    /// A description for people.
    pub fn describe(self, text: &str) -> String {
        match self {
            Cut::At(byte) => format!("cut after character {}", characters(text, byte)),
            Cut::By(Chunks::Whole) => "read whole".to_owned(),
            Cut::By(Chunks::Every(1)) => "read one character at a time".to_owned(),
            Cut::By(Chunks::Every(length)) => format!("read {length} characters at a time"),
            Cut::By(Chunks::Random(seed)) => format!("cut at random (seed {seed})"),
        }
    }

    /// The value for `replay --chunks`.
    pub fn argument(self, text: &str) -> String {
        match self {
            Cut::At(byte) => format!("cut:{}", characters(text, byte)),
            Cut::By(chunks) => chunks.to_string(),
        }
    }
}

/// The number of characters before a byte.
pub(super) fn characters(text: &str, byte: usize) -> usize {
    text.get(..byte).map_or(0, |before| before.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_short_text_is_cut_everywhere() {
        let two_way =
            |text: &str| cuts(text, 0).into_iter().filter(|cut| matches!(cut, Cut::At(_))).collect::<Vec<_>>();
        assert_eq!(two_way("aé<"), [Cut::At(1), Cut::At(3)]);
        assert_eq!(two_way("a"), []);
        assert_eq!(cuts("", 0), [Cut::By(Chunks::Every(1))]);
        let long = "x".repeat(10_000);
        assert!((300..=EVERYWHERE).contains(&two_way(&long).len()), "{}", two_way(&long).len());
        assert_eq!(two_way(&long), two_way(&long));
    }

    #[test]
    fn a_cut_is_described_in_characters() {
        assert_eq!(Cut::At(3).describe("aé<"), "cut after character 2");
        assert_eq!(Cut::At(3).argument("aé<"), "cut:2");
        assert_eq!(Cut::By(Chunks::Random(7)).argument("aé<"), "random:7");
    }

    proptest! {
        #[test]
        fn chunks_add_up(text in "\\PC{0,80}", seed: u64) {
            for cut in cuts(&text, seed).into_iter().chain([WHOLE]) {
                let chunks: Vec<_> = cut.chunks(&text).collect();
                prop_assert_eq!(chunks.concat(), text.as_str());
                prop_assert!(chunks.iter().all(|chunk| !chunk.is_empty()));
            }
        }
    }
}
