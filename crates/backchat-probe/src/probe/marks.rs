//! Splits text into marks: the smallest units that no two parts of a wire share.
//!
//! Appearance suggests only where to split, never what a mark means. A bracketed word is one mark, in any script; so is
//! a word between two equal punctuation characters, and a bracket that a value interrupts. White space always separates
//! marks.

use std::ops::Range;
use std::sync::LazyLock;

use super::steady::is_varying;
use backchat_chat::charge;
use backchat_core::text::slice;
use backchat_core::unicode::{CharSet, union};

/// The punctuation that forms one mark with the word after it.
const LEADING: &str = "@#$%~^";

/// How many bytes are split in the time of one step of the evaluator.
const BYTES_PER_STEP: usize = 4;

/// The longest mark that is recognized as one.
const LONGEST: usize = 96;

/// How to resolve ambiguous ends of marks, the simplest reading first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Segmentation {
    /// Every bracketed word is a mark.
    #[default]
    Words,
    /// Two bracketed words with plain words in between are one mark.
    Spans,
    /// A word is one mark with the punctuation before it, or with doubled brackets or underscores on one side.
    Signs,
}

impl Segmentation {
    pub const ALL: [Segmentation; 3] = [Segmentation::Words, Segmentation::Spans, Segmentation::Signs];

    /// The readings in the order to try them, for a template with these literals.
    pub fn ordered(literals: &[String]) -> [Segmentation; 3] {
        let [words, spans, signs] = Self::ALL;
        // If two such marks are adjacent, the punctuation of the second would seem to close the first.
        if literals.iter().any(|literal| has_led_word(literal)) { [signs, words, spans] } else { Self::ALL }
    }

    /// The marks of a text, which together are the text. After the end of the examination it is one mark.
    pub fn marks(self, text: &str) -> Vec<&str> {
        if !charge(text.len() / BYTES_PER_STEP) {
            return vec![text];
        }
        let mut found = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let length = self.length(rest, first);
            found.push(slice(rest, ..length));
            rest = slice(rest, length..);
        }
        found
    }

    /// The marks of a text, each with its place in bytes.
    pub fn placed(self, text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
        self.marks(text).into_iter().scan(0, |at, mark| {
            *at += mark.len();
            Some((*at - mark.len()..*at, mark))
        })
    }

    /// A text from its last distinctive mark on; all of it if it has none.
    pub fn from_last(self, text: &str) -> &str {
        let last = self.placed(text).filter(|(_, mark)| self.is_distinctive(mark)).last();
        last.map_or(text, |(place, _)| slice(text, place.start..))
    }

    /// A text up to the end of its first distinctive mark; all of it if it has none.
    pub fn to_first(self, text: &str) -> &str {
        let first = self.placed(text).find(|(_, mark)| self.is_distinctive(mark));
        first.map_or(text, |(place, _)| slice(text, ..place.end))
    }

    /// The common beginning of two texts, in whole marks.
    pub fn shared_start<'a>(self, a: &'a str, b: &str) -> &'a str {
        let shared: usize =
            self.marks(a).iter().zip(self.marks(b)).take_while(|(x, y)| **x == *y).map(|(x, _)| x.len()).sum();
        slice(a, ..shared)
    }

    /// The common end of two texts, in whole marks.
    pub fn shared_end<'a>(self, a: &'a str, b: &str) -> &'a str {
        let (ours, theirs) = (self.marks(a), self.marks(b));
        let pairs = ours.iter().rev().zip(theirs.iter().rev());
        let shared: usize = pairs.take_while(|(x, y)| x == y).map(|(x, _)| x.len()).sum();
        slice(a, a.len() - shared..)
    }

    /// The first mark that is not white space.
    pub fn first(self, text: &str) -> Option<&str> {
        self.marks(text.trim_start()).first().copied()
    }

    /// The last mark that is not white space.
    pub fn last(self, text: &str) -> Option<&str> {
        self.marks(text.trim_end()).last().copied()
    }

    /// Whether a text is a mark that prose and code do not contain by chance: a bracketed word, one between punctuation, or
    /// more signs in angle brackets than an operator has.
    pub fn is_distinctive(self, text: &str) -> bool {
        self.marks(text).iter().any(|mark| {
            let word = mark.chars().filter(|c| c.is_alphanumeric() || is_varying(*c)).count();
            let signs = mark.chars().filter(|c| !c.is_alphanumeric() && !is_varying(*c) && !c.is_whitespace()).count();
            let is_bracketed = mark.starts_with('<') && mark.trim_end().ends_with('>');
            word >= 1 && signs >= 2 && word + signs >= 3 || is_bracketed && signs >= 4
        })
    }

    /// Whether two marks share a word, as most pairs of opening and closing marks do. A word that marks of `others`
    /// also have, such as a prefix of every mark, does not count unless `b` has no other.
    pub fn share_a_word(self, a: &str, b: &str, others: &str) -> bool {
        let has = |mark: &str, word: &str| self.words(mark).any(|own| own.eq_ignore_ascii_case(word));
        let others = self.marks(others);
        let mut words: Vec<&str> = self.words(b).collect();
        if words.iter().any(|word| !others.iter().any(|mark| has(mark, word))) {
            words.retain(|word| !others.iter().any(|mark| has(mark, word)));
        }
        words.into_iter().any(|word| has(a, word))
    }

    /// The words of a mark, without those that only distinguish opening and closing.
    fn words(self, mark: &str) -> impl Iterator<Item = &str> {
        // Between two brackets, the words in between count.
        let inner = mark.split_once(is_closing).and_then(|(_, rest)| Some(rest.rsplit_once(is_opening)?.0));
        let is_span = self == Segmentation::Spans && inner.is_some_and(|inner| !inner.trim().is_empty());
        inner
            .filter(|_| is_span)
            .unwrap_or(mark)
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty() && !["start", "end", "begin", "of", "START", "END", "BEGIN"].contains(word))
    }

    /// The length of the mark that begins here.
    fn length(self, text: &str, first: char) -> usize {
        let whole = first.len_utf8();
        if first.is_whitespace() {
            return whole;
        }
        if let Some(length) = signed(text, first).filter(|_| self == Segmentation::Signs) {
            return length;
        }
        if is_word(first) {
            return run(text, is_word);
        }
        if is_opening(first) {
            let alone = bracketed(text, first).unwrap_or(whole);
            let is_span = self == Segmentation::Spans && alone > whole;
            return alone + if is_span { spanned(slice(text, alone..), first) } else { 0 };
        }
        let same = run(text, |c| c == first);
        if first == '`' {
            // One fence may directly follow another.
            let fence = same.min(3);
            let language = text.get(fence..).map_or(0, |rest| run(rest, is_word));
            return fence + language;
        }
        if !is_closing(first) {
            // These separate words in prose and code; doubled on both sides they are brackets.
            let parts_words = "\"',:;=.-/\\?!&".contains(first);
            let closing = |c: char| c == first || !first.is_ascii() && !c.is_ascii() && !is_word(c);
            let is_mark = |end: &usize| {
                !parts_words || same > whole && slice(text, ..same + end).strip_suffix(slice(text, ..same)).is_some()
            };
            if let Some(end) = between_signs(slice(text, same..), same / whole, closing).filter(is_mark) {
                return same + end;
            }
        }
        // Punctuation before a word forms one mark with it.
        let word = text.get(same..).map_or(0, |rest| run(rest, is_word));
        same + if LEADING.contains(first) { word } else { 0 }
    }
}

/// Whether a text has doubled punctuation before a word, but not after it.
fn has_led_word(text: &str) -> bool {
    text.char_indices().any(|(at, sign)| {
        let from = slice(text, at..);
        let signs = run(from, |c| c == sign);
        let after = slice(from, signs..);
        let word = run(after, is_word);
        let follows_word = slice(text, ..at).ends_with(|c| c == sign || is_word(c));
        !follows_word && LEADING.contains(sign) && signs > 1 && word > 0 && !slice(after, word..).starts_with(sign)
    })
}

/// A word that is a mark by the punctuation on one side of it.
fn signed(text: &str, first: char) -> Option<usize> {
    let word = |from: usize| {
        let rest = slice(text, from..);
        let length = run(rest, |c| is_word(c) || c == '-');
        from + slice(rest, ..length).find("__").unwrap_or(length)
    };
    let second = slice(text, first.len_utf8()..).chars().next();
    let (doubled, is_doubled) = (2 * first.len_utf8(), second == Some(first));
    if is_doubled && first == '_' {
        let end = word(doubled);
        return (end > doubled && slice(text, end..).starts_with("__")).then_some(end + doubled);
    }
    if first.is_alphanumeric() {
        let end = word(0);
        let closing = slice(text, end..);
        let is_mark = ["))", "}}", "]]"].iter().any(|signs| closing.starts_with(signs));
        return Some(if is_mark { end + 2 } else { end });
    }
    if is_doubled && is_opening(first) {
        let end = word(doubled);
        return (end > doubled && bracketed(text, first).is_none()).then_some(end);
    }
    if LEADING.contains(first) || first == '/' {
        let from = run(text, |c| c == first);
        let end = word(from);
        let colon = usize::from(first == '/' && slice(text, end..).starts_with(':'));
        return (end > from).then_some(end + colon);
    }
    None
}

/// How far a mark continues in plain words and another bracket of its kind; up to the end if a value interrupts it.
fn spanned(rest: &str, open: char) -> usize {
    let words = run(rest, |c| is_word(c) || " =\"'.-".contains(c));
    let begins = rest.starts_with(is_word) && words <= LONGEST;
    match rest.get(words..).and_then(|from_sign| Some((from_sign, from_sign.chars().next()?))) {
        _ if !begins => 0,
        Some((from_sign, c)) if c == open => bracketed(from_sign, open).map_or(0, |length| words + length),
        Some(_) => 0,
        None => words,
    }
}

/// A bracket with its content; up to the end of the text if a value interrupts it.
fn bracketed(text: &str, open: char) -> Option<usize> {
    let from = run(text, |c| c == open);
    let after = text.get(from..)?;
    let is_mark = after.chars().next().is_some_and(|c| is_word(c) || "|/｜!@#$▁:*".contains(c));
    // Brackets of code and JSON enclose anything; a mark begins with its word.
    if "{([".contains(open) && (!is_mark || open != '[') {
        return None;
    }
    for (at, c) in after.char_indices() {
        if closes(open, c) {
            let end = from + at;
            return Some(end + closing_run(slice(text, end..), c, from / open.len_utf8()));
        }
        if c == '\n' || c == open || at > LONGEST {
            return None;
        }
    }
    is_mark.then_some(text.len())
}

/// Words up to closing punctuation, without a line break in between.
fn between_signs(text: &str, signs: usize, closing: impl Fn(char) -> bool) -> Option<usize> {
    let mut has_word = false;
    for (at, c) in text.char_indices() {
        if closing(c) {
            return has_word.then(|| at + closing_run(slice(text, at..), c, signs));
        }
        if at == 0 && c == ' ' || !(is_word(c) || c == ' ' || c == '/') || at > LONGEST {
            return None;
        }
        has_word |= is_word(c);
    }
    None
}

/// The length of the closing punctuation at the start of a text: at most as many characters as opened the mark.
fn closing_run(text: &str, sign: char, most: usize) -> usize {
    text.chars().take_while(|c| *c == sign).take(most).map(char::len_utf8).sum()
}

fn run(text: &str, test: impl Fn(char) -> bool) -> usize {
    text.chars().take_while(|c| test(*c)).map(char::len_utf8).sum()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || is_varying(c)
}

/// Whether a character opens a bracket, of any script.
pub fn is_opening(c: char) -> bool {
    c == '<' || OPENING.contains(c)
}

/// Whether a character closes a bracket, of any script.
pub fn is_closing(c: char) -> bool {
    c == '>' || CLOSING.contains(c)
}

/// Whether a character closes this bracket.
fn closes(open: char, c: char) -> bool {
    match open {
        '<' => c == '>',
        '[' => c == ']',
        _ => is_closing(c) && !c.is_ascii(),
    }
}

static OPENING: LazyLock<CharSet> = LazyLock::new(|| union(&["Ps", "Pi"]));
static CLOSING: LazyLock<CharSet> = LazyLock::new(|| union(&["Pe", "Pf"]));

/// The closing counterpart of an opening mark, by convention.
pub fn counterpart(open: &str) -> Option<String> {
    for (from, to) in [("start", "end"), ("begin", "end"), ("START", "END"), ("BEGIN", "END")] {
        if open.contains(from) {
            return Some(open.replacen(from, to, 1));
        }
    }
    let first = open.chars().next().filter(|c| is_opening(*c))?;
    Some(format!("{first}/{}", open.get(first.len_utf8()..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_split_into_marks() {
        let table: [(&str, &[&str]); 18] = [
            (" @done\n", &[" ", "@done", "\n"]),
            ("</call></calls>", &["</call>", "</calls>"]),
            ("<|im_end|>\n<|im_start|>", &["<|im_end|>", "\n", "<|im_start|>"]),
            ("<｜tool▁call▁begin｜>x", &["<｜tool▁call▁begin｜>", "x"]),
            ("⟦call⟧⟦/call⟧", &["⟦call⟧", "⟦/call⟧"]),
            ("「call」", &["「call」"]),
            ("*end call**call*", &["*end call*", "*call*"]),
            ("[CALLS][{", &["[CALLS]", "[", "{"]),
            ("<call name=\"", &["<call name=\""]),
            ("<call>\n```json\n", &["<call>", "\n", "```json", "\n"]),
            ("``````tool", &["```", "```tool"]),
            ("### User:", &["###", " ", "User", ":"]),
            ("<<SYS>>", &["<<SYS>>"]),
            ("a < b", &["a", " ", "<", " ", "b"]),
            ("◁think▷", &["◁think▷"]),
            (")], ", &[")", "]", ",", " "]),
            ("::/think::::call::f", &["::/think::", "::call::", "f"]),
            ("std::vec: a == b", &["std", "::", "vec", ":", " ", "a", " ", "==", " ", "b"]),
        ];
        for (text, expected) in table {
            assert_eq!(Segmentation::Words.marks(text), expected, "{text:?}");
        }
    }

    #[test]
    fn signs_on_one_side_make_a_mark_in_the_signs_reading() {
        let table: [(&str, &[&str]); 8] = [
            ("@@tools@@fn\nx", &["@@tools", "@@fn", "\n", "x"]),
            ("%%%end-call%%%", &["%%%end-call", "%%%"]),
            ("((call{", &["((call", "{"]),
            ("}call))((end", &["}", "call))", "((end"]),
            ("__run__get_time__with__", &["__run__", "get_time", "__with__"]),
            ("a__end__", &["a", "__end__"]),
            ("/say:/end-say:x", &["/say:", "/end-say:", "x"]),
            ("</call>[[x]]", &["</call>", "[[x]]"]),
        ];
        for (text, expected) in table {
            assert_eq!(Segmentation::Signs.marks(text), expected, "{text:?}");
        }
    }

    #[test]
    fn literals_decide_which_segmentation_is_tried_first() {
        let first = |literal: &str| Segmentation::ordered(&[literal.to_owned()])[0];
        for literal in ["@@fn\n", "<a>%%end-call\n", "##tool"] {
            assert_eq!(first(literal), Segmentation::Signs, "{literal:?}");
        }
        for literal in ["", "::fn::", "@@fn@@", "## Tool", "@fn", "$$x$$y", "<<SYS>>", "$$"] {
            assert_eq!(first(literal), Segmentation::Words, "{literal:?}");
        }
    }

    #[test]
    fn a_mark_closes_with_as_many_characters_as_it_opens_with() {
        let table: [(&str, &[&str]); 4] = [
            // The opening and closing characters differ in bytes.
            ("「call»»x", &["「call»", "»", "x"]),
            ("«call」x", &["«call」", "x"]),
            ("→call··x", &["→call·", "·", "x"]),
            ("««call»»»", &["««call»»", "»"]),
        ];
        for (text, expected) in table {
            assert_eq!(Segmentation::Words.marks(text), expected, "{text:?}");
        }
    }

    #[test]
    fn shared_texts_are_whole_marks() {
        assert_eq!(Segmentation::Words.shared_start("</call></calls>", "</call><call>"), "</call>");
        assert_eq!(Segmentation::Words.shared_end("<calls><call>", "</call><call>"), "<call>");
        assert_eq!(Segmentation::Words.shared_start("<|a|>", "<|b|>"), "");
    }

    #[test]
    fn a_distinctive_mark_has_a_word_or_more_signs_than_an_operator() {
        for text in ["</s>", "[INST]", "<|1|>", "<|/|>", "say <|end|>"] {
            assert!(Segmentation::Words.is_distinctive(text), "{text}");
        }
        for text in ["word", "<->", "<=>", "<>", "[]", "{}", "}]}]", "\n\n", ""] {
            assert!(!Segmentation::Words.is_distinctive(text), "{text}");
        }
    }

    #[test]
    fn marks_of_one_thing_share_a_word() {
        for (a, b, others, share) in [
            ("<think>", "</think>", "", true),
            ("<|begin_of_thought|>", "<|end_of_thought|>", "<|end_of_turn|>", true),
            ("<|start_header|>", "<|start_thought|>", "", false),
            // A word that every mark has does not pair two of them.
            ("<ns:bot>", "</ns:think>", "<ns:end>", false),
            ("<NS:Think>", "</ns:think>", "<|x|><ns:end>", true),
            ("<ns>", "</ns>", "<ns:end>", true),
        ] {
            assert_eq!(Segmentation::Words.share_a_word(a, b, others), share, "{a} {b} {others}");
        }
    }
}
