use std::fmt;
use std::str::FromStr;

use crate::parser::{Chunks, cut};

/// How the output is cut into chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chunking {
    /// As it was when it was recorded.
    Recorded,
    /// By a rule.
    Rule(Chunks),
    /// At places that were searched for or asked for, in characters of the output.
    Cuts(Vec<usize>),
}

impl Chunking {
    /// The bytes of the output at which its chunks end; `recorded` are the lengths of recorded chunks, in characters.
    pub fn ends<'t>(&'t self, output: &'t str, recorded: Option<&'t [usize]>) -> Box<dyn Iterator<Item = usize> + 't> {
        let chunks: Box<dyn Iterator<Item = &str>> = match (self, recorded) {
            (Self::Recorded, Some(lengths)) => Box::new(cut(output, lengths.iter().copied())),
            (Self::Recorded, None) => Box::new(std::iter::once(output)),
            (Self::Rule(rule), _) => rule.of(output),
            (Self::Cuts(cuts), _) => {
                let lengths = cuts.iter().scan(0, |before, cut| {
                    let length = cut.saturating_sub(*before);
                    *before = *cut;
                    Some(length)
                });
                Box::new(cut(output, lengths.chain([usize::MAX])))
            }
        };
        Box::new(chunks.scan(0, |end, chunk| {
            *end += chunk.len();
            Some(*end)
        }))
    }
}

/// Reads it as the command line and the question on the screen take it.
impl FromStr for Chunking {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "recorded" {
            return Ok(Self::Recorded);
        }
        if let Some(cuts) = text.strip_prefix("cut:") {
            let cuts: Result<Vec<usize>, _> = cuts.split(',').map(|cut| cut.trim().parse()).collect();
            let mut cuts =
                cuts.map_err(|_| "write `cut:` and the characters to cut behind, as in `cut:17,30`".to_owned())?;
            cuts.sort_unstable();
            return Ok(Self::Cuts(cuts));
        }
        let rule = text.parse().map(Self::Rule);
        rule.map_err(|_| {
            "use `recorded`, `whole`, a number of characters from 1, `random:SEED` or `cut:N,N`".to_owned()
        })
    }
}

impl fmt::Display for Chunking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recorded => f.write_str("chunks as recorded"),
            Self::Rule(Chunks::Whole) => f.write_str("one chunk"),
            Self::Rule(Chunks::Every(1)) => f.write_str("chunks of 1"),
            Self::Rule(Chunks::Every(length)) => write!(f, "chunks of {length}"),
            Self::Rule(Chunks::Random(seed)) => write!(f, "random chunks, seed {seed}"),
            Self::Cuts(cuts) => match cuts.as_slice() {
                [one] => write!(f, "cut at {one}"),
                [first, .., last] if cuts.len() > 3 => write!(f, "{} cuts, {first} … {last}", cuts.len()),
                several => {
                    let places: Vec<String> = several.iter().map(usize::to_string).collect();
                    write!(f, "cut at {}", places.join(", "))
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_as_they_are_written() {
        for (text, chunking) in [
            ("recorded", Chunking::Recorded),
            ("whole", Chunking::Rule(Chunks::Whole)),
            ("3", Chunking::Rule(Chunks::Every(3))),
            ("random:9", Chunking::Rule(Chunks::Random(9))),
            (" cut:30, 17", Chunking::Cuts(vec![17, 30])),
        ] {
            assert_eq!(text.parse(), Ok(chunking), "{text}");
        }
        for wrong in ["0", "cut:", "cut:x", "sometimes", ""] {
            assert!(wrong.parse::<Chunking>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_text_is_cut_as_asked() {
        for (chunking, recorded, ends) in [
            (Chunking::Recorded, Some(&[1, 2, 1][..]), vec![1, 4, 7]),
            (Chunking::Recorded, None, vec![7]),
            (Chunking::Rule(Chunks::Every(3)), None, vec![4, 7]),
            (Chunking::Rule(Chunks::Whole), None, vec![7]),
            (Chunking::Cuts(vec![2]), None, vec![3, 7]),
            (Chunking::Cuts(vec![2, 3]), None, vec![3, 4, 7]),
            (Chunking::Cuts(vec![4]), None, vec![7]),
        ] {
            assert_eq!(chunking.ends("aéb日", recorded).collect::<Vec<_>>(), ends, "{chunking}");
        }
    }
}
