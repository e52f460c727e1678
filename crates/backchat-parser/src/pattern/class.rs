//! Sets of characters. ASCII takes one bit test; the rest are sorted ranges that do not touch.

use std::cmp::Ordering;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange, HirKind};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Class {
    ascii: u128,
    /// The ranges from U+0080 on, ascending and apart.
    rest: Box<[(char, char)]>,
}

impl Class {
    pub fn new(set: &ClassUnicode) -> Self {
        let mut ascii = 0u128;
        let mut rest = Vec::new();
        for range in set.ranges() {
            for c in range.start() as u32..=(range.end() as u32).min(127) {
                ascii |= 1 << c;
            }
            if range.end() as u32 >= 128 {
                rest.push((range.start().max('\u{80}'), range.end()));
            }
        }
        Self { ascii, rest: rest.into() }
    }

    pub fn of(c: char) -> Self {
        Self::new(&unicode([(c, c)]))
    }

    pub fn any() -> Self {
        Self::new(&ClassUnicode::new([ClassUnicodeRange::new('\0', char::MAX)]))
    }

    pub fn is_any(&self) -> bool {
        self.ascii == u128::MAX && matches!(*self.rest, [('\u{80}', char::MAX)])
    }

    pub fn first(&self) -> Option<char> {
        match self.ascii.trailing_zeros() {
            128 => self.rest.first().map(|(low, _)| *low),
            ascii => char::from_u32(ascii),
        }
    }

    pub fn has_ascii(&self, byte: u8) -> bool {
        byte < 128 && self.ascii >> byte & 1 == 1
    }

    #[inline]
    pub fn contains(&self, c: char) -> bool {
        if (c as u32) < 128 {
            return self.ascii >> (c as u32) & 1 == 1;
        }
        self.rest
            .binary_search_by(|&(low, high)| match high < c {
                true => Ordering::Less,
                false => low.cmp(&c).max(Ordering::Equal),
            })
            .is_ok()
    }

    /// The same set with these characters as its only ones of a range beyond ASCII. They come in ascending order.
    pub fn replacing(&self, low: u32, high: u32, members: impl Iterator<Item = char>) -> Self {
        let outside = |from: u32, to: u32| Some((char::from_u32(from)?, char::from_u32(to)?)).filter(|(a, b)| a <= b);
        let mut rest: Vec<(char, char)> = self
            .rest
            .iter()
            .flat_map(|&(from, to)| {
                let (from, to) = (from as u32, to as u32);
                [outside(from, to.min(low - 1)), outside(from.max(high + 1), to)]
            })
            .flatten()
            .chain(members.map(|c| (c, c)))
            .collect();
        rest.sort_unstable();
        rest.dedup_by(|next, last| {
            let touches = next.0 as u32 <= last.1 as u32 + 1;
            if touches {
                last.1 = last.1.max(next.1);
            }
            touches
        });
        Self { ascii: self.ascii, rest: rest.into() }
    }

    /// The cost, in the machine's units of work, of looking up a character beyond ASCII.
    fn lookup_cost(&self) -> usize {
        2 + (usize::BITS - self.rest.len().leading_zeros()) as usize
    }

    /// The length in bytes of the longest prefix of a text that has only characters of the set, and the cost of finding
    /// it.
    pub fn prefix(&self, text: &str) -> (usize, usize) {
        let bytes = text.as_bytes();
        let (mut at, mut beyond) = (0, 0);
        while let Some(&byte) = bytes.get(at) {
            if byte < 128 {
                if !self.has_ascii(byte) {
                    break;
                }
                at += 1;
            } else {
                match text.get(at..).and_then(|rest| rest.chars().next()) {
                    Some(c) if self.contains(c) => at += c.len_utf8(),
                    _ => break,
                }
                beyond += 1;
            }
        }
        (at, at + beyond * self.lookup_cost())
    }

    /// The cost of walking over a character.
    pub fn cost(&self, c: char) -> usize {
        if c.is_ascii() { 1 } else { self.lookup_cost() }
    }

    /// The ranges of the set from U+0080 on.
    pub fn beyond_ascii(&self) -> &[(char, char)] {
        &self.rest
    }
}

/// The set of `\d`, `\w` or `\s`.
pub(super) fn perl(letter: char, ascii_only: bool) -> ClassUnicode {
    let mut set = match letter {
        'd' => property("Nd"),
        'w' => syntax(r"\w"),
        _ => property("White_Space"),
    }
    .unwrap_or_else(ClassUnicode::empty);
    if ascii_only {
        set.intersect(&ClassUnicode::new([ClassUnicodeRange::new('\0', '\x7f')]));
    }
    set
}

/// A property by name, such as `Lu`, `Greek` or `Script=Greek`; `None` if the name is unknown.
pub(super) fn property(name: &str) -> Option<ClassUnicode> {
    let name = name.trim().replace(':', "=");
    if name.is_empty() || name.contains(['{', '}', '\\']) {
        return None;
    }
    let plain: String = name.chars().filter(|c| !matches!(c, ' ' | '_' | '-')).collect::<String>().to_lowercase();
    let posix = match plain.strip_prefix("posix").unwrap_or(&plain) {
        "alnum" => Some(r"[\p{Alphabetic}\p{Nd}]"),
        "blank" => Some(r"[\t\p{Zs}]"),
        "cntrl" => Some(r"\p{Cc}"),
        "graph" => Some(r"[^\s\p{Cc}\p{Cs}\p{Cn}]"),
        "print" => Some(r"[[^\s\p{Cc}\p{Cs}\p{Cn}]\p{Zs}]"),
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
fn syntax(source: &str) -> Option<ClassUnicode> {
    match regex_syntax::parse(source).ok()?.into_kind() {
        HirKind::Class(regex_syntax::hir::Class::Unicode(set)) => Some(set),
        HirKind::Class(regex_syntax::hir::Class::Bytes(set)) => set.to_unicode_class(),
        _ => None,
    }
}

/// The set and everything that differs from it only in case: simple case folding and the Turkish i's, which `regex`
/// holds equal to `i` and `I`.
pub(super) fn fold(set: &mut ClassUnicode) {
    let has = |set: &ClassUnicode, c: char| set.ranges().iter().any(|r| r.start() <= c && c <= r.end());
    let turkish = [('i', 'İ'), ('I', 'ı')].map(|(plain, turkish)| (plain, has(set, plain), turkish, has(set, turkish)));
    // Cannot fail: the case tables are compiled in.
    let _ = set.try_case_fold_simple();
    for (plain, has_plain, turkish, has_turkish) in turkish {
        if has_plain {
            set.push(ClassUnicodeRange::new(turkish, turkish));
        }
        if has_turkish {
            set.push(ClassUnicodeRange::new(plain, plain));
        }
    }
}

pub(super) fn unicode(chars: impl IntoIterator<Item = (char, char)>) -> ClassUnicode {
    ClassUnicode::new(chars.into_iter().map(|(low, high)| ClassUnicodeRange::new(low, high)))
}

/// A character by full case folding, which may make it several.
pub(super) fn full_fold(c: char) -> impl Iterator<Item = char> {
    c.to_uppercase().flat_map(char::to_lowercase)
}

/// Whether a set has a character that full case folding makes several.
pub(super) fn has_expanding(set: &ClassUnicode) -> bool {
    let grows = |&c: &char| c.to_uppercase().count() > 1;
    let few = set.ranges().iter().map(|range| range.len()).sum::<usize>() < 0x8000;
    few && set.ranges().iter().any(|range| (range.start()..=range.end()).any(|c| grows(&c)))
}

/// Whether a group can have this name.
pub(super) fn is_group_name(name: &str) -> bool {
    let word = Class::new(&perl('w', false));
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_') && chars.all(|c| word.contains(c))
}
