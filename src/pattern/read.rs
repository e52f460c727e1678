//! Reads the Python dialect: what the `regex` module takes in its V0 mode, with DOTALL set.

use std::collections::HashMap;

use super::PatternError;
use super::class::{self, Class};
use super::tree::{Assertion, Greed, Node};

/// How deeply groups may be nested.
const MAX_DEPTH: usize = 200;

/// A pattern read from its text.
pub(super) struct Reading {
    pub node: Node,
    /// How many groups are numbered, the whole match (number 0) included.
    pub groups: u32,
    /// The named groups, in the order of their numbers.
    pub names: Vec<(String, u32)>,
}

pub(super) fn read(source: &str) -> Result<Reading, PatternError> {
    let mut reader = Reader::new(source);
    let node = reader.alternation()?;
    if reader.peek() == Some(')') {
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
    let mut names: Vec<(String, u32)> = reader.names.into_iter().collect();
    names.sort_by_key(|(_, group)| *group);
    Ok(Reading { node, groups: reader.groups, names })
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
        _ => {}
    }
}

#[derive(Clone, Copy)]
pub(super) struct Flags {
    pub ignore_case: bool,
    pub multi_line: bool,
    pub dot_all: bool,
    pub verbose: bool,
    pub ascii: bool,
    pub full_case: bool,
}

pub(super) struct Reader<'p> {
    source: &'p str,
    at: usize,
    pub(super) flags: Flags,
    groups: u32,
    names: HashMap<String, u32>,
    /// The groups that are open at this place.
    open: Vec<u32>,
    /// References by number, which may come before their group.
    numbered_refs: Vec<(u32, usize)>,
    /// Conditions and calls by name, which may come before their group: the name, a stand-in number, the place.
    named_tests: Vec<(String, u32, usize)>,
    tests: HashMap<u32, u32>,
    depth: usize,
    /// How many look-behinds this place is in.
    behind: usize,
}

impl<'p> Reader<'p> {
    fn new(source: &'p str) -> Self {
        let flags = Flags {
            ignore_case: false,
            multi_line: false,
            dot_all: true,
            verbose: false,
            ascii: false,
            full_case: false,
        };
        Self {
            source,
            at: 0,
            flags,
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

    pub(super) fn rest(&self) -> &'p str {
        self.source.get(self.at..).unwrap_or("")
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Takes characters for as long as they satisfy the condition.
    pub(super) fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'p str {
        let rest = self.rest();
        let end = rest.find(|c| !keep(c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or("")
    }

    pub(super) fn place(&self) -> usize {
        self.at
    }

    pub(super) fn go_to(&mut self, place: usize) {
        self.at = place;
    }

    pub(super) fn error(&self, message: impl Into<String>) -> PatternError {
        PatternError::new(message, self.at)
    }

    pub(super) fn refused(&self, what: &str, offset: usize) -> PatternError {
        let message = format!("{what} cannot be run here exactly as Python's `regex` runs it");
        PatternError { is_unsupported: true, ..PatternError::new(message, offset) }
    }

    /// The names of groups met so far.
    pub(super) fn group_called(&self, name: &str) -> Option<u32> {
        self.names.get(name).copied()
    }

    fn alternation(&mut self) -> Result<Node, PatternError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error(format!("groups are nested more than {MAX_DEPTH} deep")));
        }
        let mut branches = vec![self.sequence()?];
        while self.eat("|") {
            branches.push(self.sequence()?);
        }
        self.depth -= 1;
        Ok(match branches.len() {
            1 => branches.pop().unwrap_or(Node::Empty),
            _ => Node::Alternate(branches),
        })
    }

    fn sequence(&mut self) -> Result<Node, PatternError> {
        let mut items = Vec::new();
        loop {
            self.skip_layout()?;
            match self.peek() {
                None | Some('|' | ')') => break,
                Some(_) => {
                    if let Some(item) = self.atom()? {
                        let item = self.quantified(item)?;
                        items.push(item);
                    }
                }
            }
        }
        Ok(match items.len() {
            0 => Node::Empty,
            1 => items.pop().unwrap_or(Node::Empty),
            _ => Node::Concat(items),
        })
    }

    /// Passes comments, and white space where the flags say that it means nothing.
    fn skip_layout(&mut self) -> Result<(), PatternError> {
        loop {
            let start = self.at;
            if self.eat("(?#") {
                self.take_while(|c| c != ')');
                if !self.eat(")") {
                    return Err(self.error("the comment `(?#` is not closed: `)` is missing"));
                }
            } else if self.flags.verbose {
                self.take_while(char::is_whitespace);
                if self.eat("#") {
                    self.take_while(|c| c != '\n');
                }
            }
            if self.at == start {
                return Ok(());
            }
        }
    }

    /// One item, without its quantifier; `None` where it only set flags.
    fn atom(&mut self) -> Result<Option<Node>, PatternError> {
        let start = self.at;
        let Some(c) = self.next() else { return Ok(None) };
        Ok(Some(match c {
            '*' | '+' | '?' => {
                return Err(PatternError::new(format!("there is nothing that `{c}` could repeat"), start));
            }
            '{' => {
                self.at = start;
                if self.counts()?.is_some() {
                    return Err(PatternError::new("there is nothing that `{…}` could repeat", start));
                }
                self.at = start + 1;
                Node::Char('{')
            }
            '.' if self.flags.dot_all => Node::Class(Class::any()),
            '.' => {
                let mut set = class::of([('\n', '\n')]);
                set.negate();
                Node::Class(Class::new(&set))
            }
            '^' if self.flags.multi_line => Node::Assert(Assertion::LineStart),
            '^' => Node::Assert(Assertion::Start),
            '$' if self.flags.multi_line => Node::Assert(Assertion::LineEnd),
            '$' => Node::Assert(Assertion::EndOrFinalNewline),
            '[' => self.set()?,
            '\\' => self.escape()?,
            '(' => return self.group(start),
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
        let mut set = class::of([(c, c)]);
        class::fold(&mut set);
        let alone = set.ranges().iter().map(|range| range.len()).sum::<usize>() == 1;
        if alone { Node::Char(c) } else { Node::Class(Class::new(&set)) }
    }

    /// A set, under the flags of this place.
    pub(super) fn class(&self, mut set: regex_syntax::hir::ClassUnicode) -> Node {
        if self.flags.ignore_case {
            class::fold(&mut set);
        }
        Node::Class(Class::new(&set))
    }

    fn quantified(&mut self, node: Node) -> Result<Node, PatternError> {
        self.skip_layout()?;
        let start = self.at;
        let (min, max) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => match self.counts()? {
                Some(counts) => counts,
                None => return Ok(node),
            },
            _ => return Ok(node),
        };
        if self.at == start {
            self.next();
        }
        if max.is_some_and(|max| max < min) {
            return Err(PatternError::new(
                format!("a repeat of at least {min} and at most {}", max.unwrap_or(0)),
                start,
            ));
        }
        let greed = if self.eat("?") {
            Greed::Lazy
        } else if self.eat("+") {
            Greed::Possessive
        } else {
            Greed::Greedy
        };
        self.skip_layout()?;
        let again = self.at;
        let repeated = match self.peek() {
            Some('*' | '+' | '?') => true,
            Some('{') => self.counts()?.is_some(),
            _ => false,
        };
        if repeated {
            return Err(PatternError::new("a repeat of a repeat; put the first into a group `(?:…)`", again));
        }
        Ok(Node::Repeat { node: Box::new(node), min, max, greed })
    }

    /// `{2}`, `{2,}`, `{,3}`, `{2,3}` or `{,}`; `None`, at the same place, where a `{` is just itself.
    fn counts(&mut self) -> Result<Option<(u32, Option<u32>)>, PatternError> {
        let start = self.at;
        self.next();
        let spaces = if self.flags.verbose { " \t\n\r\u{b}\u{c}" } else { "" };
        self.take_while(|c| spaces.contains(c));
        let low = self.take_while(|c| c.is_ascii_digit());
        self.take_while(|c| spaces.contains(c));
        let comma = self.eat(",");
        self.take_while(|c| spaces.contains(c));
        let high = if comma { self.take_while(|c| c.is_ascii_digit()) } else { low };
        self.take_while(|c| spaces.contains(c));
        if !self.eat("}") || (low.is_empty() && !comma) {
            self.at = start;
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
        let inside = self.rest().get(1..).unwrap_or("");
        let digits = inside.trim_start_matches(|c: char| c.is_ascii_digit());
        let kind = match digits.strip_prefix("<=").or_else(|| digits.strip_prefix('<')) {
            Some(after) if digits.len() < inside.len() => after,
            _ => inside,
        };
        let is_cost =
            kind.starts_with(['e', 'i', 'd', 's']) && !kind.get(1..).is_some_and(|rest| rest.starts_with(",}"));
        if is_cost {
            return Err(
                self.refused("approximate matching (`{e}`, `{i}`, `{d}` or `{s}`; a brace itself is `\\{`)", self.at)
            );
        }
        Ok(())
    }

    fn group(&mut self, start: usize) -> Result<Option<Node>, PatternError> {
        if self.rest().starts_with('*') {
            let verb = self.rest().get(1..).unwrap_or("").starts_with(|c: char| c.is_ascii_uppercase());
            return Err(if verb {
                self.refused("a backtracking verb such as `(*SKIP)`", start)
            } else {
                self.error("there is nothing that `*` could repeat")
            });
        }
        if !self.eat("?") {
            return self.capture(None).map(Some);
        }
        if self.eat("P") {
            return self.python_group(start);
        }
        let node = if self.eat(":") {
            self.scoped()?
        } else if self.eat(">") {
            Node::Atomic(Box::new(self.scoped()?))
        } else if self.eat("=") {
            self.look(false, false)?
        } else if self.eat("!") {
            self.look(false, true)?
        } else if self.eat("<=") {
            self.look(true, false)?
        } else if self.eat("<!") {
            self.look(true, true)?
        } else if self.eat("<") {
            let name = self.group_name('>')?;
            self.capture(Some(name))?
        } else if self.eat("(") {
            self.condition()?
        } else if self.eat("|") {
            return Err(self.refused("a branch reset group `(?|…)`", start));
        } else if let Some(call) = self.call(start)? {
            call
        } else {
            return self.flag_group();
        };
        Ok(Some(node))
    }

    /// `(?R)`, `(?1)`, `(?+1)`, `(?-1)` or `(?&name)`, from behind its `(?` on.
    fn call(&mut self, start: usize) -> Result<Option<Node>, PatternError> {
        let place = self.at;
        let name = self.take_while(|c| c != ')').to_owned();
        let is_number = |digits: &str| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit());
        let number = |digits: &str| digits.parse::<u32>().unwrap_or(u32::MAX);
        let group = match (name.strip_prefix('&'), name.strip_prefix('+'), name.strip_prefix('-')) {
            _ if name == "R" => 0,
            _ if is_number(&name) => number(&name),
            (Some(name), _, _) => return self.named_call(name.to_owned(), start).map(Some),
            (_, Some(ahead), _) if is_number(ahead) => self.groups.saturating_add(number(ahead)).saturating_sub(1),
            (_, _, Some(back)) if is_number(back) => self.groups.checked_sub(number(back)).unwrap_or(u32::MAX),
            _ => {
                self.at = place;
                return Ok(None);
            }
        };
        self.calling(start)?;
        self.numbered_refs.push((group, place));
        Ok(Some(Node::Call(group)))
    }

    fn named_call(&mut self, name: String, start: usize) -> Result<Node, PatternError> {
        self.calling(start)?;
        let group = self.group_called(&name).unwrap_or_else(|| {
            let placeholder = u32::MAX - self.named_tests.len() as u32;
            self.named_tests.push((name, placeholder, start));
            placeholder
        });
        Ok(Node::Call(group))
    }

    /// The end of a call.
    fn calling(&mut self, start: usize) -> Result<(), PatternError> {
        if self.behind > 0 {
            return Err(self.refused("recursion inside a look-behind", start));
        }
        if !self.eat(")") {
            return Err(self.error("`)` is missing"));
        }
        Ok(())
    }

    fn python_group(&mut self, start: usize) -> Result<Option<Node>, PatternError> {
        if self.eat("<") {
            let name = self.group_name('>')?;
            return self.capture(Some(name)).map(Some);
        }
        if self.eat("=") {
            let place = self.at;
            let name = self.take_while(|c| c != ')').to_owned();
            if !self.eat(")") {
                return Err(self.error("`)` is missing"));
            }
            return self.reference(&name, place).map(Some);
        }
        if self.eat(">") {
            let name = self.take_while(|c| c != ')').to_owned();
            return self.named_call(name, start).map(Some);
        }
        Err(self.error("`(?P` is followed by `<name>` or `=name`"))
    }

    /// The text of a group again, by its name or number.
    pub(super) fn reference(&mut self, name: &str, place: usize) -> Result<Node, PatternError> {
        let group = match name.parse::<u32>() {
            Ok(number) => number,
            Err(_) => self
                .group_called(name)
                .ok_or_else(|| PatternError::new(format!("there is no group called `{name}` before this"), place))?,
        };
        self.numbered_reference(group, place)
    }

    pub(super) fn numbered_reference(&mut self, group: u32, place: usize) -> Result<Node, PatternError> {
        if group == 0 || self.open.contains(&group) {
            return Err(PatternError::new(format!("group {group} is referred to from inside itself"), place));
        }
        self.numbered_refs.push((group, place));
        Ok(Node::Backref { group, fold: self.flags.ignore_case })
    }

    fn group_name(&mut self, end: char) -> Result<String, PatternError> {
        let place = self.at;
        let name = self.take_while(|c| c != end && c != ')').to_owned();
        if name.is_empty() {
            return Err(PatternError::new("the group has no name", place));
        }
        let mut chars = name.chars();
        let starts = chars.next().is_some_and(|c| c.is_alphabetic() || c == '_');
        let word = Class::new(&class::perl('w', false));
        if !starts || !chars.all(|c| word.contains(c)) {
            return Err(PatternError::new(format!("`{name}` cannot be the name of a group"), place));
        }
        if !self.eat(end.encode_utf8(&mut [0; 4])) {
            return Err(self.error(format!("`{end}` is missing after the name of the group")));
        }
        Ok(name)
    }

    fn capture(&mut self, name: Option<String>) -> Result<Node, PatternError> {
        let known = name.as_ref().and_then(|name| self.group_called(name));
        let index = known.unwrap_or(self.groups);
        if known.is_none() {
            self.groups += 1;
            if let Some(name) = name {
                self.names.insert(name, index);
            }
        }
        self.open.push(index);
        let node = self.scoped()?;
        self.open.pop();
        Ok(Node::Group { index, node: Box::new(node) })
    }

    fn look(&mut self, behind: bool, negate: bool) -> Result<Node, PatternError> {
        self.behind += usize::from(behind);
        let node = Box::new(self.scoped()?);
        self.behind -= usize::from(behind);
        Ok(Node::Look { node, behind, negate })
    }

    /// The inside of a group up to and with its `)`; flags set inside end there.
    fn scoped(&mut self) -> Result<Node, PatternError> {
        let flags = self.flags;
        let node = self.alternation()?;
        if !self.eat(")") {
            return Err(self.error("a group is not closed: `)` is missing"));
        }
        self.flags = flags;
        Ok(node)
    }

    /// `(?(1)yes|no)`, `(?(name)yes|no)` or `(?(?=look)yes|no)`, from behind the second parenthesis on.
    fn condition(&mut self) -> Result<Node, PatternError> {
        let place = self.at;
        for (mark, behind, negate) in
            [("?=", false, false), ("?!", false, true), ("?<=", true, false), ("?<!", true, true)]
        {
            if self.eat(mark) {
                let test = self.look(behind, negate)?;
                let Node::Look { node, .. } = test.clone() else { return Ok(Node::Empty) };
                let other = Node::Look { node, behind, negate: !negate };
                let (yes, no) = self.branches()?;
                return Ok(Node::Alternate(vec![Node::Concat(vec![test, yes]), Node::Concat(vec![other, no])]));
            }
        }
        let name = self.take_while(|c| c != ')').to_owned();
        if !self.eat(")") {
            return Err(self.error("the condition is not closed: `)` is missing"));
        }
        if name == "DEFINE" {
            return Err(self.refused("a `(?(DEFINE)…)` group", place));
        }
        let group = match (name.parse::<u32>(), self.group_called(&name)) {
            (Ok(number), _) if number > 0 => {
                self.numbered_refs.push((number, place));
                number
            }
            (_, Some(number)) => number,
            _ if name.is_empty() => return Err(PatternError::new("the condition names no group", place)),
            _ => {
                // A group that comes later: a number that no group has stands in for it.
                let placeholder = u32::MAX - self.named_tests.len() as u32;
                self.named_tests.push((name, placeholder, place));
                placeholder
            }
        };
        let (yes, no) = self.branches()?;
        Ok(Node::IfGroup { group, yes: Box::new(yes), no: Box::new(no) })
    }

    fn branches(&mut self) -> Result<(Node, Node), PatternError> {
        let flags = self.flags;
        let yes = self.sequence()?;
        let no = if self.eat("|") { self.sequence()? } else { Node::Empty };
        if !self.eat(")") {
            return Err(self.error("a condition has two branches at most, and ends in `)`"));
        }
        self.flags = flags;
        Ok((yes, no))
    }

    /// `(?i)` for the rest of the group, or `(?i:…)`.
    fn flag_group(&mut self) -> Result<Option<Node>, PatternError> {
        let before = self.flags;
        let on = self.flag_letters()?;
        let mut off = String::new();
        if self.eat("-") {
            off = self.flag_letters()?;
            if off.is_empty() {
                return Err(self.error("a flag is missing after the `-`"));
            }
        }
        if on.chars().any(|c| off.contains(c)) {
            return Err(self.error("a flag is both turned on and turned off"));
        }
        for (letters, value) in [(&on, true), (&off, false)] {
            for letter in letters.chars() {
                self.set_flag(letter, value)?;
            }
        }
        if self.eat(")") {
            self.skip_layout()?;
            if let Some(c @ ('*' | '+' | '?')) = self.peek() {
                return Err(self.error(format!("there is nothing that `{c}` could repeat")));
            }
            return Ok(None);
        }
        if !self.eat(":") {
            return Err(self.error("this is no group of the dialect"));
        }
        let node = self.scoped()?;
        self.flags = before;
        Ok(Some(node))
    }

    fn flag_letters(&mut self) -> Result<String, PatternError> {
        let mut letters = String::new();
        loop {
            if self.eat("V0") {
                continue;
            }
            if self.rest().starts_with("V1") {
                return Err(self.refused("version 1 behaviour (`(?V1)`)", self.at));
            }
            match self.peek() {
                Some(c) if "imsxaufbeprwL".contains(c) => {
                    letters.push(c);
                    self.next();
                }
                Some(c) if c.is_ascii_alphabetic() => return Err(self.error(format!("there is no flag `{c}`"))),
                _ => return Ok(letters),
            }
        }
    }

    fn set_flag(&mut self, letter: char, value: bool) -> Result<(), PatternError> {
        let refused = |what: &str| Err(self.refused(what, self.at));
        match letter {
            'i' => self.flags.ignore_case = value,
            'm' => self.flags.multi_line = value,
            's' => self.flags.dot_all = value,
            'x' => self.flags.verbose = value,
            'a' => self.flags.ascii = value,
            'f' => self.flags.full_case = value,
            'u' => self.flags.ascii = false,
            'p' => return refused("POSIX matching (`(?p)`)"),
            'r' => return refused("searching in reverse (`(?r)`)"),
            'w' => return refused("the word boundaries of `(?w)`"),
            'L' => return refused("the locale flag `(?L)`"),
            // `b` and `e` steer approximate matching only.
            _ => {}
        }
        Ok(())
    }
}
