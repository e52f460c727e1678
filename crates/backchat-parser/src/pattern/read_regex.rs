//! Parses the Python dialect: what the `regex` module accepts in its V0 mode, with DOTALL set.

use std::collections::HashMap;

use super::PatternError;
use super::class::Class;
use super::tree::{Assertion, Greed, Node};
use backchat_core::text::Cursor;
use backchat_core::unicode::CharSet;

/// How deeply groups may be nested.
const MAX_DEPTH: usize = 200;

/// A pattern read from its text.
pub(super) struct ParsedPattern {
    pub node: Node,
    /// How many groups are numbered, the whole match (number 0) included.
    pub groups: u32,
    /// The named groups, in the order of their numbers.
    pub names: Vec<(String, u32)>,
}

impl ParsedPattern {
    pub fn new(node: Node, groups: u32, names: HashMap<String, u32>) -> Self {
        let mut names: Vec<(String, u32)> = names.into_iter().collect();
        names.sort_by_key(|(_, group)| *group);
        Self { node, groups, names }
    }
}

pub(super) fn read(source: &str) -> Result<ParsedPattern, PatternError> {
    read_with(PatternReader::new(source))
}

/// Reads a `pattern` of JSON Schema: letters and digits are those of ASCII, the dot is not a newline, and escapes and sets
/// that only ECMAScript has are read.
pub(super) fn read_of_schema(source: &str) -> Result<ParsedPattern, PatternError> {
    let mut reader = PatternReader::new(source);
    reader.flags.ascii = true;
    reader.flags.dot_all = false;
    reader.is_of_schema = true;
    read_with(reader)
}

fn read_with(mut reader: PatternReader<'_>) -> Result<ParsedPattern, PatternError> {
    let node = reader.alternation()?;
    if reader.text.peek() == Some(')') {
        return Err(reader.error("this `)` closes no group"));
    }
    for &(group, offset) in &reader.numbered_refs {
        if group >= reader.groups {
            return Err(PatternError::new(format!("there is no group {group}"), offset));
        }
    }
    for (name, placeholder, offset) in std::mem::take(&mut reader.named_tests) {
        let Some(&group) = reader.names.get(&name) else {
            return Err(PatternError::new(format!("there is no group called `{name}`"), offset));
        };
        reader.tests.insert(placeholder, group);
    }
    let mut node = node;
    resolve_tests(&mut node, &reader.tests);
    Ok(ParsedPattern::new(node, reader.groups, reader.names))
}

/// Puts the group numbers into conditions and calls that named a group before it was read.
fn resolve_tests(node: &mut Node, tests: &HashMap<u32, u32>) {
    match node {
        Node::Group { node, .. } | Node::Atomic(node) | Node::Repeat { node, .. } | Node::Look { node, .. } => {
            resolve_tests(node, tests);
        }
        Node::Concat(items) | Node::Alternate(items) => items.iter_mut().for_each(|item| resolve_tests(item, tests)),
        Node::Call(group) => {
            if let Some(&number) = tests.get(group) {
                *group = number;
            }
        }
        Node::IfGroup { group, yes, no } => {
            if let Some(&number) = tests.get(group) {
                *group = number;
            }
            resolve_tests(yes, tests);
            resolve_tests(no, tests);
        }
        Node::IfLook { look, yes, no, .. } => [look, yes, no].into_iter().for_each(|node| resolve_tests(node, tests)),
        _ => {}
    }
}

#[derive(Clone, Copy, Default)]
pub(super) struct Flags {
    pub ignore_case: bool,
    pub multi_line: bool,
    pub dot_all: bool,
    pub verbose: bool,
    pub ascii: bool,
    pub full_case: bool,
}

impl Flags {
    /// Those of a pattern that sets none.
    pub fn new() -> Self {
        Self { dot_all: true, ..Self::default() }
    }

    /// Sets the flag of a letter, if it is one that changes a match.
    pub fn set(&mut self, letter: char, value: bool) {
        match letter {
            'i' => self.ignore_case = value,
            'm' => self.multi_line = value,
            's' => self.dot_all = value,
            'x' => self.verbose = value,
            'a' => self.ascii = value,
            'f' => self.full_case = value,
            'u' => self.ascii = false,
            _ => {}
        }
    }

    /// The meaning of `.`.
    pub fn dot(self) -> Node {
        if self.dot_all {
            return Node::Class(Class::any());
        }
        let mut set = CharSet::of('\n', '\n');
        set.negate();
        Node::Class(Class::new(&set))
    }

    /// The meaning of `^`.
    pub fn caret(self) -> Node {
        Node::Assert(if self.multi_line { Assertion::LineStart } else { Assertion::Start })
    }

    /// The meaning of `$`.
    pub fn dollar(self) -> Node {
        Node::Assert(if self.multi_line { Assertion::LineEnd } else { Assertion::EndOrFinalNewline })
    }
}

pub(super) struct PatternReader<'p> {
    pub(super) text: Cursor<'p>,
    pub(super) flags: Flags,
    /// Whether it is a `pattern` of JSON Schema.
    pub(super) is_of_schema: bool,
    pub(super) groups: u32,
    pub(super) names: HashMap<String, u32>,
    /// The groups that are open at this place.
    pub(super) open: Vec<u32>,
    /// References by number, which may come before their group.
    pub(super) numbered_refs: Vec<(u32, usize)>,
    /// Conditions and calls by name, which may come before their group: the name, a placeholder number, the place.
    pub(super) named_tests: Vec<(String, u32, usize)>,
    tests: HashMap<u32, u32>,
    depth: usize,
    /// How many look-behinds this place is in.
    pub(super) behind: usize,
}

impl<'p> PatternReader<'p> {
    fn new(source: &'p str) -> Self {
        Self {
            text: Cursor::new(source),
            flags: Flags::new(),
            is_of_schema: false,
            groups: 1,
            names: HashMap::new(),
            open: Vec::new(),
            numbered_refs: Vec::new(),
            named_tests: Vec::new(),
            tests: HashMap::new(),
            depth: 0,
            behind: 0,
        }
    }

    pub(super) fn error(&self, message: impl Into<String>) -> PatternError {
        PatternError::new(message, self.text.at())
    }

    pub(super) fn refused(&self, what: &str, offset: usize) -> PatternError {
        let message = format!("{what} cannot be run exactly as Python's `regex` runs it");
        PatternError { is_unsupported: true, ..PatternError::new(message, offset) }
    }

    /// The names of groups met so far.
    pub(super) fn group_called(&self, name: &str) -> Option<u32> {
        self.names.get(name).copied()
    }

    pub(super) fn alternation(&mut self) -> Result<Node, PatternError> {
        let mut branches = vec![self.sequence()?];
        while self.text.eat('|') {
            branches.push(self.sequence()?);
        }
        Ok(Node::alternate(branches))
    }

    pub(super) fn sequence(&mut self) -> Result<Node, PatternError> {
        let mut items = Vec::new();
        loop {
            self.skip_layout()?;
            match self.text.peek() {
                None | Some('|' | ')') => break,
                Some(_) => {
                    if let Some(item) = self.atom()? {
                        let item = self.quantified(item)?;
                        items.push(item);
                    }
                }
            }
        }
        Ok(Node::concat(items))
    }

    /// Skips comments, and white space if the flags make it insignificant.
    pub(super) fn skip_layout(&mut self) -> Result<(), PatternError> {
        loop {
            let start = self.text.at();
            if self.text.skip("(?#") {
                self.text.take(usize::MAX, |c| c != ')');
                if !self.text.eat(')') {
                    return Err(self.error("the comment `(?#` is not closed: `)` is missing"));
                }
            } else if self.flags.verbose {
                self.text.take(usize::MAX, char::is_whitespace);
                if self.text.eat('#') {
                    self.text.take(usize::MAX, |c| c != '\n');
                }
            }
            if self.text.at() == start {
                return Ok(());
            }
        }
    }

    /// One item, without its quantifier; `None` if it only sets flags.
    fn atom(&mut self) -> Result<Option<Node>, PatternError> {
        let here = self.text;
        let start = here.at();
        let Some(c) = self.text.bump() else { return Ok(None) };
        Ok(Some(match c {
            '*' | '+' | '?' => {
                return Err(PatternError::new(format!("`{c}` has nothing to repeat"), start));
            }
            '{' => {
                let after = std::mem::replace(&mut self.text, here);
                if self.counts()?.is_some() {
                    return Err(PatternError::new("`{…}` has nothing to repeat", start));
                }
                self.text = after;
                Node::Char('{')
            }
            '.' => self.flags.dot(),
            '^' => self.flags.caret(),
            '$' => self.flags.dollar(),
            '[' => self.set()?,
            '\\' => self.escape()?,
            '(' => {
                // Everything that a parenthesis opens is parsed inside this call.
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    return Err(self.error(format!("groups are nested more than {MAX_DEPTH} deep")));
                }
                let group = self.group(start);
                self.depth -= 1;
                return group;
            }
            c => self.char(c),
        }))
    }

    /// One exact character, under the flags of this place.
    pub(super) fn char(&self, c: char) -> Node {
        if !self.flags.ignore_case {
            return Node::Char(c);
        }
        if self.flags.full_case {
            return Node::Folded(c);
        }
        let mut set = CharSet::of(c, c);
        set.fold();
        let alone = set.ranges() == [(c, c)];
        if alone { Node::Char(c) } else { Node::Class(Class::new(&set)) }
    }

    /// A set, under the flags of this place.
    pub(super) fn class(&self, mut set: CharSet) -> Node {
        if self.flags.ignore_case {
            set.fold();
        }
        Node::Class(Class::new(&set))
    }

    fn quantified(&mut self, node: Node) -> Result<Node, PatternError> {
        self.skip_layout()?;
        let start = self.text.at();
        let (min, max) = match self.text.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => match self.counts()? {
                Some(counts) => counts,
                None => return Ok(node),
            },
            _ => return Ok(node),
        };
        if self.text.at() == start {
            self.text.bump();
        }
        if max.is_some_and(|max| max < min) {
            return Err(PatternError::new(
                format!("a repeat of at least {min} and at most {}", max.unwrap_or(0)),
                start,
            ));
        }
        let greed = Greed::read(&mut self.text);
        self.skip_layout()?;
        let again = self.text.at();
        let repeated = match self.text.peek() {
            Some('*' | '+' | '?') => true,
            Some('{') => self.counts()?.is_some(),
            _ => false,
        };
        if repeated {
            return Err(PatternError::new("a repeat of a repeat; put the first into a group `(?:…)`", again));
        }
        Ok(Node::Repeat { node: Box::new(node), min, max, greed })
    }

    /// `{2}`, `{2,}`, `{,3}`, `{2,3}` or `{,}`; `None`, without moving, if the `{` is a literal.
    fn counts(&mut self) -> Result<Option<(u32, Option<u32>)>, PatternError> {
        let here = self.text;
        let start = here.at();
        self.text.bump();
        let spaces = if self.flags.verbose { " \t\n\r\u{b}\u{c}" } else { "" };
        let digits = |text: &mut Cursor<'p>| {
            text.take(usize::MAX, |c| spaces.contains(c));
            let digits = text.take(usize::MAX, |c| c.is_ascii_digit());
            text.take(usize::MAX, |c| spaces.contains(c));
            digits
        };
        let low = digits(&mut self.text);
        let comma = self.text.eat(',');
        let high = if comma { digits(&mut self.text) } else { low };
        if !self.text.eat('}') || (low.is_empty() && !comma) {
            self.text = here;
            return self.refuse_fuzzy().map(|()| None);
        }
        let number = |digits: &str, absent: Option<u32>| match digits {
            "" => Ok(absent),
            digits => digits.parse().ok().filter(|&n| n < u32::MAX).map(Some).ok_or(()),
        };
        match (number(low, Some(0)), number(high, None)) {
            (Ok(low), Ok(high)) => Ok(Some((low.unwrap_or(0), high))),
            _ => Err(PatternError::new("the count of this repeat is too big", start)),
        }
    }

    /// `{e<=1}` asks for approximate matching.
    fn refuse_fuzzy(&self) -> Result<(), PatternError> {
        let rest = self.text.rest();
        let inside = rest.strip_prefix('{').unwrap_or(rest);
        let digits = inside.trim_start_matches(|c: char| c.is_ascii_digit());
        let kind = match digits.strip_prefix("<=").or_else(|| digits.strip_prefix('<')) {
            Some(after) if digits.len() < inside.len() => after,
            _ => inside,
        };
        let is_cost =
            kind.starts_with(['e', 'i', 'd', 's']) && !kind.get(1..).is_some_and(|rest| rest.starts_with(",}"));
        if is_cost {
            return Err(self.refused(
                "approximate matching (`{e}`, `{i}`, `{d}` or `{s}`; a brace itself is `\\{`)",
                self.text.at(),
            ));
        }
        Ok(())
    }
}
