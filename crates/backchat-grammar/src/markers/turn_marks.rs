//! Marks of rendered turns: where the prompt's part of a turn ends, and which marks occur in one part alone.

use backchat_core::text::{common_start, slice};
use backchat_derive::wire::marks::Segmentation;

/// How far the header of a prompt and the lead of a turn agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Begun {
    /// The length in the header.
    pub header: usize,
    /// The length in the lead.
    pub lead: usize,
}

/// Compares a prompt's header with the lead of a turn, mark by mark. Prompts and turns may differ in the white space
/// before a mark; after the last one, only the white space that both have is shared.
pub(crate) fn begun(segmentation: Segmentation, header: &str, lead: &str) -> Begun {
    let ends = |text| {
        let mut end = 0;
        let marks = segmentation.marks(text).into_iter().map(move |mark| {
            end += mark.len();
            (mark, end)
        });
        marks.filter(|(mark, _)| !mark.trim().is_empty()).collect::<Vec<_>>()
    };
    let same = ends(header).into_iter().zip(ends(lead)).take_while(|((ours, _), (theirs, _))| ours == theirs);
    let (header_end, lead_end) = same.last().map_or((0, 0), |((_, header), (_, lead))| (header, lead));
    let blank = |text: &str| text.len() - text.trim_start().len();
    let (ours, theirs) = (slice(header, header_end..), slice(lead, lead_end..));
    let shared = common_start(slice(ours, ..blank(ours)), slice(theirs, ..blank(theirs))).len();
    Begun { header: header_end + shared, lead: lead_end + shared }
}

/// The first marks of a text that occur in no other: their positions and texts.
pub(crate) fn first_unique_mark(segmentation: Segmentation, text: &str, others: &[&str]) -> Option<(usize, String)> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lead_is_begun_up_to_the_last_mark_it_shares_with_the_header() {
        for (header, lead, shared, rest) in [
            ("<end>\n<bot>\n", "<end>\n<bot>\n<call>", "<end>\n<bot>\n", "<call>"),
            // White space before a mark may differ, and what follows the last one may be the model's.
            ("<bot>\n", "\n\n<bot>\n<call>", "<bot>\n", "<call>"),
            ("\n<end><bot>", "\n\n<end> <bot>\nx", "\n<end><bot>", "\nx"),
            ("<bot>\n\n", "<bot>\nx", "<bot>\n", "x"),
            // A mark is shared whole or not at all.
            ("<bot_start>", "<bot_calls>[", "", "<bot_calls>["),
            ("<end><bot>", "<end><tool>", "<end>", "<tool>"),
            ("\n", "\nx", "\n", "x"),
            ("", "x", "", "x"),
        ] {
            let found = begun(Segmentation::Words, header, lead);
            assert_eq!(
                (slice(header, ..found.header), slice(lead, found.lead..)),
                (shared, rest),
                "{header:?} {lead:?}"
            );
        }
    }
}
