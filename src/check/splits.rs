//! The ways a text is cut.

/// How a text is cut into chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// One chunk.
    Whole,
    /// Two chunks, the second from this byte on.
    At(usize),
    /// One chunk for each character.
    Characters,
    /// 1 to 16 characters a chunk, drawn from this seed.
    Random(u64),
}

/// The longest random chunk, in characters.
const LONGEST: u64 = 16;
/// How many random chunkings are tried.
const RANDOM: u64 = 16;
/// Texts up to this many characters are cut in two at every place; longer ones at as many places, drawn by the seed.
const EVERYWHERE: usize = 512;

/// All the ways a text is cut, the whole text aside.
pub fn cuts(text: &str, seed: u64) -> Vec<Cut> {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).collect();
    let mut two_way: Vec<usize> = if places.len() <= EVERYWHERE {
        places
    } else {
        let mut draw = Draw::new(seed);
        let drawn = (0..EVERYWHERE).filter_map(|_| places.get(draw.below(places.len() as u64) as usize).copied());
        drawn.collect()
    };
    two_way.sort_unstable();
    two_way.dedup();
    let random = if text.chars().nth(1).is_some() { RANDOM } else { 0 };
    let mut cuts: Vec<Cut> = two_way.into_iter().map(Cut::At).collect();
    cuts.push(Cut::Characters);
    cuts.extend((0..random).map(|n| Cut::Random(seed.wrapping_add(n))));
    cuts
}

impl Cut {
    /// The chunks of a text.
    pub fn chunks(self, text: &str) -> Chunks<'_> {
        let draw = match self {
            Cut::Random(seed) => Draw::new(seed),
            _ => Draw::new(0),
        };
        Chunks { cut: self, rest: text, draw }
    }

    /// How to say it to a person who knows the text.
    pub fn describe(self, text: &str) -> String {
        match self {
            Cut::Whole => "read whole".to_owned(),
            Cut::At(byte) => {
                let count = text.get(..byte).map_or(0, |before| before.chars().count());
                format!("cut after character {count}")
            }
            Cut::Characters => "read one character at a time".to_owned(),
            Cut::Random(seed) => format!("cut at random (seed {seed})"),
        }
    }
}

/// The chunks of a text, in order.
#[derive(Clone, Debug)]
pub struct Chunks<'t> {
    cut: Cut,
    rest: &'t str,
    draw: Draw,
}

impl<'t> Iterator for Chunks<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        if self.rest.is_empty() {
            return None;
        }
        let characters = match self.cut {
            Cut::Whole => usize::MAX,
            Cut::At(byte) => {
                self.cut = Cut::Whole;
                let (first, rest) = self.rest.split_at_checked(byte)?;
                self.rest = rest;
                return Some(first);
            }
            Cut::Characters => 1,
            Cut::Random(_) => self.draw.below(LONGEST) as usize + 1,
        };
        let end = self.rest.char_indices().nth(characters).map_or(self.rest.len(), |(at, _)| at);
        let (chunk, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        Some(chunk)
    }
}

/// Numbers that look drawn and are the same for the same seed (SplitMix64).
#[derive(Clone, Debug)]
struct Draw(u64);

impl Draw {
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }
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
        assert_eq!(cuts("", 0), [Cut::Characters]);
        let long = "x".repeat(10_000);
        assert!((400..=EVERYWHERE).contains(&two_way(&long).len()));
        assert_eq!(two_way(&long), two_way(&long));
    }

    #[test]
    fn a_cut_is_said_in_characters() {
        assert_eq!(Cut::At(3).describe("aé<"), "cut after character 2");
    }

    proptest! {
        #[test]
        fn chunks_add_up(text in "\\PC{0,80}", seed: u64) {
            for cut in cuts(&text, seed).into_iter().chain([Cut::Whole]) {
                let chunks: Vec<_> = cut.chunks(&text).collect();
                prop_assert_eq!(chunks.concat(), text.as_str());
                prop_assert!(chunks.iter().all(|chunk| !chunk.is_empty()));
            }
        }
    }
}
