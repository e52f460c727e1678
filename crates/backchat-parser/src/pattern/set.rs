//! Sets of characters while a pattern is read.
//!
//! `regex-syntax` knows the members of properties and the cases of characters. Its own sets are sorted anew by every addition, and a
//! `\w` has 770 ranges.

use std::sync::LazyLock;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange, HirKind};

/// Ranges of characters, ascending, that do not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CharSet {
    ranges: Vec<(char, char)>,
}

impl CharSet {
    pub fn of(low: char, high: char) -> Self {
        Self { ranges: vec![(low, high)] }
    }

    pub fn ranges(&self) -> &[(char, char)] {
        &self.ranges
    }

    pub fn contains(&self, c: char) -> bool {
        let at = self.ranges.partition_point(|&(_, high)| high < c);
        self.ranges.get(at).is_some_and(|&(low, _)| low <= c)
    }

    pub fn add(&mut self, low: char, high: char) {
        self.union(&Self::of(low, high));
    }

    /// Adds the members of another set, in one pass over both.
    pub fn union(&mut self, other: &Self) {
        if self.ranges.is_empty() {
            self.ranges.clone_from(&other.ranges);
            return;
        }
        let mut merged: Vec<(char, char)> = Vec::with_capacity(self.ranges.len() + other.ranges.len());
        let (mut ours, mut theirs) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        while let Some(&(low, high)) = match (ours.peek(), theirs.peek()) {
            (Some(our), Some(their)) if our.0 > their.0 => theirs.next(),
            (Some(_), _) => ours.next(),
            _ => theirs.next(),
        } {
            match merged.last_mut() {
                Some(last) if low as u32 <= last.1 as u32 + 1 => last.1 = last.1.max(high),
                _ => merged.push((low, high)),
            }
        }
        self.ranges = merged;
    }

    /// Keeps the members in ASCII.
    pub fn keep_ascii(&mut self) {
        self.ranges.retain(|(low, _)| low.is_ascii());
        if let Some((_, high)) = self.ranges.last_mut() {
            *high = (*high).min('\x7f');
        }
    }

    pub fn negate(&mut self) {
        let mut gaps = Vec::with_capacity(self.ranges.len() + 1);
        let mut begin = Some('\0');
        for &(low, high) in &self.ranges {
            if let (Some(from), Some(to)) = (begin, before(low))
                && from <= to
            {
                gaps.push((from, to));
            }
            begin = after(high);
        }
        gaps.extend(begin.map(|from| (from, char::MAX)));
        self.ranges = gaps;
    }

    /// Adds everything that differs from a member only in case: simple case folding and the Turkish i's, which `regex` holds equal
    /// to `i` and `I`.
    pub fn fold(&mut self) {
        let turkish = [('i', 'İ'), ('I', 'ı')];
        let had = turkish.map(|(plain, turkish)| (self.contains(plain), self.contains(turkish)));
        let ranges = self.ranges.iter().map(|&(low, high)| ClassUnicodeRange::new(low, high));
        let mut folded = ClassUnicode::new(ranges);
        // Cannot fail: the case tables are compiled in.
        let _ = folded.try_case_fold_simple();
        *self = Self::from(&folded);
        for ((plain, turkish), (has_plain, has_turkish)) in turkish.into_iter().zip(had) {
            if has_plain {
                self.add(turkish, turkish);
            }
            if has_turkish {
                self.add(plain, plain);
            }
        }
    }

    /// Whether it has a character that full case folding makes several.
    pub fn has_expanding(&self) -> bool {
        let grows = |c: char| c.to_uppercase().count() > 1;
        let few = self.ranges.iter().map(|&(low, high)| high as u32 - low as u32 + 1).sum::<u32>() < 0x8000;
        few && self.ranges.iter().any(|&(low, high)| (low..=high).any(grows))
    }
}

impl From<&ClassUnicode> for CharSet {
    fn from(class: &ClassUnicode) -> Self {
        Self { ranges: class.ranges().iter().map(|range| (range.start(), range.end())).collect() }
    }
}

fn after(c: char) -> Option<char> {
    (c < char::MAX).then(|| if c == '\u{d7ff}' { '\u{e000}' } else { char::from_u32(c as u32 + 1).unwrap_or(c) })
}

fn before(c: char) -> Option<char> {
    (c > '\0').then(|| if c == '\u{e000}' { '\u{d7ff}' } else { char::from_u32(c as u32 - 1).unwrap_or(c) })
}

/// The set of `\d`, `\w` or `\s`.
pub(super) fn perl(letter: char, ascii_only: bool) -> CharSet {
    static DIGITS: LazyLock<CharSet> = LazyLock::new(|| property("Nd").unwrap_or_default());
    static WORD: LazyLock<CharSet> = LazyLock::new(|| syntax(r"\w").unwrap_or_default());
    static SPACE: LazyLock<CharSet> = LazyLock::new(|| property("White_Space").unwrap_or_default());
    let known = match letter {
        'd' => &DIGITS,
        'w' => &WORD,
        _ => &SPACE,
    };
    let mut set = CharSet::clone(known);
    if ascii_only {
        set.keep_ascii();
    }
    set
}

/// A property by name, such as `Lu`, `Greek` or `Script=Greek`; `None` if the name is unknown.
pub(super) fn property(name: &str) -> Option<CharSet> {
    let name = name.trim().replace(':', "=");
    if name.is_empty() || name.contains(['{', '}', '\\']) {
        return None;
    }
    let plain: String = name.chars().filter(|c| !matches!(c, ' ' | '_' | '-')).collect::<String>().to_lowercase();
    // A `char` is never a surrogate, so `regex-syntax` has no set of them; the reference knows the empty one.
    if matches!(plain.strip_prefix("gc=").unwrap_or(&plain), "cs" | "surrogate") {
        return Some(CharSet::default());
    }
    let posix = match plain.strip_prefix("posix").unwrap_or(&plain) {
        "alnum" => Some(r"[\p{Alphabetic}\p{Nd}]"),
        "blank" => Some(r"[\t\p{Zs}]"),
        "cntrl" => Some(r"\p{Cc}"),
        "graph" => Some(r"[^\s\p{Cc}\p{Cn}]"),
        "print" => Some(r"[[^\s\p{Cc}\p{Cn}]\p{Zs}]"),
        "word" => Some(r"\w"),
        "xdigit" => Some(r"[0-9A-Fa-f\u{FF10}-\u{FF19}\u{FF21}-\u{FF26}\u{FF41}-\u{FF46}]"),
        "l&" => Some(r"\p{LC}"),
        "any" => Some(r"(?s:.)"),
        "assigned" => Some(r"\P{Cn}"),
        _ => None,
    };
    posix.and_then(syntax).or_else(|| syntax(&format!(r"\p{{{name}}}"))).or_else(|| {
        let script = plain.strip_prefix("is").filter(|script| !script.is_empty())?;
        syntax(&format!(r"\p{{{script}}}"))
    })
}

/// The set of a class written in Rust's syntax.
fn syntax(source: &str) -> Option<CharSet> {
    match regex_syntax::parse(source).ok()?.into_kind() {
        HirKind::Class(regex_syntax::hir::Class::Unicode(set)) => Some(CharSet::from(&set)),
        HirKind::Class(regex_syntax::hir::Class::Bytes(set)) => Some(CharSet::from(&set.to_unicode_class()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reference(ranges: &[(char, char)]) -> ClassUnicode {
        ClassUnicode::new(ranges.iter().map(|&(low, high)| ClassUnicodeRange::new(low, high)))
    }

    fn ranges() -> impl Strategy<Value = Vec<(char, char)>> {
        let edge = prop::sample::select(vec!['\0', '\x7e', '\x7f', '\u{80}', '\u{d7fe}', '\u{e000}', char::MAX]);
        let c = || prop_oneof![edge.clone(), prop::char::range('a', 'z'), any::<char>()];
        prop::collection::vec((c(), c()).prop_map(|(a, b)| (a.min(b), a.max(b))), 0..8)
    }

    fn set(ranges: &[(char, char)]) -> CharSet {
        let mut set = CharSet::default();
        ranges.iter().for_each(|&(low, high)| set.add(low, high));
        set
    }

    proptest! {
        #[test]
        fn sets_have_the_members_of_the_other_crates_sets(one in ranges(), other in ranges(), c in any::<char>()) {
            let (mut ours, mut theirs) = (set(&one), reference(&one));
            prop_assert_eq!(&ours, &CharSet::from(&theirs));
            prop_assert_eq!(ours.contains(c), one.iter().any(|&(low, high)| low <= c && c <= high));
            ours.union(&set(&other));
            theirs.union(&reference(&other));
            prop_assert_eq!(&ours, &CharSet::from(&theirs));
            let mut ascii = ours.clone();
            ascii.keep_ascii();
            theirs.intersect(&reference(&[('\0', '\x7f')]));
            prop_assert_eq!(ascii, CharSet::from(&theirs));
            let mut theirs = reference(&[one, other].concat());
            ours.negate();
            theirs.negate();
            prop_assert_eq!(ours, CharSet::from(&theirs));
        }
    }

    /// The other crate's sets get a member there that they had before.
    #[test]
    fn nothing_is_between_the_characters_around_the_surrogates() {
        let mut all = set(&[('\0', '\u{d7ff}'), ('\u{e000}', char::MAX)]);
        all.negate();
        assert_eq!(all, CharSet::default());
        all.negate();
        assert_eq!(all, CharSet::of('\0', char::MAX));
        let mut edges = set(&[('\u{d7ff}', '\u{d7ff}'), ('\u{e000}', '\u{e000}')]);
        edges.negate();
        assert_eq!(edges, set(&[('\0', '\u{d7fe}'), ('\u{e001}', char::MAX)]));
    }

    #[test]
    fn a_set_that_is_folded_has_both_cases_and_the_turkish_letters() {
        let mut set = CharSet::of('i', 'k');
        set.fold();
        let members: String = set.ranges().iter().flat_map(|&(low, high)| low..=high).collect();
        assert_eq!(members, "IJKijk\u{130}\u{212a}");
    }

    #[test]
    fn names_of_posix_are_sets_of_properties() {
        for (name, members, others) in [
            ("alnum", "aé7٣", "_ -"),
            ("posix_blank", "\t \u{3000}", "\n\u{2028}"),
            ("graph", "a!\u{e000}", " \n\u{a0}\0\u{378}"),
            ("Print", "a! \u{a0}\u{3000}", "\n\t\0\u{2028}"),
            ("cntrl", "\0\u{85}", "a "),
            ("xdigit", "09afAF０Ｆ", "gG／"),
            ("word", "a_é\u{200d}", "-"),
            ("l&", "aÀǅ", "ªא1"),
            ("any", "\0\u{10ffff}", ""),
            ("assigned", "a", "\u{378}"),
            ("Surrogate", "", "a\u{d7ff}\u{e000}"),
            ("gc: Cs", "", "a"),
            ("is greek", "α", "a"),
            ("Script: Greek", "α", "a"),
        ] {
            let set = property(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(members.chars().filter(|c| !set.contains(*c)).collect::<String>(), "", "{name}");
            assert_eq!(others.chars().filter(|c| set.contains(*c)).collect::<String>(), "", "{name}");
        }
        assert!(["", "{", "a}b", r"\w", "posix", "Klingon"].iter().all(|name| property(name).is_none()));
    }
}
