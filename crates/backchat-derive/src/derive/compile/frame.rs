//! The text around calls and at the end of turns, as marks that other parts must leave alone or swallow.

use crate::wire::marks::{self, Segmentation};

/// Whether a text can safely be read as the end of content: no words of prose, no signs of Markdown, JSON and code
/// alone.
pub(super) fn is_distinct(segmentation: Segmentation, text: &str) -> bool {
    let is_sign = |c: Option<char>| c.is_some_and(|c| !c.is_alphanumeric());
    let plain = |c: char| c.is_whitespace() || "\"'`*_#-=.,:;()[]{}<>/".contains(c);
    segmentation.is_distinctive(text)
        || is_tag(text)
        || is_nameless_closer(text)
        || text.chars().count() >= 3
            && is_sign(text.chars().next())
            && is_sign(text.chars().next_back())
            && !text.contains(char::is_whitespace)
            && !text.chars().all(plain)
}

/// Whether a text is punctuation and a word, the way tags without brackets are marked.
fn is_tag(text: &str) -> bool {
    let word = text.trim_start_matches(['@', '#', '$', '%', '~', '^']);
    word.len() < text.len() && word.chars().count() > 2 && word.chars().all(char::is_alphanumeric)
}

/// Whether a text is a closing tag without a name, which does not occur in prose and hardly in code.
fn is_nameless_closer(text: &str) -> bool {
    matches!(text.as_bytes(), [open, b'/', shut] if marks::is_opening((*open).into()) && marks::is_closing((*shut).into()))
}

/// Whether a mark looks like a token of its own rather than a tag that people write too: it has a bar in its brackets.
pub(super) fn is_token(segmentation: Segmentation, mark: &str) -> bool {
    is_distinct(segmentation, mark) && mark.contains(['|', '｜'])
}

/// Whether a distinctive mark is whole: no value interrupts it.
pub(super) fn is_closed_mark(segmentation: Segmentation, mark: &str) -> bool {
    segmentation.is_distinctive(mark)
        && mark.chars().next().is_some_and(marks::is_opening)
        && mark.ends_with(marks::is_closing)
}

/// Whether a stop ends more than content: one that looks like a closing tag may be text of a thought or a value.
pub(super) fn is_sure(segmentation: Segmentation, stop: &str) -> bool {
    segmentation.is_distinctive(stop) && !stop.starts_with("</")
}

/// The marks of a section's end, each with the signs beside it that would not be distinctive alone.
pub(super) fn section_marks(segmentation: Segmentation, text: &str) -> Vec<&str> {
    let text = text.trim();
    let mut groups = Vec::new();
    let mut start = 0;
    for (place, _) in segmentation.placed(text).filter(|(_, mark)| segmentation.is_distinctive(mark)) {
        groups.extend(text.get(start..place.end).map(str::trim));
        start = place.end;
    }
    if groups.is_empty() && !text.is_empty() {
        groups.push(text);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_text_that_no_prose_contains_ends_content() {
        let table = [
            ("<end>", true),
            ("[/INST]", true),
            ("@end", true),
            // Two letters after a sign are a name in prose.
            ("@me", false),
            ("</>", true),
            ("/>", false),
            ("|||", true),
            ("end", false),
            ("\n\n", false),
            ("```", false),
            ("***", false),
            ("}]", false),
            ("", false),
        ];
        for (text, is_safe) in table {
            assert_eq!(is_distinct(Segmentation::Words, text), is_safe, "{text:?}");
        }
    }

    #[test]
    fn a_mark_is_a_token_a_whole_mark_or_a_sure_stop() {
        for (mark, token, closed, sure) in [
            ("<|end|>", true, true, true),
            ("<end>", false, true, true),
            // Text of a thought may hold a closing tag.
            ("</s>", false, true, false),
            // A value interrupts it.
            ("<tool=", false, false, true),
            ("end", false, false, false),
        ] {
            assert_eq!(
                (
                    is_token(Segmentation::Words, mark),
                    is_closed_mark(Segmentation::Words, mark),
                    is_sure(Segmentation::Words, mark)
                ),
                (token, closed, sure),
                "{mark:?}"
            );
        }
    }

    #[test]
    fn a_sign_goes_with_the_mark_after_it() {
        let table: [(&str, &[&str]); 5] = [
            ("]</calls>", &["]</calls>"]),
            ("</calls>\n</turn>", &["</calls>", "</turn>"]),
            (" </calls> ", &["</calls>"]),
            ("]", &["]"]),
            (" ", &[]),
        ];
        for (text, marks) in table {
            assert_eq!(section_marks(Segmentation::Words, text), marks, "{text:?}");
        }
    }

    #[test]
    fn a_header_begins_at_the_last_mark_or_is_all_of_the_text() {
        for (text, header) in [("hi <a> <b>x", "<b>x"), ("<a>", "<a>"), ("plain", "plain"), ("", "")] {
            assert_eq!(Segmentation::Words.from_last(text), header, "{text:?}");
        }
    }
}
