//! The comparisons of the [machine](super::machine) with the text: literals, assertions, back-references.

use super::haystack::{Edge, Haystack};
use super::machine::{Attempt, BYTES_PER_UNIT};
use super::tree::Assertion;
use backchat_core::python::text::is_word;
use backchat_core::unicode::CharSet;

/// The cost of folding a character, in units of work.
const FOLD: usize = 64;

/// The cost of finding out whether two characters have other cases.
const CASED: usize = 40;

/// The cost of finding the other cases of a character.
const CASES: usize = 1500;

/// The cost of finding out whether a character beyond ASCII belongs to a word.
const WORD: usize = 12;

impl Attempt {
    /// Compares by full case folding; `None` if only more text can decide.
    pub(super) fn folded(&mut self, wanted: &[char], behind: bool, hay: Haystack<'_>) -> Option<bool> {
        let mut wanted = wanted.iter();
        let mut at = self.at;
        while wanted.len() > 0 {
            let (c, next) = match hay.beside(at, behind) {
                Some(beside) => beside,
                None if behind || hay.edge == Edge::End => return Some(false),
                None => return None,
            };
            self.charge(FOLD);
            let mut folded: Vec<char> = super::class::full_fold(c).collect();
            if behind {
                folded.reverse();
            }
            if !folded.iter().all(|&c| wanted.next().is_some_and(|&wanted| self.same(wanted, c, true))) {
                return Some(false);
            }
            at = next;
        }
        self.at = at;
        Some(true)
    }

    /// Whether an assertion holds at a position; `None` if only more text can decide.
    pub(super) fn holds(&mut self, assertion: Assertion, hay: Haystack<'_>) -> Option<bool> {
        let at = self.at;
        let at_end = at == hay.end();
        if at_end
            && hay.edge == Edge::Open
            && !matches!(assertion, Assertion::Start | Assertion::LineStart | Assertion::SearchStart)
        {
            return None;
        }
        self.charge(match assertion {
            _ if hay.bytes_after(at).first().is_none_or(u8::is_ascii) => 0,
            Assertion::WordBoundary | Assertion::NotWordBoundary | Assertion::WordStart | Assertion::WordEnd => WORD,
            _ => 0,
        });
        let word_before = || hay.char_before(at).is_some_and(is_word);
        let word_after = || hay.char_at(at).is_some_and(is_word);
        Some(match assertion {
            Assertion::Start => at == 0,
            Assertion::LineStart => at == 0 || hay.char_before(at) == Some('\n'),
            Assertion::End => at_end,
            Assertion::EndOrFinalNewline => match hay.bytes_after(at) {
                [] => true,
                [b'\n'] if hay.edge == Edge::Open => return None,
                [b'\n'] => true,
                _ => false,
            },
            Assertion::LineEnd => at_end || hay.bytes_after(at).first() == Some(&b'\n'),
            Assertion::WordBoundary => word_before() != word_after(),
            Assertion::NotWordBoundary => word_before() == word_after(),
            Assertion::WordStart => !word_before() && word_after(),
            Assertion::WordEnd => word_before() && !word_after(),
            Assertion::SearchStart => at == self.search_start,
        })
    }

    /// A back-reference: the text of a group again; `None` if only more text can decide.
    pub(super) fn backref(&mut self, group: usize, fold: bool, behind: bool, hay: Haystack<'_>) -> Option<bool> {
        let Some((start, end)) = self.group(group) else { return Some(false) };
        let wanted = hay.between(start, end);
        if !fold && !behind {
            let found = self.literal(wanted.as_bytes(), hay);
            self.at += if found == Some(true) { wanted.len() } else { 0 };
            return found;
        }
        let (mut at, mut chars) = (self.at, wanted.chars());
        while let Some(c) = if behind { chars.next_back() } else { chars.next() } {
            match hay.beside(at, behind) {
                Some((other, next)) if self.same(c, other, fold) => at = next,
                None if !behind && hay.edge != Edge::End => return None,
                _ => return Some(false),
            }
        }
        self.at = at;
        Some(true)
    }

    /// Compares a literal with the text; `None` if only more text can decide.
    pub(super) fn literal(&mut self, wanted: &[u8], hay: Haystack<'_>) -> Option<bool> {
        let there = hay.bytes_after(self.at);
        if let (Some(first), Some(wanted)) = (there.first(), wanted.first())
            && first != wanted
        {
            return Some(false);
        }
        self.charge(wanted.len() / BYTES_PER_UNIT);
        if there.len() >= wanted.len() {
            return Some(there.starts_with(wanted));
        }
        if hay.edge != Edge::End && wanted.starts_with(there) { None } else { Some(false) }
    }

    /// Whether two characters are the same, or with `fold` differ only in case.
    fn same(&mut self, one: char, other: char, fold: bool) -> bool {
        // Each byte beyond the first costs about a nanosecond to decode.
        self.charge(1 + one.len_utf8());
        if one == other || !fold {
            return one == other;
        }
        if one.is_ascii() && other.is_ascii() {
            return one.eq_ignore_ascii_case(&other);
        }
        self.charge(CASED);
        if !is_cased(one) || !is_cased(other) {
            return false;
        }
        self.charge(CASES);
        let mut set = CharSet::of(one, one);
        set.fold();
        set.contains(other)
    }
}

/// Whether a character has another case. One without can only equal itself.
fn is_cased(c: char) -> bool {
    !c.to_lowercase().eq([c]) || !c.to_uppercase().eq([c])
}
