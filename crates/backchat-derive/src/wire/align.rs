//! Aligns two texts mark by mark, ignoring white space: what a prompt and a render share if they have no common prefix.

use std::ops::Range;

use super::marks::Segmentation;
use backchat_core::text::slice;
use backchat_probe::diff::{DiffTag, operations};

/// The last range with a word that two texts share, in bytes of each.
pub(super) fn last_shared(segmentation: Segmentation, a: &str, b: &str) -> Option<(Range<usize>, Range<usize>)> {
    let (ours, theirs) = (tokens(segmentation, a), tokens(segmentation, b));
    let texts = |tokens: &[Range<usize>], text| -> Vec<&str> {
        tokens.iter().map(|range| slice(text, range.clone())).collect()
    };
    let equal = operations(&texts(&ours, a), &texts(&theirs, b));
    let mut equal = equal.into_iter().rev().filter(|operation| operation.tag() == DiffTag::Equal);
    equal.find_map(|operation| {
        let shared = |tokens: &[Range<usize>], range: Range<usize>| {
            let tokens = tokens.get(range)?;
            Some(tokens.first()?.start..tokens.last()?.end)
        };
        let (own, other) = (shared(&ours, operation.old_range())?, shared(&theirs, operation.new_range())?);
        slice(a, own.clone()).contains(char::is_alphanumeric).then_some((own, other))
    })
}

/// The marks of a text that are not white space.
fn tokens(segmentation: Segmentation, text: &str) -> Vec<Range<usize>> {
    segmentation.placed(text).filter(|(_, mark)| !mark.trim().is_empty()).map(|(place, _)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_shared_range_ends_the_header_of_a_prompt_and_a_turn() {
        for (prompt, lead, shared) in [
            ("<end>\n<bot>\n", "<end>\n<bot>\n", Some(("<end>\n<bot>", "<end>\n<bot>"))),
            // The prompt writes a reminder before its header, and opens a thought after it.
            ("<end>\n(Be brief.)\n<bot>\n<plan>", "<end>\n<bot>\n", Some(("<bot>", "<bot>"))),
            // White space differs, and the turn has an empty thought.
            ("<end>  <bot>", "<end><bot>  <plan></plan>", Some(("<end>  <bot>", "<end><bot>"))),
            // A single punctuation mark does not count as shared.
            ("<end>:", "<stop>:", None),
            ("", "<bot>", None),
        ] {
            let found = last_shared(Segmentation::Words, prompt, lead);
            let texts = found.map(|(own, other)| (&prompt[own], &lead[other]));
            assert_eq!(texts, shared, "{prompt:?} {lead:?}");
        }
    }
}
