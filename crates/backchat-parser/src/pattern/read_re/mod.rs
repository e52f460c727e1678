//! Parses the dialect of Python's own `re` module (3.11), with DOTALL set: accepts and refuses what its `_parser.py`
//! does.
//!
//! It is a dialect of its own, not a subset of `regex`: global flags only at the front, look-behinds of fixed width,
//! no properties, no nested sets, and a `\w` and `\s` with other members.

mod groups;
mod sets;

use std::collections::HashMap;

use super::PatternError;
use super::class::Class;
use super::read_regex::{Flags, ParsedPattern};
use super::tree::{Assertion, Greed, Node};
use backchat_core::text::Cursor;
use backchat_core::unicode::{CharSet, perl, property};

/// How deeply groups may be nested.
const MAX_DEPTH: usize = 200;

/// The first count of a repeat that `re` refuses.
const MAX_REPEAT: u64 = u32::MAX as u64;

/// The kind of an item that a repeat may follow.
#[derive(Clone, Copy, PartialEq)]
enum ItemKind {
    Place,
    Repeat,
    Other,
}

/// A character by its code, which may be that of a surrogate, or a set.
enum SetItem {
    Code(u32),
    Set(CharSet),
}

/// The least and the most characters a part takes.
type Width = (u64, u64);

struct ReReader<'p> {
    text: Cursor<'p>,
    flags: Flags,
    names: HashMap<String, u32>,
    /// The width of each group by its number, the whole match included; none while the group is open.
    groups: Vec<Option<Width>>,
    /// The conditions by number, which may come before their group.
    conditions: Vec<(u32, usize)>,
    /// How many groups there were at the start of the outermost open look-behind.
    behind: Option<usize>,
    depth: usize,
}

pub(super) fn read(source: &str) -> Result<ParsedPattern, PatternError> {
    let mut reader = ReReader {
        text: Cursor::new(source),
        flags: Flags::new(),
        names: HashMap::new(),
        groups: vec![None],
        conditions: Vec::new(),
        behind: None,
        depth: 0,
    };
    let node = reader.alternation(true)?;
    if reader.text.peek().is_some() {
        return Err(reader.error("this `)` closes no group"));
    }
    for &(group, offset) in &reader.conditions {
        if group as usize >= reader.groups.len() {
            return Err(PatternError::new(format!("there is no group {group}"), offset));
        }
    }
    Ok(ParsedPattern::new(node, reader.groups.len() as u32, reader.names))
}

impl<'p> ReReader<'p> {
    fn until(&mut self, end: char, what: &str) -> Result<&'p str, PatternError> {
        let here = self.text;
        match self.text.until(end) {
            None => Err(self.error(format!("`{end}` is missing after {what}"))),
            Some("") => {
                self.text = here;
                Err(self.error(format!("{what} is missing")))
            }
            Some(name) => Ok(name),
        }
    }

    fn error(&self, message: impl Into<String>) -> PatternError {
        PatternError::new(message, self.text.at())
    }

    fn alternation(&mut self, outermost: bool) -> Result<Node, PatternError> {
        let mut branches = vec![self.sequence(outermost)?];
        while self.text.eat('|') {
            branches.push(self.sequence(false)?);
        }
        Ok(Node::alternate(branches))
    }

    fn sequence(&mut self, first: bool) -> Result<Node, PatternError> {
        let mut items: Vec<(Node, ItemKind)> = Vec::new();
        while let Some(c) = self.text.peek() {
            let start = self.text.at();
            if matches!(c, '|' | ')') {
                break;
            }
            self.text.bump();
            if self.flags.verbose && c.is_ascii_whitespace() | (c == '\u{b}') {
                continue;
            }
            if self.flags.verbose && c == '#' {
                while self.text.bump().is_some_and(|c| c != '\n') {}
                continue;
            }
            let item = match c {
                '\\' => self.escape(start)?,
                '[' => (self.set(start)?, ItemKind::Other),
                '*' | '+' | '?' => {
                    let (min, max) = (u32::from(c == '+'), (c == '?').then_some(1));
                    self.repeated(&mut items, min, max, start)?;
                    continue;
                }
                '{' => match self.counts(start)? {
                    Some((min, max)) => {
                        self.repeated(&mut items, min, max, start)?;
                        continue;
                    }
                    None => (self.char('{' as u32), ItemKind::Other),
                },
                '.' => (self.flags.dot(), ItemKind::Other),
                '^' => (self.flags.caret(), ItemKind::Place),
                '$' => (self.flags.dollar(), ItemKind::Place),
                '(' => {
                    self.depth += 1;
                    if self.depth > MAX_DEPTH {
                        return Err(self.error(format!("groups are nested more than {MAX_DEPTH} deep")));
                    }
                    let group = self.group(start, first && items.is_empty())?;
                    self.depth -= 1;
                    match group {
                        Some(group) => (group, ItemKind::Other),
                        None => continue,
                    }
                }
                c => (self.char(c as u32), ItemKind::Other),
            };
            items.push(item);
        }
        Ok(Node::concat(items.into_iter().map(|(node, _)| node).collect()))
    }

    fn repeated(
        &mut self,
        items: &mut Vec<(Node, ItemKind)>,
        min: u32,
        max: Option<u32>,
        start: usize,
    ) -> Result<(), PatternError> {
        let node = match items.pop() {
            None | Some((_, ItemKind::Place)) => {
                return Err(PatternError::new("this has nothing to repeat", start));
            }
            Some((_, ItemKind::Repeat)) => {
                return Err(PatternError::new("a repeat of a repeat; put the first into a group `(?:…)`", start));
            }
            Some((node, ItemKind::Other)) => node,
        };
        let greed = Greed::read(&mut self.text);
        items.push((Node::Repeat { node: Box::new(node), min, max, greed }, ItemKind::Repeat));
        Ok(())
    }

    /// `{2}`, `{2,}`, `{,3}`, `{2,3}` or `{,}`, after the `{`; `None` if it is a literal `{`.
    fn counts(&mut self, start: usize) -> Result<Option<(u32, Option<u32>)>, PatternError> {
        let here = self.text;
        if self.text.peek() == Some('}') {
            return Ok(None);
        }
        let is_digit = |c: char| c.is_ascii_digit();
        let low = self.text.take(usize::MAX, is_digit);
        let high = if self.text.eat(',') { self.text.take(usize::MAX, is_digit) } else { low };
        if !self.text.eat('}') {
            self.text = here;
            return Ok(None);
        }
        let number = |digits: &str| match digits {
            "" => Ok(None),
            digits => digits
                .parse()
                .ok()
                .filter(|&count: &u64| count < MAX_REPEAT)
                .map(|count| Some(count as u32))
                .ok_or_else(|| PatternError::new("the count of this repeat is too big", start)),
        };
        let (low, high) = (number(low)?.unwrap_or(0), number(high)?);
        if high.is_some_and(|high| high < low) {
            let message = format!("a repeat of at least {low} and at most {}", high.unwrap_or(0));
            return Err(PatternError::new(message, start));
        }
        Ok(Some((low, high)))
    }

    /// One exact character, under the flags of this place. No text has a surrogate.
    fn char(&self, code: u32) -> Node {
        match char::from_u32(code) {
            Some(c) if !self.flags.ignore_case => Node::Char(c),
            Some(c) => self.class(CharSet::of(c, c)),
            None => Node::Class(Class::new(&CharSet::default())),
        }
    }

    fn class(&self, set: CharSet) -> Node {
        Node::Class(Class::new(&self.folded(set)))
    }

    fn folded(&self, mut set: CharSet) -> CharSet {
        const DOTS: [char; 4] = ['i', 'I', 'İ', 'ı'];
        if self.flags.ignore_case {
            set.fold();
            if DOTS.iter().any(|&c| set.contains(c)) {
                DOTS.iter().for_each(|&c| set.add(c, c));
            }
        }
        set
    }

    /// The members of `\d`, `\w` or `\s`, or of their opposites.
    fn perl(&self, letter: char) -> CharSet {
        let ascii = self.flags.ascii;
        let mut set = match letter.to_ascii_lowercase() {
            'w' if !ascii => {
                let mut set = CharSet::of('_', '_');
                for name in ["L", "N"] {
                    set.union(&property(name).unwrap_or_default());
                }
                set
            }
            's' if !ascii => {
                let mut set = perl('s', false);
                set.add('\u{1c}', '\u{1f}');
                set
            }
            other => perl(other, ascii),
        };
        if letter.is_ascii_uppercase() {
            set.negate();
        }
        set
    }

    /// `\b` or `\B`: `re` has its own notion of a word, and no `\B` in an empty text.
    fn boundary(&self, negated: bool) -> Node {
        let word = || Box::new(Node::Class(Class::new(&self.perl('w'))));
        let look = |behind, negate| Node::Look { node: word(), behind, negate };
        let any = |behind| Node::Look { node: Box::new(Node::Class(Class::any())), behind, negate: false };
        Node::Alternate(match negated {
            false => vec![
                Node::Concat(vec![look(true, false), look(false, true)]),
                Node::Concat(vec![look(true, true), look(false, false)]),
            ],
            true => vec![
                Node::Concat(vec![look(true, false), look(false, false)]),
                Node::Concat(vec![look(true, true), look(false, true), Node::Alternate(vec![any(true), any(false)])]),
            ],
        })
    }

    /// The text after a backslash outside of a set.
    fn escape(&mut self, start: usize) -> Result<(Node, ItemKind), PatternError> {
        let Some(c) = self.text.bump() else {
            return Err(PatternError::new("a backslash ends the pattern; write `\\\\` for the character", start));
        };
        Ok(match c {
            'A' => (Node::Assert(Assertion::Start), ItemKind::Place),
            'Z' => (Node::Assert(Assertion::End), ItemKind::Place),
            'b' | 'B' => (self.boundary(c == 'B'), ItemKind::Place),
            '0' => {
                let code = u32::from_str_radix(self.text.take(2, |c| c.is_digit(8)), 8).unwrap_or(0);
                (self.char(code), ItemKind::Other)
            }
            '1'..='9' => (self.group_or_octal(c, start)?, ItemKind::Other),
            c => match self.class_escape(c, start)? {
                SetItem::Code(code) => (self.char(code), ItemKind::Other),
                SetItem::Set(set) => (self.class(set), ItemKind::Other),
            },
        })
    }

    fn group_or_octal(&mut self, first: char, start: usize) -> Result<Node, PatternError> {
        let mut digits = String::from(first);
        if let Some(second) = self.text.peek().filter(char::is_ascii_digit) {
            self.text.bump();
            digits.push(second);
            if digits.chars().all(|c| c.is_digit(8))
                && let Some(third) = self.text.peek().filter(|c| c.is_digit(8))
            {
                self.text.bump();
                digits.push(third);
                return self.octal(&digits, start).map(|code| self.char(code));
            }
        }
        let group = digits.parse().unwrap_or(0);
        self.reference(group, start)
    }

    fn octal(&self, digits: &str, start: usize) -> Result<u32, PatternError> {
        match u32::from_str_radix(digits, 8) {
            Ok(code) if code <= 0o377 => Ok(code),
            _ => Err(PatternError::new(format!("the octal escape `\\{digits}` is outside of 0-0o377"), start)),
        }
    }

    /// The text of a group again.
    fn reference(&mut self, group: u32, start: usize) -> Result<Node, PatternError> {
        match self.groups.get(group as usize) {
            None => return Err(PatternError::new(format!("there is no group {group} before this"), start)),
            Some(None) => {
                return Err(PatternError::new(format!("group {group} is referred to from inside itself"), start));
            }
            Some(Some(_)) => {}
        }
        self.check_behind(group, start)?;
        Ok(Node::Backref { group, fold: self.flags.ignore_case })
    }

    /// A look-behind cannot refer to a group that begins in it.
    fn check_behind(&self, group: u32, start: usize) -> Result<(), PatternError> {
        let Some(before) = self.behind else { return Ok(()) };
        if self.groups.get(group as usize).is_none_or(Option::is_none) {
            return Err(PatternError::new(format!("group {group} is still open"), start));
        }
        if group as usize >= before {
            return Err(PatternError::new(format!("group {group} begins in the same look-behind"), start));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Pattern;

    /// The spans of every match in characters, as `finditer` of Python 3.11's `re` gives them.
    fn spans(source: &str, text: &str) -> String {
        let pattern = Pattern::in_re(source).unwrap_or_else(|error| panic!("{source}: {error} at {}", error.offset));
        let mut spans = Vec::new();
        for found in pattern.scan(text, 1_000_000).map(Result::unwrap) {
            let place = |byte: usize| text[..byte].chars().count();
            spans.push(format!("{}-{}", place(found.span().0), place(found.span().1)));
        }
        spans.join(" ")
    }

    #[test]
    fn matches_equal_those_of_python_re() {
        for (source, text, want) in [
            (".", "\n", "0-1"),
            ("(?-s:.)", "\na", "1-2"),
            ("a$", "a\n", "0-1"),
            (r"a\Z", "a\n", ""),
            ("(?m)^b$", "a\nb\n", "2-3"),
            (r"\s+", "\u{1c} \u{85}", "0-3"),
            (r"\w+", "a²½_é", "0-5"),
            (r"\w", "\u{301}", ""),
            (r"(?a)\w+", "aé", "0-1"),
            (r"\B", "", ""),
            (r"\B", "ab c", "1-1"),
            (r"\b", "ab", "0-0 2-2"),
            ("x*", "axb", "0-0 1-2 2-2 3-3"),
            ("(?i)k", "K\u{212a}", "0-1 1-2"),
            ("(?i:a)b", "AbAB", "0-2"),
            ("a{,2}b", "aab", "0-3"),
            ("a{}", "a{}", "0-3"),
            ("a{1,x}", "a{1,x}", "0-6"),
            ("[]a]+", "]a", "0-2"),
            ("[[:a]+", "[:a", "0-3"),
            ("[a-]+", "a-", "0-2"),
            (r"\0\x41\u00e9\101", "\0AéA", "0-4"),
            ("(a)?(?(1)b|c)", "abc", "0-2 2-3"),
            ("(?P<q>[ab])-(?P=q)", "a-b b-b", "4-7"),
            ("(?>a+)b", "aab", "0-3"),
            ("a++a", "aaa", ""),
            ("(?x) a b # note\n c", "abc", "0-3"),
            ("a(?#no)+", "aa", "0-2"),
            (r"(?<=a|b)c", "ac", "1-2"),
        ] {
            assert_eq!(spans(source, text), want, "{source:?} on {text:?}");
        }
    }

    #[test]
    fn patterns_that_python_re_rejects_are_rejected() {
        for (source, offset) in [
            ("a(?i)b", 1),
            (r"\p{L}", 0),
            ("(?<name>a)", 0),
            ("(?<=a+)b", 0),
            ("(?<=a|bc)d", 0),
            ("a**", 2),
            ("^*", 1),
            ("*a", 0),
            ("(?P<a>b)(?P<a>c)", 8),
            (r"\2(a)(b)", 0),
            ("(?(3)a)", 0),
            ("(?(x)a)", 5),
            (r"(a\1)", 2),
            ("[b-a]", 1),
            (r"[\w-a]", 1),
            ("(a", 0),
            ("a)", 1),
            (r"\z", 0),
            (r"\K", 0),
            ("a{3,2}", 1),
            ("(?L)a", 3),
            ("[a", 0),
            ("a\\", 1),
            (r"\400", 0),
        ] {
            let error = Pattern::in_re(source).map(|_| ()).unwrap_err();
            assert_eq!(error.offset, offset, "{source:?}: {error}");
        }
    }
}
