//! How an output is cut into chunks: by a rule, and at added positions.

use std::fmt;
use std::str::FromStr;

use backchat_core::text::ends_of;
use backchat_parser::parser::{Chunks, cut};

/// How the output is cut into chunks: by a rule, and at extra positions that were found or requested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunking {
    pub rule: ChunkRule,
    /// Additional cuts, in characters of the output, in order.
    pub cuts: Vec<usize>,
}

/// The rule that most of the chunks follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChunkRule {
    /// As recorded.
    #[default]
    Recorded,
    Asked(Chunks),
}

impl Chunking {
    pub const RECORDED: Self = Self { rule: ChunkRule::Recorded, cuts: Vec::new() };

    /// Only at these positions, in characters of the output.
    pub fn at(places: impl IntoIterator<Item = usize>) -> Self {
        let mut chunking = Self::from(Chunks::Whole);
        places.into_iter().for_each(|place| chunking.cut(place));
        chunking
    }

    pub fn cut(&mut self, place: usize) {
        if let Err(at) = self.cuts.binary_search(&place) {
            self.cuts.insert(at, place);
        }
    }

    /// The bytes of the output at which its chunks end; `recorded` are the lengths of recorded chunks, in characters.
    pub fn ends<'t>(&'t self, output: &'t str, recorded: Option<&'t [usize]>) -> Box<dyn Iterator<Item = usize> + 't> {
        let chunks: Box<dyn Iterator<Item = &str>> = match (self.rule, recorded) {
            (ChunkRule::Recorded, Some(lengths)) => Box::new(cut(output, lengths.iter().copied())),
            (ChunkRule::Recorded, None) => Box::new(std::iter::once(output)),
            (ChunkRule::Asked(chunks), _) => chunks.split(output),
        };
        let mut ends = ends_of(chunks).peekable();
        let mut characters = 0;
        let lengths = self.cuts.iter().map(move |cut| cut - std::mem::replace(&mut characters, *cut));
        let mut cuts = ends_of(cut(output, lengths)).filter(|cut| (1..output.len()).contains(cut)).peekable();
        Box::new(std::iter::from_fn(move || match (ends.peek(), cuts.peek()) {
            (Some(end), Some(cut)) if cut < end => cuts.next(),
            (end, cut) => {
                if end == cut {
                    cuts.next();
                }
                ends.next()
            }
        }))
    }

    /// In the syntax of the command line.
    pub fn written(&self) -> String {
        let rule = match self.rule {
            ChunkRule::Recorded => "recorded".to_owned(),
            ChunkRule::Asked(chunks) => chunks.to_string(),
        };
        match (self.cuts.as_slice(), self.rule) {
            ([], _) => rule,
            (cuts, ChunkRule::Asked(Chunks::Whole)) => format!("cut:{}", listed(cuts, ",")),
            (cuts, _) => format!("{rule}+{}", listed(cuts, ",")),
        }
    }
}

impl From<Chunks> for Chunking {
    fn from(chunks: Chunks) -> Self {
        Self { rule: ChunkRule::Asked(chunks), cuts: Vec::new() }
    }
}

fn listed(cuts: &[usize], between: &str) -> String {
    cuts.iter().map(usize::to_string).collect::<Vec<_>>().join(between)
}

/// Parses it in the syntax of the command line and the prompt on the screen.
impl FromStr for Chunking {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (rule, cuts) = match (text.strip_prefix("cut:"), text.split_once('+')) {
            (Some(cuts), _) => ("whole", Some(cuts)),
            (None, Some((rule, cuts))) => (rule, Some(cuts)),
            (None, None) => (text, None),
        };
        let mut chunking = match rule.trim() {
            "recorded" => Self::RECORDED,
            rule => rule.parse::<Chunks>().map(Self::from).map_err(|_| {
                "use `recorded`, `whole`, a number of characters from 1, `random:SEED` or `cut:N,N`; `4+N,N` cuts every 4 \
                 characters and at these places"
                    .to_owned()
            })?,
        };
        for cut in cuts.into_iter().flat_map(|cuts| cuts.split(',')) {
            let place = cut.trim().parse().map_err(|_| {
                format!("{cut:?} is not a place; write the characters to cut after, as in `cut:17,30` or `4+17,30`")
            })?;
            chunking.cut(place);
        }
        Ok(chunking)
    }
}

impl fmt::Display for Chunking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rule {
            ChunkRule::Asked(Chunks::Whole) if !self.cuts.is_empty() => {}
            ChunkRule::Recorded => f.write_str("chunks as recorded")?,
            ChunkRule::Asked(Chunks::Whole) => f.write_str("one chunk")?,
            ChunkRule::Asked(Chunks::Every(length)) => write!(f, "chunks of {length}")?,
            ChunkRule::Asked(Chunks::Random(seed)) => write!(f, "random chunks, seed {seed}")?,
        }
        if !matches!(self.rule, ChunkRule::Asked(Chunks::Whole)) && !self.cuts.is_empty() {
            f.write_str(", ")?;
        }
        match self.cuts.as_slice() {
            [] => Ok(()),
            [first, _, .., _, last] => write!(f, "{} cuts, {first} … {last}", self.cuts.len()),
            few => write!(f, "cut at {}", listed(few, ", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_parsed_and_written() {
        for (text, chunking) in [
            ("recorded", Chunking::RECORDED),
            ("whole", Chunks::Whole.into()),
            ("3", Chunks::Every(3).into()),
            ("random:9", Chunks::Random(9).into()),
            ("cut:17,30", Chunking::at([30, 17])),
            ("4+17", Chunking { rule: ChunkRule::Asked(Chunks::Every(4)), cuts: vec![17] }),
            ("recorded+2,3", Chunking { rule: ChunkRule::Recorded, cuts: vec![2, 3] }),
        ] {
            assert_eq!(text.parse(), Ok(chunking.clone()), "{text}");
            assert_eq!(chunking.written(), text);
        }
        assert_eq!(" cut: 30, 17,17".parse(), Ok(Chunking::at([17, 30])));
        for wrong in ["0", "cut:", "cut:x", "4+", "4+-1", "+3", "sometimes", ""] {
            assert!(wrong.parse::<Chunking>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn chunks_in_words() {
        for (text, words) in [
            ("whole", "one chunk"),
            ("cut:1,2,3", "cut at 1, 2, 3"),
            ("cut:1,2,3,9", "4 cuts, 1 … 9"),
            ("4+7", "chunks of 4, cut at 7"),
            ("recorded+1,2,3,9", "chunks as recorded, 4 cuts, 1 … 9"),
        ] {
            assert_eq!(text.parse::<Chunking>().unwrap().to_string(), words);
        }
    }

    #[test]
    fn a_text_is_cut_as_requested() {
        for (chunking, recorded, ends) in [
            ("recorded", Some(&[1, 2, 1][..]), vec![1, 4, 7]),
            ("recorded", None, vec![7]),
            ("recorded+2", Some(&[1, 2, 1][..]), vec![1, 3, 4, 7]),
            ("3", None, vec![4, 7]),
            ("3+1,3", None, vec![1, 4, 7]),
            ("whole", None, vec![7]),
            ("cut:2", None, vec![3, 7]),
            ("cut:2,3", None, vec![3, 4, 7]),
            ("cut:0,4,9", None, vec![7]),
        ] {
            let chunking: Chunking = chunking.parse().unwrap();
            assert_eq!(chunking.ends("aéb日", recorded).collect::<Vec<_>>(), ends, "{chunking}");
        }
        assert_eq!(Chunking::at([1]).ends("", None).collect::<Vec<_>>(), [0]);
    }
}
