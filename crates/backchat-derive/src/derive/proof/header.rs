//! The header of a turn: aligns the end of a prompt with the beginning of a rendered turn.

use crate::wire::marks::Segmentation;
use backchat_core::text::{common_start, is_word, overlap, slice};

/// The longest header to search for in a prompt.
const LONGEST_HEADER: usize = 200;

/// A position in the end of a prompt where turns have another text, and the lengths of both texts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shift {
    pub from: usize,
    pub prompts: usize,
    pub turns: usize,
}

/// The ends of the common beginning of two texts, ignoring white space.
pub(super) fn loosely_shared(a: &str, b: &str) -> (usize, usize) {
    let signs = |text: &'_ str| -> Vec<(usize, char)> {
        text.char_indices().filter(|(_, c)| !c.is_whitespace()).map(|(at, c)| (at + c.len_utf8(), c)).collect()
    };
    let (ours, theirs) = (signs(a), signs(b));
    let shared = ours.iter().zip(&theirs).take_while(|((_, a), (_, b))| a == b).last();
    shared.map_or((0, 0), |((a, _), (b, _))| (*a, *b))
}

/// The end of a prompt as turns have it: without text that no turn has before its header, such as a reminder, and with
/// the turns' white space. `lead` is the beginning of a turn.
pub(super) fn aligned(tail: &str, lead: &str) -> (String, Shift) {
    let shared = whole_marks(tail, common_start(tail, lead).len());
    let (surplus, rest) = (slice(tail, shared..), lead.get(shared..).unwrap_or(""));
    let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).rev();
    let ends = ends.filter(|end| *end <= LONGEST_HEADER && whole_marks(rest, *end) == *end);
    let mut found = ends.filter_map(|end| {
        let header = rest.get(..end).filter(|header| !header.trim().is_empty())?;
        let at = surplus.rfind(header)?;
        (whole_marks(slice(surplus, at..), end) == end).then_some(at)
    });
    match found.next() {
        Some(length) => {
            let shift = Shift { from: shared, prompts: length, turns: 0 };
            (format!("{}{}", slice(tail, ..shared), slice(surplus, length..)), shift)
        }
        None => respaced(tail, lead, shared),
    }
}

/// The end of a prompt with the white space of a turn, if the turn's text up to its first value is in it.
fn respaced(tail: &str, lead: &str, shared: usize) -> (String, Shift) {
    let (ours, theirs) = loosely_shared(tail, lead);
    let is_whole = slice(lead, theirs..).trim().is_empty() && slice(lead, ..theirs).contains(char::is_alphanumeric);
    if ours <= shared || !is_whole {
        return (tail.to_owned(), Shift { from: tail.len(), prompts: 0, turns: 0 });
    }
    // White space after the header counts only if both have it.
    let space = common_start(slice(tail, ours..), slice(lead, theirs..));
    let space = space.len() - space.trim_start().len();
    let (ours, theirs) = (ours + space, theirs + space);
    let shift = Shift { from: shared, prompts: ours - shared, turns: theirs - shared };
    (format!("{}{}", slice(lead, ..theirs), slice(tail, ours..)), shift)
}

/// Whether a turn begins with whole marks of a header.
pub(super) fn begins_with(turn: &str, header: &str) -> bool {
    let header = header.trim_start();
    let shared = common_start(header, turn.trim_start());
    !slice(shared, ..whole_marks(header, shared.len())).trim().is_empty()
}

/// The last position up to `end` that does not split a bracketed or starred mark: two marks may begin with the same
/// characters.
pub(super) fn whole_marks(text: &str, end: usize) -> usize {
    const OPENING: &str = "<[{(«「『【《〈⟦⟨‹｢";
    const CLOSING: &str = ">]})»」』】》〉⟧⟩›｣";
    let Some(shown) = text.get(..end).filter(|shown| shown.len() < text.len()) else { return end };
    let mut open: Vec<(char, usize)> = Vec::new();
    for (at, c) in shown.char_indices() {
        if let Some((_, close)) = OPENING.chars().zip(CLOSING.chars()).find(|(open, _)| *open == c) {
            open.push((close, at));
        } else if c == '\n' {
            open.clear();
        } else if let Some(i) = open.iter().rposition(|(close, _)| *close == c) {
            open.truncate(i);
        }
    }
    let end = open.first().map_or(end, |(_, at)| *at);
    let shown = slice(text, ..end);
    if !text.get(end..).is_some_and(|rest| rest.starts_with(is_word)) {
        return end;
    }
    // A word begins or continues here, and belongs to the punctuation before it.
    let before = shown.trim_end_matches(is_word);
    before.trim_end_matches(['*', '#', '=', '~', '$', '%', '@', '^', '|']).len()
}

/// The text before the mark that opens reasoning in a prompt's surplus, such as a header that turns lack; empty if there
/// is no such text or no such mark.
pub(super) fn before_opening<'s>(surplus: &'s str, open: &str) -> &'s str {
    let written = surplus.trim_end();
    let words = Segmentation::Words;
    let last = || words.last(written).filter(|mark| words.is_distinctive(mark));
    let mark = if open.is_empty() { last() } else { Some(open) };
    let header = mark.and_then(|mark| written.rfind(mark)).map(|at| slice(surplus, ..at));
    header.filter(|header| !header.trim().is_empty()).map_or("", |header| header)
}

/// How much of a turn's start the end of the prompt already has, ignoring white space.
pub(super) fn repeated(surplus: &str, turn: &str) -> usize {
    if surplus.trim().is_empty() {
        return overlap(surplus, turn);
    }
    let lead = turn.len() - turn.trim_start().len();
    let rest = slice(turn, lead..);
    match overlap(surplus, rest).max(overlap(surplus.trim_end(), rest)) {
        0 => 0,
        shared => lead + shared,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_aligned_with_the_header_of_a_turn() {
        for (tail, lead, aligned_tail, [from, prompts, turns]) in [
            ("?<end><bot>", "?<end><bot>", "?<end><bot>", [11, 0, 0]),
            ("?<end>[be brief]<bot>", "?<end><bot>", "?<end><bot>", [6, 10, 0]),
            ("?    <bot><think>", "?<bot></think>", "?<bot><think>", [1, 4, 0]),
            // The header of prompts alone, and the thought that they open.
            ("?<end><reply>", "?<end><turn>", "?<end><reply>", [13, 0, 0]),
            ("?<bot><think>", "?<bot>", "?<bot><think>", [13, 0, 0]),
            ("?Assistant says: ", "?A: ", "?Assistant says: ", [17, 0, 0]),
            // A header that turns indent differently, with the thought that the prompt writes after it.
            ("?\nBot: <think></think>", "?\n    Bot: ", "?\n    Bot: <think></think>", [2, 5, 9]),
        ] {
            assert_eq!(aligned(tail, lead), (aligned_tail.to_owned(), Shift { from, prompts, turns }), "{tail} {lead}");
        }
    }

    #[test]
    fn a_cut_does_not_split_a_mark() {
        for (text, end, whole) in [
            // `<think>` and `<tool>` share a bracket and a letter.
            ("<bot>\n<think>", 8, 6),
            ("<bot>\n<think>", 6, 6),
            ("<bot>\n", 6, 6),
            ("say hello", 5, 4),
            ("**think", 3, 0),
            // A bracket of an earlier line was never closed.
            ("a < b\nc", 6, 6),
        ] {
            assert_eq!(whole_marks(text, end), whole, "{text:?} {end}");
        }
    }

    #[test]
    fn the_text_before_the_opening_is_a_header_unless_it_is_blank() {
        for (surplus, open, header) in [
            ("<header>\n<think>\n", "<think>", "<header>\n"),
            ("\n<think>", "<think>", ""),
            ("<header><think>", "", "<header>"),
            ("<think>", "<other>", ""),
        ] {
            assert_eq!(before_opening(surplus, open), header, "{surplus:?} {open}");
        }
    }

    #[test]
    fn text_that_the_prompt_already_wrote_is_repeated() {
        // The prompt has already written the mark, with or without white space around it.
        assert_eq!(
            [repeated("<think>\n", "<think>\nHm"), repeated("<think>\n", "\n<think>Hm"), repeated("x", "y")],
            [8, 8, 0]
        );
    }
}
