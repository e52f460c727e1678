//! Classifies the text around calls and at the end of turns: which marks are safe delimiters.

use crate::wire::marks;
use crate::wire::structure::WireFormat;
use backchat_probe::probe::steady::is_varying;

impl WireFormat {
    /// Whether a text is safe to read as the end of content: neither prose nor only punctuation of Markdown, JSON or code.
    pub(super) fn is_distinct(&self, text: &str) -> bool {
        let is_sign = |c: Option<char>| c.is_some_and(|c| !c.is_alphanumeric());
        let plain = |c: char| c.is_whitespace() || "\"'`*_#-=.,:;!()[]{}<>/".contains(c);
        let is_safe = self.segmentation.is_distinctive(text)
            || is_tag(text)
            || is_nameless_closer(text)
            || text.chars().count() >= 3
                && is_sign(text.chars().next())
                && is_sign(text.chars().next_back())
                && !text.contains(char::is_whitespace)
                && !text.chars().all(plain);
        is_safe && !is_value_alone(text)
    }

    /// Whether a mark looks like a special token rather than a tag that people also write: it has a bar in its brackets.
    pub(super) fn is_token(&self, mark: &str) -> bool {
        self.is_distinct(mark) && mark.contains(['|', '｜'])
    }

    /// Whether a distinctive mark is whole: no value interrupts it.
    pub(super) fn is_closed_mark(&self, mark: &str) -> bool {
        self.segmentation.is_distinctive(mark)
            && mark.chars().next().is_some_and(marks::is_opening)
            && mark.ends_with(marks::is_closing)
    }

    /// The stops that also end reasoning and calls. One that looks like a closing tag does not: a value may contain it.
    pub(super) fn sure_stops(&self) -> impl Iterator<Item = &str> {
        let is_sure = |stop: &&str| self.segmentation.is_distinctive(stop) && !stop.starts_with("</");
        self.stops.iter().map(String::as_str).filter(is_sure)
    }

    /// The marks of a section's end, each with the punctuation before it that is not distinctive alone.
    pub(super) fn section_marks<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let text = text.trim();
        let mut groups = Vec::new();
        let mut start = 0;
        for (place, _) in self.segmentation.placed(text).filter(|(_, mark)| self.segmentation.is_distinctive(mark)) {
            groups.extend(text.get(start..place.end).map(str::trim));
            start = place.end;
        }
        if groups.is_empty() && !text.is_empty() {
            groups.push(text);
        }
        groups
    }
}

/// Whether a text is a time, a number or a word that varies, which prose has in brackets, too, but not in those of a special
/// token or a closing tag.
pub(super) fn is_value_alone(text: &str) -> bool {
    let is_framed = ["<|", "</", "[/"].iter().any(|lead| text.trim_start().starts_with(lead));
    text.contains(is_varying) && !text.contains(char::is_alphabetic) && !is_framed
}

/// Whether a text is a tag without brackets: punctuation and a word.
fn is_tag(text: &str) -> bool {
    let word = text.trim_start_matches(['@', '#', '$', '%', '~', '^']);
    word.len() < text.len() && word.chars().count() > 2 && word.chars().all(char::is_alphanumeric)
}

/// Whether a text is a closing tag without a name, which prose does not contain and code hardly does.
fn is_nameless_closer(text: &str) -> bool {
    matches!(text.as_bytes(), [open, b'/', shut] if marks::is_opening((*open).into()) && marks::is_closing((*shut).into()))
}

#[cfg(test)]
mod tests {
    use crate::derive::by_hand::wire;
    use crate::wire::marks::Segmentation;
    use crate::wire::structure::WireFormat;

    #[test]
    fn only_a_text_that_no_prose_contains_ends_content() {
        let table = [
            ("<end>", true),
            ("[/INST]", true),
            ("@end", true),
            // Two letters after punctuation may be a name in prose.
            ("@me", false),
            ("</>", true),
            ("/>", false),
            ("|||", true),
            ("end", false),
            ("\n\n", false),
            ("```", false),
            ("***", false),
            ("<!--", false),
            ("}]", false),
            ("", false),
        ];
        for (text, is_safe) in table {
            assert_eq!(wire().is_distinct(text), is_safe, "{text:?}");
        }
    }

    #[test]
    fn a_mark_is_a_token_a_whole_mark_or_a_sure_stop() {
        for (mark, token, closed, sure) in [
            ("<|end|>", true, true, true),
            ("<end>", false, true, true),
            // Reasoning may contain a closing tag.
            ("</s>", false, true, false),
            // A value interrupts it.
            ("<tool=", false, false, true),
            ("end", false, false, false),
        ] {
            let wire = WireFormat { stops: vec![mark.to_owned()], ..wire() };
            let found = (wire.is_token(mark), wire.is_closed_mark(mark), wire.sure_stops().count() == 1);
            assert_eq!(found, (token, closed, sure), "{mark:?}");
        }
    }

    #[test]
    fn punctuation_belongs_to_the_mark_after_it() {
        let table: [(&str, &[&str]); 5] = [
            ("]</calls>", &["]</calls>"]),
            ("</calls>\n</turn>", &["</calls>", "</turn>"]),
            (" </calls> ", &["</calls>"]),
            ("]", &["]"]),
            (" ", &[]),
        ];
        for (text, marks) in table {
            assert_eq!(wire().section_marks(text), marks, "{text:?}");
        }
    }

    #[test]
    fn a_header_begins_at_the_last_mark_or_is_the_whole_text() {
        for (text, header) in [("hi <a> <b>x", "<b>x"), ("<a>", "<a>"), ("plain", "plain"), ("", "")] {
            assert_eq!(Segmentation::Words.from_last(text), header, "{text:?}");
        }
    }
}
