//! Reads the dialect of Python's own `re` module (3.11), with DOTALL set: what its `_parser.py` takes and refuses.
//!
//! It is a dialect of its own, not a subset of `regex`: global flags only at the front, look-behinds of fixed width,
//! no properties, no nested sets, and a `\w` and `\s` with other members.

use std::collections::HashMap;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::PatternError;
use super::class::{self, Class};
use super::read_regex::Reading;
use super::tree::{Assertion, Greed, Node};
use crate::text::slice;

/// How deeply groups may be nested.
const MAX_DEPTH: usize = 200;

/// The first count of a repeat that `re` refuses.
const MAX_REPEAT: u64 = u32::MAX as u64;

/// The first group number that `re` refuses in a condition.
const MAX_GROUPS: u32 = 1 << 30;

#[derive(Clone, Copy)]
struct ReFlags {
    ignore_case: bool,
    multi_line: bool,
    dot_all: bool,
    verbose: bool,
    ascii: bool,
}

/// The item that a repeat would repeat.
#[derive(Clone, Copy, PartialEq)]
enum Item {
    Place,
    Repeat,
    Other,
}

/// A character by its code, which may be that of a surrogate, or a set.
enum SetItem {
    Code(u32),
    Set(ClassUnicode),
}

/// The least and the most characters a part takes.
type Width = (u64, u64);

struct ReReader<'p> {
    source: &'p str,
    at: usize,
    flags: ReFlags,
    names: HashMap<String, u32>,
    /// The width of each group by its number, the whole match included; none while the group is open.
    groups: Vec<Option<Width>>,
    /// The conditions by number, which may come before their group.
    conditions: Vec<(u32, usize)>,
    /// How many groups there were at the start of the outermost open look-behind.
    behind: Option<usize>,
    depth: usize,
}

pub(super) fn read(source: &str) -> Result<Reading, PatternError> {
    let flags = ReFlags { ignore_case: false, multi_line: false, dot_all: true, verbose: false, ascii: false };
    let mut reader = ReReader {
        source,
        at: 0,
        flags,
        names: HashMap::new(),
        groups: vec![None],
        conditions: Vec::new(),
        behind: None,
        depth: 0,
    };
    let node = reader.alternation(true)?;
    if reader.peek().is_some() {
        return Err(reader.error("this `)` closes no group"));
    }
    for &(group, offset) in &reader.conditions {
        if group as usize >= reader.groups.len() {
            return Err(PatternError::new(format!("there is no group {group}"), offset));
        }
    }
    let mut names: Vec<(String, u32)> = reader.names.into_iter().collect();
    names.sort_by_key(|(_, group)| *group);
    Ok(Reading { node, groups: reader.groups.len() as u32, names })
}

impl<'p> ReReader<'p> {
    fn rest(&self) -> &'p str {
        slice(self.source, self.at..)
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.next();
        }
        found
    }

    fn digits(&mut self, most: usize, is_digit: impl Fn(char) -> bool) -> &'p str {
        let rest = self.rest();
        let length = rest.chars().take(most).take_while(|&c| is_digit(c)).map(char::len_utf8).sum();
        self.at += length;
        slice(rest, ..length)
    }

    fn until(&mut self, end: char, what: &str) -> Result<&'p str, PatternError> {
        let Some((name, _)) = self.rest().split_once(end) else {
            return Err(self.error(format!("`{end}` is missing after {what}")));
        };
        if name.is_empty() {
            return Err(self.error(format!("{what} is missing")));
        }
        self.at += name.len() + end.len_utf8();
        Ok(name)
    }

    fn error(&self, message: impl Into<String>) -> PatternError {
        PatternError::new(message, self.at)
    }

    fn alternation(&mut self, outermost: bool) -> Result<Node, PatternError> {
        let mut branches = vec![self.sequence(outermost)?];
        while self.eat('|') {
            branches.push(self.sequence(false)?);
        }
        Ok(match branches.len() {
            1 => branches.pop().unwrap_or(Node::Empty),
            _ => Node::Alternate(branches),
        })
    }

    fn sequence(&mut self, first: bool) -> Result<Node, PatternError> {
        let mut items: Vec<(Node, Item)> = Vec::new();
        while let Some(c) = self.peek() {
            let start = self.at;
            if matches!(c, '|' | ')') {
                break;
            }
            self.next();
            if self.flags.verbose && c.is_ascii_whitespace() | (c == '\u{b}') {
                continue;
            }
            if self.flags.verbose && c == '#' {
                while self.next().is_some_and(|c| c != '\n') {}
                continue;
            }
            let item = match c {
                '\\' => self.escape(start)?,
                '[' => (self.set(start)?, Item::Other),
                '*' | '+' | '?' => {
                    self.repeat(&mut items, c, start)?;
                    continue;
                }
                '{' => match self.counts(start)? {
                    Some((min, max)) => {
                        self.repeated(&mut items, min, max, start)?;
                        continue;
                    }
                    None => (self.char('{' as u32), Item::Other),
                },
                '.' if self.flags.dot_all => (Node::Class(Class::any()), Item::Other),
                '.' => {
                    let mut set = class::of([('\n', '\n')]);
                    set.negate();
                    (Node::Class(Class::new(&set)), Item::Other)
                }
                '^' if self.flags.multi_line => (Node::Assert(Assertion::LineStart), Item::Place),
                '^' => (Node::Assert(Assertion::Start), Item::Place),
                '$' if self.flags.multi_line => (Node::Assert(Assertion::LineEnd), Item::Place),
                '$' => (Node::Assert(Assertion::EndOrFinalNewline), Item::Place),
                '(' => {
                    self.depth += 1;
                    if self.depth > MAX_DEPTH {
                        return Err(self.error(format!("groups are nested more than {MAX_DEPTH} deep")));
                    }
                    let group = self.group(start, first && items.is_empty())?;
                    self.depth -= 1;
                    match group {
                        Some(group) => (group, Item::Other),
                        None => continue,
                    }
                }
                c => (self.char(c as u32), Item::Other),
            };
            items.push(item);
        }
        Ok(match items.len() {
            0 => Node::Empty,
            1 => items.pop().map_or(Node::Empty, |(node, _)| node),
            _ => Node::Concat(items.into_iter().map(|(node, _)| node).collect()),
        })
    }

    fn repeat(&mut self, items: &mut Vec<(Node, Item)>, mark: char, start: usize) -> Result<(), PatternError> {
        let (min, max) = match mark {
            '*' => (0, None),
            '+' => (1, None),
            _ => (0, Some(1)),
        };
        self.repeated(items, min, max, start)
    }

    fn repeated(
        &mut self,
        items: &mut Vec<(Node, Item)>,
        min: u32,
        max: Option<u32>,
        start: usize,
    ) -> Result<(), PatternError> {
        let node = match items.pop() {
            None | Some((_, Item::Place)) => {
                return Err(PatternError::new("this has nothing to repeat", start));
            }
            Some((_, Item::Repeat)) => {
                return Err(PatternError::new("a repeat of a repeat; put the first into a group `(?:…)`", start));
            }
            Some((node, Item::Other)) => node,
        };
        let greed = if self.eat('?') {
            Greed::Lazy
        } else if self.eat('+') {
            Greed::Possessive
        } else {
            Greed::Greedy
        };
        items.push((Node::Repeat { node: Box::new(node), min, max, greed }, Item::Repeat));
        Ok(())
    }

    /// `{2}`, `{2,}`, `{,3}`, `{2,3}` or `{,}`, after the `{`; nothing if it is a literal `{`.
    fn counts(&mut self, start: usize) -> Result<Option<(u32, Option<u32>)>, PatternError> {
        let here = self.at;
        if self.peek() == Some('}') {
            return Ok(None);
        }
        let is_digit = |c: char| c.is_ascii_digit();
        let low = self.digits(usize::MAX, is_digit);
        let high = if self.eat(',') { self.digits(usize::MAX, is_digit) } else { low };
        if !self.eat('}') {
            self.at = here;
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
            Some(c) => self.class(class::of([(c, c)])),
            None => Node::Class(Class::new(&ClassUnicode::empty())),
        }
    }

    fn class(&self, set: ClassUnicode) -> Node {
        Node::Class(Class::new(&self.folded(set)))
    }

    fn folded(&self, mut set: ClassUnicode) -> ClassUnicode {
        const DOTS: [char; 4] = ['i', 'I', 'İ', 'ı'];
        if self.flags.ignore_case {
            class::fold(&mut set);
            if set.ranges().iter().any(|range| DOTS.iter().any(|&c| range.start() <= c && c <= range.end())) {
                set.union(&class::of(DOTS.map(|c| (c, c))));
            }
        }
        set
    }

    /// The members of `\d`, `\w` or `\s`, or of their opposites.
    fn perl(&self, letter: char) -> ClassUnicode {
        let mut set = match (letter.to_ascii_lowercase(), self.flags.ascii) {
            ('d', false) => class::perl('d', false),
            ('d', true) => class::of([('0', '9')]),
            ('w', false) => {
                let mut set = class::of([('_', '_')]);
                for name in ["L", "N"] {
                    set.union(&class::property(name).unwrap_or_else(ClassUnicode::empty));
                }
                set
            }
            ('w', true) => class::of([('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]),
            (_, false) => {
                let mut set = class::perl('s', false);
                set.push(ClassUnicodeRange::new('\u{1c}', '\u{1f}'));
                set
            }
            (_, true) => class::of([('\t', '\r'), (' ', ' ')]),
        };
        if letter.is_ascii_uppercase() {
            set.negate();
        }
        set
    }

    /// `\b` or `\B`: `re` has a notion of a word of its own, and no `\B` in an empty text.
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
    fn escape(&mut self, start: usize) -> Result<(Node, Item), PatternError> {
        let Some(c) = self.next() else {
            return Err(PatternError::new("a backslash ends the pattern; write `\\\\` for the character", start));
        };
        Ok(match c {
            'A' => (Node::Assert(Assertion::Start), Item::Place),
            'Z' => (Node::Assert(Assertion::End), Item::Place),
            'b' | 'B' => (self.boundary(c == 'B'), Item::Place),
            '0' => {
                let code = u32::from_str_radix(self.digits(2, |c| c.is_digit(8)), 8).unwrap_or(0);
                (self.char(code), Item::Other)
            }
            '1'..='9' => (self.group_or_octal(c, start)?, Item::Other),
            c => match self.class_escape(c, start)? {
                SetItem::Code(code) => (self.char(code), Item::Other),
                SetItem::Set(set) => (self.class(set), Item::Other),
            },
        })
    }

    fn group_or_octal(&mut self, first: char, start: usize) -> Result<Node, PatternError> {
        let mut digits = String::from(first);
        if let Some(second) = self.peek().filter(char::is_ascii_digit) {
            self.next();
            digits.push(second);
            if digits.chars().all(|c| c.is_digit(8))
                && let Some(third) = self.peek().filter(|c| c.is_digit(8))
            {
                self.next();
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

    /// An escape that may also occur in a set.
    fn class_escape(&mut self, c: char, start: usize) -> Result<SetItem, PatternError> {
        Ok(match c {
            'a' => SetItem::Code(7),
            'f' => SetItem::Code(0xc),
            'n' => SetItem::Code(0xa),
            'r' => SetItem::Code(0xd),
            't' => SetItem::Code(9),
            'v' => SetItem::Code(0xb),
            'd' | 'w' | 's' | 'D' | 'W' | 'S' => SetItem::Set(self.perl(c)),
            'x' => self.code(2, start)?,
            'u' => self.code(4, start)?,
            'U' => self.code(8, start)?,
            'N' => {
                let message = "a character by its name (`\\N{…}`) is not supported here; write `\\uXXXX`";
                return Err(PatternError { is_unsupported: true, ..PatternError::new(message, start) });
            }
            c if c.is_ascii_alphanumeric() => {
                return Err(PatternError::new(format!("unknown escape `\\{c}`"), start));
            }
            c => SetItem::Code(c as u32),
        })
    }

    /// A character by its code in this many hexadecimal digits.
    fn code(&mut self, length: usize, start: usize) -> Result<SetItem, PatternError> {
        let hex = self.digits(length, |c| c.is_ascii_hexdigit());
        if hex.len() < length {
            return Err(PatternError::new(format!("this escape takes {length} hexadecimal digits"), start));
        }
        match u32::from_str_radix(hex, 16) {
            Ok(code) if code <= char::MAX as u32 => Ok(SetItem::Code(code)),
            _ => Err(PatternError::new(format!("U+{hex} is not a character"), start)),
        }
    }

    /// A set, after its `[`.
    fn set(&mut self, start: usize) -> Result<Node, PatternError> {
        let open = || PatternError::new("a character set is not closed: `]` is missing", start);
        let negated = self.eat('^');
        let mut set = ClassUnicode::empty();
        let mut first = true;
        loop {
            let place = self.at;
            let c = self.next().ok_or_else(open)?;
            if c == ']' && !first {
                break;
            }
            first = false;
            let low = self.member(c, place)?;
            if !self.eat('-') {
                add(&mut set, low);
                continue;
            }
            let to = self.at;
            let c = self.next().ok_or_else(open)?;
            if c == ']' {
                add(&mut set, low);
                add(&mut set, SetItem::Code('-' as u32));
                break;
            }
            match (low, self.member(c, to)?) {
                (SetItem::Code(low), SetItem::Code(high)) if low <= high => add_range(&mut set, low, high),
                (SetItem::Code(_), SetItem::Code(_)) => {
                    return Err(PatternError::new("the range runs backwards", place));
                }
                _ => return Err(PatternError::new("a range runs from a character to a character", place)),
            }
        }
        let mut set = self.folded(set);
        if negated {
            set.negate();
        }
        Ok(Node::Class(Class::new(&set)))
    }

    fn member(&mut self, c: char, start: usize) -> Result<SetItem, PatternError> {
        if c != '\\' {
            return Ok(SetItem::Code(c as u32));
        }
        match self.next() {
            None => Err(PatternError::new("a backslash ends the pattern; write `\\\\` for the character", start)),
            Some('b') => Ok(SetItem::Code(8)),
            Some(c) if c.is_digit(8) => {
                let digits = format!("{c}{}", self.digits(2, |c| c.is_digit(8)));
                self.octal(&digits, start).map(SetItem::Code)
            }
            Some(c) => self.class_escape(c, start),
        }
    }

    /// The item that a parenthesis opens; nothing if it is a comment or sets flags.
    fn group(&mut self, start: usize, front: bool) -> Result<Option<Node>, PatternError> {
        if !self.eat('?') {
            return self.capture(None, start).map(Some);
        }
        let Some(c) = self.next() else {
            return Err(self.error("the pattern ends inside a group"));
        };
        Ok(Some(match c {
            'P' => match self.next() {
                Some('<') => {
                    let name = self.until('>', "the name of a group")?;
                    self.check_name(name)?;
                    self.capture(Some(name), start)?
                }
                Some('=') => {
                    let name = self.until(')', "the name of a group")?;
                    self.check_name(name)?;
                    let group = self.called(name)?;
                    self.reference(group, start)?
                }
                _ => return Err(self.error("`(?P` is followed by `<name>` or `=name`")),
            },
            ':' => self.closed(start)?,
            '#' => {
                let Some((comment, _)) = self.rest().split_once(')') else {
                    return Err(self.error("the comment `(?#` is not closed: `)` is missing"));
                };
                self.at += comment.len() + 1;
                return Ok(None);
            }
            '=' | '!' => {
                let node = Box::new(self.closed(start)?);
                Node::Look { node, behind: false, negate: c == '!' }
            }
            '<' => {
                let negate = match self.next() {
                    Some('=') => false,
                    Some('!') => true,
                    _ => {
                        let message = "`(?<` is followed by `=` or `!`; a named group is `(?P<name>…)`";
                        return Err(PatternError::new(message, start));
                    }
                };
                let outer = self.behind;
                self.behind = outer.or(Some(self.groups.len()));
                let node = self.closed(start)?;
                self.behind = outer;
                let (least, most) = self.width(&node);
                if least != most {
                    return Err(PatternError::new("a look-behind must have a fixed width", start));
                }
                Node::Look { node: Box::new(node), behind: true, negate }
            }
            '(' => self.condition(start)?,
            '>' => Node::Atomic(Box::new(self.closed(start)?)),
            c => return self.flag_group(c, start, front),
        }))
    }

    fn check_name(&self, name: &str) -> Result<(), PatternError> {
        if is_identifier(name) {
            return Ok(());
        }
        Err(self.error(format!("`{name}` cannot be the name of a group")))
    }

    fn called(&self, name: &str) -> Result<u32, PatternError> {
        let group = self.names.get(name).copied();
        group.ok_or_else(|| self.error(format!("there is no group called `{name}` before this")))
    }

    fn capture(&mut self, name: Option<&str>, start: usize) -> Result<Node, PatternError> {
        let index = self.groups.len() as u32;
        self.groups.push(None);
        if let Some(name) = name
            && self.names.insert(name.to_owned(), index).is_some()
        {
            return Err(PatternError::new(format!("there are two groups called `{name}`"), start));
        }
        let node = self.closed(start)?;
        let width = self.width(&node);
        if let Some(group) = self.groups.get_mut(index as usize) {
            *group = Some(width);
        }
        Ok(Node::Group { index, node: Box::new(node) })
    }

    /// The inside of a group up to and with its `)`; flags set inside end there.
    fn closed(&mut self, start: usize) -> Result<Node, PatternError> {
        let flags = self.flags;
        let node = self.alternation(false)?;
        if !self.eat(')') {
            return Err(PatternError::new("a group is not closed: `)` is missing", start));
        }
        self.flags = flags;
        Ok(node)
    }

    /// `(?(1)yes|no)` or `(?(name)yes|no)`, after the second parenthesis.
    fn condition(&mut self, start: usize) -> Result<Node, PatternError> {
        let name = self.until(')', "the group of the condition")?;
        let group = if is_identifier(name) {
            self.called(name)?
        } else {
            let number: u32 = name
                .strip_prefix('+')
                .unwrap_or(name)
                .parse()
                .ok()
                .filter(|&number| number > 0 && number < MAX_GROUPS)
                .ok_or_else(|| self.error(format!("`{name}` cannot be the group of a condition")))?;
            self.conditions.push((number, start));
            number
        };
        self.check_behind(group, start)?;
        let yes = self.sequence(false)?;
        let no = if self.eat('|') { self.sequence(false)? } else { Node::Empty };
        if !self.eat(')') {
            return Err(PatternError::new("a condition has two branches at most, and ends in `)`", start));
        }
        Ok(Node::IfGroup { group, yes: Box::new(yes), no: Box::new(no) })
    }

    /// `(?i)` at the front, or `(?i-s:…)`.
    fn flag_group(&mut self, first: char, start: usize, front: bool) -> Result<Option<Node>, PatternError> {
        let (mut on, mut off) = (String::new(), String::new());
        let mut c = Some(first);
        let mut is_off = false;
        loop {
            match c {
                Some(')') if !is_off && !on.is_empty() => break,
                Some(':') if !(is_off && off.is_empty()) => break,
                Some('-') if !is_off => is_off = true,
                Some(letter) if "aLimstux".contains(letter) => {
                    if letter == 'L' || (is_off && "au".contains(letter)) {
                        return Err(self.error(format!("the flag `{letter}` cannot be set here")));
                    }
                    if is_off { &mut off } else { &mut on }.push(letter);
                }
                Some(letter) if letter.is_alphabetic() && !(on.is_empty() && off.is_empty()) => {
                    return Err(self.error(format!("unknown flag `{letter}`")));
                }
                _ => return Err(self.error("this is not a group of Python's `re`")),
            }
            c = self.next();
        }
        if on.contains('a') && on.contains('u') {
            return Err(self.error("the flags `a` and `u` exclude each other"));
        }
        let before = self.flags;
        for (letters, value) in [(&on, true), (&off, false)] {
            for letter in letters.chars() {
                match letter {
                    'i' => self.flags.ignore_case = value,
                    'm' => self.flags.multi_line = value,
                    's' => self.flags.dot_all = value || c == Some(')'),
                    'x' => self.flags.verbose = value,
                    'a' => self.flags.ascii = value,
                    'u' => self.flags.ascii = false,
                    _ => {}
                }
            }
        }
        if c == Some(')') {
            if !front {
                return Err(PatternError::new("flags for the whole pattern belong at its very front", start));
            }
            return Ok(None);
        }
        if on.contains('t') || off.contains('t') {
            return Err(self.error("the flag `t` is for the whole pattern"));
        }
        if on.chars().any(|letter| off.contains(letter)) {
            return Err(self.error("a flag is both turned on and turned off"));
        }
        let node = self.closed(start)?;
        self.flags = before;
        Ok(Some(node))
    }

    fn width(&self, node: &Node) -> Width {
        let least = |one: Width, other: Width| (one.0.min(other.0), one.1.max(other.1));
        let cap = |width: Width| (width.0.min(MAX_REPEAT), width.1.min(MAX_REPEAT));
        match node {
            Node::Char(_) | Node::Class(_) | Node::Folded(_) => (1, 1),
            Node::Group { node, .. } | Node::Atomic(node) => self.width(node),
            Node::Concat(items) => cap(items
                .iter()
                .map(|item| self.width(item))
                .fold((0, 0), |sum, width| (sum.0.saturating_add(width.0), sum.1.saturating_add(width.1)))),
            Node::Alternate(items) => items.iter().map(|item| self.width(item)).reduce(least).unwrap_or((0, 0)),
            Node::Repeat { node, min, max, .. } => {
                let (low, high) = self.width(node);
                let most = max.map_or(MAX_REPEAT, u64::from);
                cap((low.saturating_mul(u64::from(*min)), high.saturating_mul(most)))
            }
            Node::Backref { group, .. } => {
                self.groups.get(*group as usize).copied().flatten().unwrap_or((0, MAX_REPEAT))
            }
            Node::IfGroup { yes, no, .. } => least(self.width(yes), self.width(no)),
            _ => (0, 0),
        }
    }
}

fn is_identifier(name: &str) -> bool {
    let word = Class::new(&class::perl('w', false));
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_') && chars.all(|c| word.contains(c))
}

fn add(set: &mut ClassUnicode, member: SetItem) {
    match member {
        SetItem::Code(code) => add_range(set, code, code),
        SetItem::Set(members) => set.union(&members),
    }
}

/// Adds the characters of a range of codes, which may begin or end among the surrogates.
fn add_range(set: &mut ClassUnicode, low: u32, high: u32) {
    for (from, to) in [(low, high.min(0xD7FF)), (low.max(0xE000), high)] {
        if let (Some(from), Some(to)) = (char::from_u32(from), char::from_u32(to))
            && from <= to
        {
            set.push(ClassUnicodeRange::new(from, to));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Pattern;

    /// The spans of every match in characters, as `finditer` of Python 3.11's `re` gives them.
    fn spans(source: &str, text: &str) -> String {
        let pattern = Pattern::in_re(source).unwrap_or_else(|error| panic!("{source}: {error} at {}", error.offset));
        let mut scan = pattern.scan(text, 1_000_000);
        let mut spans = Vec::new();
        while let Some(found) = scan.next().unwrap() {
            let place = |byte: usize| text[..byte].chars().count();
            spans.push(format!("{}-{}", place(found.span().0), place(found.span().1)));
        }
        spans.join(" ")
    }

    #[test]
    fn matches_are_those_of_python_s_re() {
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
    fn patterns_that_python_s_re_refuses_are_refused() {
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
