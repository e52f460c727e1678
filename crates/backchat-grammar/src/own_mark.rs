//! The mark by which one part of a turn is known: it occurs in no other part.

use backchat_derive::wire::marks::Segmentation;

/// The first marks of a text that occur in no other: their positions and texts.
pub(crate) fn first_of_its_own(segmentation: Segmentation, text: &str, others: &[&str]) -> Option<(usize, String)> {
    let marks = segmentation.marks(text);
    let starts: Vec<usize> = marks.iter().scan(0, |at, mark| Some(std::mem::replace(at, *at + mark.len()))).collect();
    for count in 1..=marks.len() {
        for (index, from) in starts.iter().enumerate() {
            let run = marks.get(index..index + count).unwrap_or(&[]);
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let length: usize = run.iter().map(|mark| mark.len()).sum();
            let candidate = text.get(*from..from + length)?.trim();
            let is_distinctive = segmentation.is_distinctive(first) && segmentation.is_distinctive(last);
            if is_distinctive && !others.iter().any(|other| other.contains(candidate)) {
                let from = from + text.get(*from..)?.find(candidate)?;
                return Some((from, candidate.to_owned()));
            }
        }
    }
    None
}
